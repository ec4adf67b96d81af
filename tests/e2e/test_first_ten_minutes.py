"""The first ten minutes: what a person types into a terminal of 80×24, and what the screen shows.

As from a wheel without extras: MLflow is not installed. Each next command that is printed is typed.
"""

import re
import shutil
import sys

import pytest
from tools.own_cache import make_cache
from tools.processes import ROOT
from tools.terminals import COLUMNS, ROWS, Shell

pytestmark = pytest.mark.slow

PROGRAM = f"""\
#!{sys.executable}
import sys
sys.modules["mlflow"] = None  # as where it is not installed
from assay.eval.cli.main import main
main()
"""
ESCAPE = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")


@pytest.fixture
def shell(tmp_path):
    """A shell in a folder that has documents, and a table of questions about them."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/assay").write_text(PROGRAM)
    (tmp_path / "bin/assay").chmod(0o755)
    here = tmp_path / "here"
    shutil.copytree(ROOT / "examples/allotment", here / "docs")
    shutil.copy(ROOT / "examples/questions.csv", here)
    path = f"{tmp_path}/bin:/usr/bin:/bin"
    places = {"PATH": path, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    opened = Shell(places | {"ASSAY_CACHE": str(make_cache(tmp_path))}, here)
    yield opened
    opened.close()


def list_lines(screen):
    """Return the lines of a command as it wrote them, without those that a bar wrote over."""
    echoed, *lines = ESCAPE.sub("", screen.output).replace("\r\n", "\n").split("\n")
    assert echoed.startswith("assay ")
    return [line.rsplit("\r", 1)[-1] for line in lines[:-1]]


def list_next(lines):
    return [line[8:] for line in lines if re.match(r"(next|or) +assay ", line)]


def test_each_command_shows_what_it_is_for_and_what_comes_next(shell):
    shown = {}
    ahead = ["assay demo --output demo"]
    while ahead:
        command = ahead.pop(0)
        screen = shell.type(command)
        lines = shown[command] = list_lines(screen)
        text = "\n".join(lines)
        assert screen.status == 0, text
        assert "Traceback" not in text
        assert max(map(len, lines)) <= COLUMNS, text
        ahead += [it for it in list_next(lines) if it not in shown and it not in ahead]

    def find(begin):
        command = next(name for name in shown if name.startswith(begin))
        return command, shown[command]

    _, demo = find("assay demo")
    assert demo[0].startswith("hybrid is better than bm25 for new questions on these ")
    assert "A correct passage that hybrid missed, and the others of its query:" in demo
    assert list_next(demo) == [
        "assay explain demo/hybrid",
        "assay init docs --questions questions.csv",
    ]

    _, made = find("assay init")
    assert made[0] == "collection docs: 3 documents, 6 queries, 6 judgments"
    assert made[4].startswith("6 questions on 3 documents, up to 3 on one: they count as about 5 ")
    assert any("questions show differences of about" in line for line in made)

    _, run = find("assay run")
    assert run[0] == "settings from assay.toml"
    assert run[1].startswith("contextual: 100\u00a0% of questions get a right passage first, ")
    busy = 3 * any("Times are unreliable" in line for line in run)  # lines on a busy machine
    assert len(run[1:]) - busy < ROWS, "the headline is still on the screen when the prompt is"

    compare, compared = find("assay compare")
    assert compare in list_next(made)
    assert compare in list_next(run)
    assert compared[1].startswith("Unequal amounts of text: the first 10 hits hold ")
    assert any(
        line.startswith("contextual and bm25 could be equally good for new questions on these ")
        for line in compared
    )

    _, explained = find("assay explain contextual-docs-")
    assert "6 correct passages of 6 queries" in " ".join(explained)
    _, missed = find("assay explain demo/hybrid --query ")
    assert any("lost in fusion" in line for line in missed)
