"""`assay dataset`: what it prints, what it exits with, and JSON that stands alone."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from tools.project_files import write_native

from assay.eval.cli.dataset import dataset
from assay.eval.collections import catalog
from assay.retrievers.base import AssayError

CARD = "name: tiny\ntitle: Tiny set\nformat: native\nlicence: CC0\n"


def run(*arguments):
    return CliRunner().invoke(dataset, arguments, env={"COLUMNS": "160"})


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    queries, judgments = [{"_id": "q1", "text": "what is A"}], [{"query_id": "q1", "path": "a.md"}]
    folder = tmp_path / "datasets/tiny"
    write_native(folder, {"a.md": "# A\n\nText.\n"}, queries, judgments)
    (folder / "dataset.yaml").write_text(CARD)
    far = tmp_path / "datasets/far"
    far.mkdir()
    far_card = CARD.replace("tiny", "far") + "location: $ASSAY_DATA/far\n"
    (far / "dataset.yaml").write_text(far_card)
    broken = tmp_path / "datasets/broken"
    broken.mkdir()
    (broken / "dataset.yaml").write_text("name: broken\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    monkeypatch.setattr(catalog, "find_shipped", tmp_path.joinpath)
    return folder


def test_list_says_what_is_available_and_why_not(tiny):
    result = run("list", "--json")
    entries = {entry["name"]: entry for entry in json.loads(result.stdout)["datasets"]}
    assert list(entries) == ["broken", "far", "tiny"]
    assert entries["tiny"]["available"]
    assert entries["tiny"]["documents"] is None
    assert "$ASSAY_DATA, which is not set" in entries["far"]["why_not"]
    assert "format: must be one of" in entries["broken"]["why_not"]
    table = run("list").output
    assert "Tiny set" in table
    assert "far: collection far lies below $ASSAY_DATA" in table


def test_show_tells_sizes_and_samples(tiny):
    shown = json.loads(run("show", "tiny", "--json").stdout)
    assert shown["loaded"] == {"documents": 1, "passages": 0, "queries": 1, "judgments": 1}
    assert shown["samples"] == [{"id": "q1", "text": "what is A", "gold": {"a.md": 1}}]
    assert shown["licence"] == "CC0"
    assert "q1: what is A" in run("show", "tiny:test").output
    unknown = run("show", "tinny").exception
    assert isinstance(unknown, AssayError)
    assert "there are: broken, far, tiny; or" in str(unknown)
    away = json.loads(run("show", "far", "--json").stdout)
    assert (away["available"], "loaded" in away) == (False, False)


def test_check_exits_with_2_on_errors_only(tiny):
    result = run("check", "tiny")
    assert (result.exit_code, result.output) == (0, "tiny: 0 errors, 0 warnings\n")
    with (tiny / "queries.jsonl").open("a") as file:
        file.write('{"_id": "q2", "text": "unjudged"}\n')
    result = run("check", "tiny")
    assert result.exit_code == 0
    assert 'queries.jsonl:2: warning: query "q2" has no judgment' in result.output
    with (tiny / "judgments.jsonl").open("a") as file:
        file.write('{"query_id": "q7", "path": "a.md"}\n')
    result = run("check", "tiny", "far", "nothing", "--json")
    assert result.exit_code == 2
    shown = json.loads(result.stdout)
    assert shown["ok"] is False
    assert [len(entry["problems"]) for entry in shown["datasets"]] == [2, 1, 1]
    problem = shown["datasets"][0]["problems"][0]
    assert (Path(problem["file"]).name, problem["line"]) == ("judgments.jsonl", 2)
    assert problem["severity"] == "error"


def test_check_tells_the_same_fault_once_and_the_cause_first(tiny):
    rows = [f'{{"query_id": "q1", "path": "no{i}.md"}}\n' for i in range(2788)]
    (tiny / "judgments.jsonl").write_text("".join(rows))
    shutil.rmtree(tiny / "docs")
    result = run("check", "tiny")
    assert result.exit_code == 2
    first, second, last = result.output.splitlines()
    assert first.endswith("docs: error: there is no such folder")
    assert second.startswith(
        'error: 2788 times, first: there is no document "no0.md"; none was read ('
    )
    assert "judgments.jsonl:1, " in second
    assert second.endswith(" and 2785 more)")
    assert last == "tiny: 2,789 errors, 0 warnings"
    assert len(run("check", "tiny", "--all").output.splitlines()) == 2790
    assert len(json.loads(run("check", "tiny", "--json").output)["datasets"][0]["problems"]) == 2789


def test_seal_writes_sizes_and_digests(tiny):
    shown = json.loads(run("seal", "tiny", "--json").stdout)
    assert shown["sizes"]["documents"] == 1
    assert set(shown["digests"]) == {"docs", "queries.jsonl", "judgments.jsonl"}
    assert (tiny / "dataset.yaml").read_text().startswith(CARD)
    assert "sealed: 1 documents" in run("seal", "tiny").output
    (tiny / "docs/a.md").write_text("# A\n\nOther.\n")
    assert run("check", "tiny").exit_code == 2
