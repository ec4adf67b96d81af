"""A look from Python and the command line: one ledger, the same answer, and no figure told."""

import json
import subprocess
from pathlib import Path

import pytest
from tools.processes import ASSAY
from tools.project_files import read_rows, write_native, write_rows

from assay import compare
from assay.eval.studies.comparison.held_out import look
from assay.retrievers.base import AssayError

DOCUMENTS = {f"d{i}": f"the answer about subject{i} is here" for i in range(40)}
PROJECT = """\
collection = "{folder}:development"
held_out = "{folder}:held-out"
reports = "reports"
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with 40 questions on 40 documents, of which BM25 finds every answer."""
    queries = [{"_id": f"q{i}", "text": f"subject{i}"} for i in range(40)]
    gold = [{"query_id": f"q{i}", "path": f"d{i}.md", "grade": 1} for i in range(40)]
    documents = {f"{name}.md": text for name, text in DOCUMENTS.items()}
    write_native(tmp_path / "datasets" / "mine", documents, queries, gold)
    monkeypatch.chdir(tmp_path)
    for name in ("ASSAY_DATASET", "ASSAY_REPORTS"):
        monkeypatch.delenv(name, raising=False)
    Path("assay.toml").write_text(PROJECT.format(folder="mine"))
    Path("good.yaml").write_text(CONFIG.format(name="good", more=""))
    return tmp_path


CONFIG = "name: {name}\nlatency: {{queries: 0}}\nretriever: {{legs: {{k: {{type: bm25{more}}}}}}}\n"


def find_nothing(query, k):
    return [("d0.md", 1.0)]


def find_word(query, k):
    return [(f"d{query.removeprefix('subject')}.md", 1.0)]


def test_python_and_the_command_line_share_the_ledger(project):
    first = compare(find_nothing, "good.yaml", held_out=True)
    assert first.found.better
    assert (first.found.spent, first.found.left) == (1, 9)
    again = compare(find_nothing, "good.yaml", held_out=True)
    assert again.verdict.endswith("and nothing is spent: 9 looks left.")
    worse = compare("good.yaml", find_nothing, held_out=True)
    assert worse.found.better is None
    assert (worse.found.spent, worse.found.left) == (0, 9)
    Path("bad.yaml").write_text(CONFIG.format(name="bad", more=", k1: 0.9"))
    done = subprocess.run(
        [ASSAY, "compare", "bad.yaml", "good.yaml", "--held-out", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    assert (found["better"], found["left"]) == (None, 9)
    assert len(Path("looks.jsonl").read_text().splitlines()) == 1


def test_no_figure_of_the_held_out_questions_is_kept_or_told(project, monkeypatch):
    seen = []
    monkeypatch.setattr(look, "is_better", lambda value, p: bool(seen.append((value, p))))
    found = compare(find_nothing, find_word, held_out=True)
    ((value, p),) = seen
    assert p is not None
    told = json.dumps(found.json()) + found.verdict + Path("looks.jsonl").read_text()
    assert found.found.better is False
    # The gain told is that of the development questions.
    assert f"{value:.6f}" not in told or value == pytest.approx(found.found.gain)
    assert str(p) not in told
    assert not list(Path("reports").glob("*held-out*"))


def test_a_look_that_is_killed_costs_nothing(project, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(look, "judge_claims", die)
    with pytest.raises(KeyboardInterrupt):
        compare(find_nothing, find_word, held_out=True)
    assert not Path("looks.jsonl").exists()


def test_used_up_looks_are_told_before_work(project):
    assert compare(find_nothing, find_word, held_out=True).found.left == 9
    line = Path("looks.jsonl").read_text()
    Path("looks.jsonl").write_text(line.replace('"measure":"nDCG@10"', '"measure":"MRR"') * 10)
    with pytest.raises(AssayError, match="the 10 looks at mine:held-out are used up"):
        compare(find_nothing, find_word, held_out=True)


@pytest.mark.parametrize(
    ("arguments", "held_out", "why"),
    [
        (["good.yaml", "bm25", "hybrid"], "mine:held-out", "compares 2 pipelines, not 3"),
        (["good.yaml", "a-run"], "mine:held-out", "compares configs, and a-run is none"),
        (["good.yaml", "bm25", "limit=3"], "mine:held-out", "limit: not with --held-out"),
        (["good.yaml", "bm25", "--dataset", "mine"], "mine:held-out", "--dataset: not with"),
        (["good.yaml", "bm25"], "", "assay.toml: held_out: missing; name questions"),
        (["good.yaml", "bm25"], "mine:nothing", "there are no judgments 'nothing'"),
    ],
)
def test_what_cannot_be_asked_is_a_line(project, arguments, held_out, why):
    if held_out != "mine:held-out":
        text = PROJECT.format(folder="mine").replace("mine:held-out", held_out)
        Path("assay.toml").write_text(text if held_out else text.replace('held_out = ""\n', ""))
    call = [ASSAY, "compare", *arguments, "--held-out"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr


def test_questions_in_both_parts_are_refused(project):
    queries = Path("datasets/mine/queries.jsonl")
    write_rows(queries, [row | {"text": "the same?"} for row in read_rows(queries)])
    with pytest.raises(AssayError, match=r"mine:held-out: question q\d+ is in mine:development"):
        compare(find_nothing, find_word, held_out=True)
