"""No command shows a principal's queries what the principal may not read.

Documents that may not be read hold marked words wherever a document can have words. Whatever a
command prints or writes (reports, pages, tables, exports, MLflow's store and artifacts) is searched
for them. A new command must say here how it is called, or why it shows no answer to a query.
"""

import json

import pytest
from tools.command_line import call
from tools.project_files import declare_committed, write_native

from assay.eval.cli.commands import COMMANDS
from assay.eval.runs.manifest import MANIFEST

MARK = "zqx"
CARD = """\
fields: {audience: list of text}
readers: audience
principals: {carl: [public]}
"""
DOCUMENTS = {
    "valves.md": "---\naudience: [public]\ncategory: guide\nauthor: Ann Bee\ndate: 2024-05-01\n"
    "---\n# Valves\n\n## 1 Closing\n\nA valve closes the pipe. See [more](more.md).\n",
    "more.md": "---\naudience: [public]\ncategory: note\n---\n# More\n\n"
    "**Flow Code** means the number on a valve.\n\n## 2 Opening\n\nThe Flow Code opens it.\n",
    f"{MARK}doc.md": f"---\naudience: [board{MARK}]\ncategory: policy{MARK}\n"
    f"author: Kim{MARK} Ann\ntags: [tag{MARK}]\ndate: 2031-01-01\n---\n# Title{MARK}\n\n"
    f"## 1 Closing\n\nA valve{MARK} closes the pipe deprecation{MARK}.\n\n"
    f"**Valve{MARK} Rate** means ten{MARK}. See [v](valves.md). `closeValve{MARK}()`\n",
}
QUERIES = (
    "closing a valve",
    "deprec valve",  # the beginning of a secret word
    "category:policy author:kim tag:x after:2030-01-01 valve",
    "what does Flow Code mean",
    '"closes the pipe" § 1 Closing',
)
CALLS = {
    "run": [["markdown_ragdocs", "latency.queries=2"], ["bm25", "latency.queries=2"]],
    "compare": [["bm25", "markdown_ragdocs"], ["RUN", "bm25"]],
    "overlap": [["bm25", "markdown_ragdocs"], ["RUN", "bm25", "--json"]],
    "report": [["RUN"]],
    "explain": [["markdown_ragdocs", "--query", "q1"], ["RUN", "--query", "q1", "--json"], ["RUN"]],
    "search": [
        ["markdown_ragdocs", query, "--principal", "carl", *more]
        for query in QUERIES
        for more in ([], ["--context", "--json"])
    ],
    "ablate": [["hybrid"]],
    "tune": [["hybrid"]],
    "threshold": [["hybrid"]],
    "choose": [["kept"]],
    "pool": [["RUN", "bm25", "--output", "pool.csv"]],
    "label": [["pool.csv"]],
    "baseline": [["accept", "RUN"], ["show"]],
    "gate": [["markdown_ragdocs"], ["RUN"]],
    "runs": [["list"], ["show", "RUN"]],
    "ui": [["--no-browser"]],
    "verify": [["RUN"]],
    "log": [["RUN"]],
    "recall": [["sqlite", "kept", "--filters", ".5"]],
}
OTHERS = {
    "of documents, for those who keep them": "init questions dataset ingest contexts config cache",
    "of collections of its own": "demo reproduce targets",
    "of no collection": "audit mcp schema components models engines check mlflow",
    "a model is asked what a stored run holds, which is read as `explain` reads it": (
        "answer judge ragas"
    ),
    "runs as `run` does": "sweep parity",
    "of rankings and traces that others made": "import traces",
}
# Those that show texts or ids of a stored run.
SHOWING = ("report", "explain", "pool", "log", "compare", "baseline", "gate")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    queries = [{"_id": f"q{i}", "text": q, "principal": "carl"} for i, q in enumerate(QUERIES)]
    gold = [
        {"query_id": query["_id"], "path": path, "grade": 1}
        for query in queries
        for path in ("valves.md", f"{MARK}doc.md")
    ]
    kept = write_native(tmp_path / "kept", DOCUMENTS, queries, gold, CARD)
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setenv("ASSAY_DATASET", str(kept))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def find_run(folder):
    """Return the id of the run of the pipeline with the most parts."""
    return min((folder / "reports").glob(f"markdown_ragdocs-*/{MANIFEST}")).parent.name


def list_files(folder):
    """Yield what commands wrote."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_relative_to(folder / "kept"):
            yield path


def test_every_command_is_called_or_shows_no_answer():
    named = {name for names in OTHERS.values() for name in names.split()}
    assert named.isdisjoint(CALLS)
    assert named | CALLS.keys() == COMMANDS.keys()


@pytest.mark.slow
def test_no_command_shows_what_may_not_be_read(folder, monkeypatch, capsys):
    done = {}
    for command, calls in CALLS.items():
        for words in calls:
            run = find_run(folder) if "RUN" in words else ""
            words = [run if word == "RUN" else word for word in words]
            status, said = call(monkeypatch, capsys, command, *words)
            assert MARK not in said.casefold(), said
            assert "Traceback" not in said
            done[command, *words] = status, said
            declare_committed(folder / "reports")
    failed = {str(words): said for words, (status, said) in done.items() if status == 2}
    assert not failed, json.dumps(failed, indent=1, default=str)
    files = list(list_files(folder))
    assert {"report.html", "mlflow.db", "rankings.jsonl"} <= {path.name for path in files}
    assert any("mlruns" in path.parts for path in files)
    marked = [path for path in files if MARK.encode() in path.read_bytes().lower()]
    assert not marked


@pytest.mark.slow
def test_a_stored_run_shows_nothing_that_was_revoked_since(folder, monkeypatch, capsys):
    def assay(*words):
        return call(monkeypatch, capsys, *words)

    status, said = assay("run", "markdown_ragdocs", "latency.queries=2")
    assert status == 0, said
    assert "No leak in 5 queries with a principal, as of 20" in said.replace("\n", " ")
    run, document = find_run(folder), folder / "kept" / "docs" / "valves.md"
    before = document.read_text()
    document.write_text(before.replace("[public]", "[board]"))
    for command in SHOWING:
        for words in CALLS[command]:
            if "RUN" in words:
                status, said = assay(command, *(run if word == "RUN" else word for word in words))
                assert (status, said.count("\n")) == (1, 1), said
                assert "document valves.md, which principal carl may not read any more" in said
                assert "closes the pipe" not in said
    document.write_text(before)
    assert assay("explain", run)[0] == 0
    card = folder / "kept" / "dataset.yaml"
    card.write_text(card.read_text().replace("carl", "anna"))
    assert assay("explain", run)[0] == 1
    (folder / "kept").rename(folder / "elsewhere")
    assert assay("explain", run)[0] == 0  # nobody knows; the report says as of when
