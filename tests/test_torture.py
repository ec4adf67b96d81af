"""The short form of `make torture`: a few kills and spoiled files, within a minute."""

import subprocess
import time

import pytest

from torture import mutants, planting
from torture.__main__ import render
from torture.fuzz import torture_readers
from torture.kills import Outcome, torture_kills

pytestmark = pytest.mark.slow


def check(outcomes):
    assert [failure for outcome in outcomes for failure in outcome.failures] == []
    table = render(outcomes, 1.0)
    assert table.count("\n") == 3 + len({outcome.name.split()[0] for outcome in outcomes})
    assert f": {sum(outcome.cases for outcome in outcomes):,} cases in 1 s." in table


def test_every_reader_reads_or_says_why_not():
    outcomes = torture_readers(510, 1, time.monotonic() + 20, lambda _: None)
    check(outcomes)
    assert sum(outcome.cases for outcome in outcomes) > 100


def test_a_killed_command_loses_nothing():
    check(torture_kills(8, 1, time.monotonic() + 6, lambda _: None, track=False))


# What is spoiled before `assay` starts, so that a campaign has something to find, and the command
# that would show it.
FAULTS = {
    "a file written in place": (
        "seal",
        """
import time
from assay.retrievers.store import files
def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for begin in range(0, len(content), 512):
            file.write(content[begin : begin + 512]); file.flush(); time.sleep(0.02)
files.write_atomically = write
""",
    ),
    "a measure that another call of the same folder changes": (
        "run",
        """
import sys
from pathlib import Path
from assay.eval.cli import output
whole, again = output.print_json, Path("called").exists()
Path("called").write_text("") if "--rerun" in sys.argv else None
def spoil(value):
    if isinstance(value, dict):
        return {key: spoil(item) for key, item in value.items()}
    return value * 0.999 if isinstance(value, float) else value
output.print_json = lambda value: whole(spoil(value) if again else value)
""",
    ),
    "a store cut short and believed": (
        "ingest",
        """
import time
from assay.retrievers.store.cache import META, Cache
def make_folder(self, path, make):
    path.mkdir(exist_ok=True)
    (path / META).write_text('{"seconds": 0}')
    time.sleep(0.1)
    make(path)
    return 0.0
def load(self, kind, key, make, read):
    folder = self.folder(kind, key, make)
    return folder, read(folder.path)
Cache._make_folder, Cache.load = make_folder, load
""",
    ),
    "a process left behind": (
        "seal",
        """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(90)"],
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
""",
    ),
}


@pytest.mark.long
@pytest.mark.timeout(240, method="signal")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_in_under_100_kills(fault, monkeypatch):
    command, spoil = FAULTS[fault]

    def torture(kills):
        deadline = time.monotonic() + 100
        outcomes = torture_kills(
            kills, 1, deadline, print, track=False, only=[command], until_found=True
        )
        found = [failure for outcome in outcomes for failure in outcome.failures]
        return sum(outcome.cases for outcome in outcomes), found

    with monkeypatch.context() as spoiled:
        spoiled.setenv("TORTURE_FAULT", spoil)
        kills, found = torture(96)
    assert found, f"not found in {kills} kills"
    again, found = torture(kills)
    assert again >= kills
    assert not found, "found where nothing was spoiled"


def test_what_goes_wrong_is_counted_over_all_seeds():
    outcomes = [
        Outcome("kill `x`, fresh", 3, 1200, 7, ["lost"]),
        Outcome("fuzz y", 3, 1, 1, []),
        Outcome("kill `z`, fresh", 4, 3, 2, []),
    ]
    table = render([*outcomes, Outcome("kill `x`, warm", 4, 5, 4, ["late", "lost"])], 2.0)
    assert table.endswith(
        "| kill | `x`, `z` | 3, 4 | 1,208 | 13 | 3 |\n| fuzz | y | 3 | 1 | 1 | 0 |"
    )


def test_a_mutant_that_was_killed_and_now_survives_is_lost(tmp_path, monkeypatch, capsys):
    root, table = tmp_path / "project", tmp_path / "table.csv"
    (root / "tests").mkdir(parents=True)
    sums, more = root / "sums.py", root / "tests" / "test_more.py"
    sums.write_text("LIMIT = 1\n\n\ndef add(a, b):\n    return a + b\n")
    test = "import sums\n\n\ndef test_add():\n    assert sums.add(1, {}) == {}\n"
    (root / "tests" / "test_sums.py").write_text(test.format(0, 1))
    more.write_text(test.format(2, 3))
    monkeypatch.setattr(mutants, "ROOT", root)
    monkeypatch.setattr(mutants, "TABLE", table)
    monkeypatch.setattr(mutants, "TESTS", {"sums.py": "test_sums.py"})
    monkeypatch.setattr(mutants.shutil, "which", lambda name: name)
    changes = ("LIMIT = 1", "LIMIT = 2"), ("a + b", "a - b"), ("a + b", "b + a")
    monkeypatch.setattr(planting, "mutate", lambda source: [source.replace(*i) for i in changes])
    # Pytest starts in a third of the time without the plugins that no test of it needs.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p _hypothesis_pytestplugin")
    git = ["git", "-C", root, "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)

    def tell(*words):
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", "x", "--allow-empty"], check=True)
        return mutants.main(words), capsys.readouterr().out.splitlines()[-1]

    assert tell() == (0, "1 killed, 1 survived")
    assert table.read_text() == (
        "module,function,line,mutated,killed\n"
        "sums.py,add,return a + b,return a - b,yes\n"
        "sums.py,add,return a + b,return b + a,no\n"
    )
    assert tell() == (0, ""), "what is in the table is not planted again"
    more.write_text(test.format(0, 1))
    assert tell("--check") == (1, "1 LOST, 1 survived")
    sums.write_text("def add(a, b):\n    return sum((a, b))\n")
    assert tell("--check") == (0, "2 gone")
