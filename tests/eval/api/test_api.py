"""The Python API: its examples, its errors, and that it costs nothing until it is used."""

import doctest
import os
import re
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pandas import DataFrame, read_csv
from reportlab.pdfgen.canvas import Canvas
from test_layout import HEAVY
from tools.processes import ROOT

from assay import compare, load_runs, load_tracked_runs, run, search
from assay.eval.api import choosing, documents, runs, stored_runs, studies
from assay.eval.report.frames import render
from assay.eval.report.result import IntervalBar, draw_bars, plot_bars
from assay.eval.runs import environment
from assay.eval.statistics.estimates import Estimate
from assay.retrievers.base import AssayError

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
SMALL = "dataset=harbourline"


@pytest.fixture(scope="module", autouse=True)
def places(tmp_path_factory):
    """The project's root, with reports and tracking in a folder of their own."""
    folder = tmp_path_factory.mktemp("api")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setenv("ASSAY_REPORTS", str(folder / "reports"))
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
        yield


@pytest.fixture(scope="module")
def few():
    """A run of a sample of the queries."""
    return run("bm25", SMALL, "limit=4", track=False)


def test_the_package_is_light_until_the_api_is_used():
    code = "import sys, assay; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "assay" in loaded
    assert not loaded & (HEAVY | {"assay.eval.api"})


@pytest.mark.slow
@pytest.mark.usefixtures("quiet")
def test_the_examples_of_the_functions():
    found = [
        doctest.testmod(module, optionflags=OPTIONS)
        for module in (runs, documents, stored_runs, choosing, studies)
    ]
    assert all(tried > 1 for _, tried in found)
    assert not any(failed for failed, _ in found)


@pytest.mark.usefixtures("quiet")
def test_the_examples_of_the_page(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    page = (ROOT / "docs/python.md").read_text()
    text = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(text, {}, "docs/python.md", None, 0)
    failed, tried = doctest.DocTestRunner(optionflags=OPTIONS).run(examples)
    assert tried > 15
    assert not failed


def test_tables_agree_with_the_run(few):
    columns = ["mean", "mean_low", "mean_high", "n", "standard", "meaning"]
    assert list(few.tables["measures"].columns) == columns
    for name, mean in few.found.means.items():
        assert few.tables["measures"].at[name, "mean"] == mean.value
        assert few.per_query[name].mean() == pytest.approx(mean.value)
    kept = read_csv(
        few.stored.folder / "per_query.csv", index_col="query_id", dtype={"query_id": str}
    )
    assert list(kept.index) == list(few.per_query.index)
    for name in few.found.means:
        assert list(kept[name]) == pytest.approx(list(few.per_query[name]))
    latency = few.tables["latency"]
    assert latency.at["total", "p95"] == few.found.latency["total"]["p95"].value
    totals = {status: n for status, n in few.found.attribution.totals().items() if n}
    assert few.attribution["status"].value_counts().to_dict() == totals
    reached = few.tables["ceilings"].at["actual", "nDCG@10"]
    assert reached == few.tables["measures"].at["nDCG@10", "mean"]
    assert few.page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("key", ["collection", "documents"])
def test_a_folder_or_a_file_of_documents_is_searched(tmp_path, key):
    path = tmp_path / "ferry.md"
    path.write_text("# Ferry\n\nThe ferry sails twice a day.\n")
    for given in (tmp_path, str(path)):
        (hit,) = search("bm25", "when does the ferry sail", **{key: given}).ranking.hits
        assert hit.chunk.doc_id == "ferry.md"


def test_a_file_is_cited_as_itself_by_title_and_date(tmp_path):
    (tmp_path / "rules.md").write_text("---\ntitle: Rules\nupdated: 2024-05-01\n---\nMoor north.\n")
    canvas = Canvas(str(tmp_path / "fees.pdf"))
    canvas.showPage()
    canvas.drawString(72, 700, "The fees of mooring are twelve euros a night.")
    canvas.save()
    os.utime(tmp_path / "fees.pdf", (1_700_000_000, 1_700_000_000))
    found = search("bm25", "moor fees mooring", documents=tmp_path).hits.set_index("source")
    columns = ["title", "updated_at", "language", "page"]
    assert list(found.loc["rules.md", columns[:2]]) == ["Rules", "2024-05-01"]
    assert list(found.loc["fees.pdf", columns]) == ["fees.pdf", "2023-11-14", "en", 2]


def test_a_search_tells_what_is_around_its_hits():
    law = (
        "---\nlang: en\n---\n# Law\n\nOf berths.\n\n"
        "## § 1 Dues\n\nA berth costs ten crowns.\n\n## § 2 Late\n\nAs § 1 says.\n"
    )
    chunker = "documents.chunker={type: structure, max_tokens: 16, overlap_tokens: 0}"
    found = search("bm25", "berth crowns says", chunker, documents={"law.md": law})
    first = found.hits.iloc[0]
    assert (first["kind"], first["section"]) == ("content", "sec_1")
    assert (first["order"], first["total"], first["combined"]) == (2, 3, False)
    assert first["parents"] == ("law",)
    assert first["level"] == 2
    assert (first["language"], first["summary"]) == ("en", "Of berths.")
    assert [pointer.section_id for pointer in first["incoming"]] == ["sec_2"]
    assert [item.targets for item in found.hits.iloc[1]["references"]] == [("sec_1",)]
    assert found.neighborhoods[first["chunk"]].incoming == first["incoming"]

    off = "documents.references=false"
    bare = search("bm25", "berth crowns says", chunker, off, documents={"law.md": law}).hits
    assert list(bare["chunk"]) == list(found.hits["chunk"])
    assert list(bare["references"]) == [()] * len(bare)
    assert set(bare["incoming"]) | set(bare["outgoing"]) == {None}


def test_hits_are_the_ranking_with_its_grades(few):
    for query, ranking in few.stored.rankings.items():
        hits = few.hits(query)
        assert list(hits["chunk"]) == [hit.chunk.id for hit in ranking.hits]
        assert list(hits.index) == list(range(1, len(ranking.hits) + 1))
        for row, joined in zip(hits.itertuples(), few.stored.joined[query], strict=True):
            assert row.grade == joined.grade if joined.judged else str(row.grade) == "<NA>"


def test_a_run_names_the_command_that_repeats_it(few):
    command = few.stored.manifest.environment["command"]
    assert command == ["assay", "run", str(Path("configs", "bm25.yaml")), SMALL, "limit=4"]
    assert environment.command()[1:] == sys.argv[1:]


def test_all_runs_are_loaded_the_newest_first(few, capsys, monkeypatch, tmp_path):
    rerun = run("bm25", SMALL, "limit=4", track=False, rerun=True)
    assert [found.id for found in load_runs()][:1] == [rerun.id]
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "manifest.json").write_text("{}")
    (tmp_path / few.id).symlink_to(few.stored.folder.absolute())
    assert [found.id for found in load_runs(reports=tmp_path)] == [few.id]
    assert "passed over" in capsys.readouterr().err


def test_what_is_wrong_is_told_in_one_line(few, monkeypatch, tmp_path):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/none.db")
    compared = compare(
        few, run("bm25", SMALL, "limit=4", "retriever.legs.keyword.b=0.1", track=False)
    )
    wrong = {
        "no such config": lambda: run("bm52"),
        "not YAML|unknown key": lambda: run("bm25", "retriever.legs.keyword.k9=1"),
        "an override is": lambda: run("bm25", "limit"),
        "no such run": lambda: load_runs("nothing"),
        "no stored runs": lambda: load_runs(reports=tmp_path),
        "no runs are tracked": load_tracked_runs,
        "q999: not a query of": lambda: few.hits("q999"),
        "needs two runs": lambda: compare(few),
        "not a measure": lambda: compare(few, few, measures=["nonsense"]),
        'must be a list of names, as \\["MRR"\\]': lambda: compare(few, few, measures="MRR"),
        "P@5: not compared": lambda: compared.per_query("P@5"),
        "plot: needs matplotlib, which the extra `notebooks` has": few.plot,
    }
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for message, call in wrong.items():
        with pytest.raises(AssayError, match=message) as told:
            call()
        assert "\n" not in str(told.value)
    assert not list(tmp_path.iterdir())


def test_three_are_ranked_unless_one_is_the_base():
    bodies = [f"retriever.legs.keyword.b={b}" for b in (0.1, 0.9)]
    config = {"base": "bm25", "dataset": "harbourline", "limit": 4}
    runs = [run(config, body, f"name=b{i}", track=False) for i, body in enumerate(bodies)]
    ranked = compare([*runs, "bm25"], collection="harbourline", limit=4)
    assert ranked.found.all_pairs
    assert len(ranked.tables["runs"]) == 3
    assert len(ranked.tables["differences"]) == 3 * len(ranked.found.measures)
    beside = compare([*runs, "bm25"], base="bm25", collection="harbourline", limit=4)
    assert beside.found.labels[0] == "bm25"
    assert list(beside.tables["differences"].index.unique()) == [
        "b0 against bm25",
        "b1 against bm25",
    ]
    named = compare(runs, base=runs[1])
    assert named.found.labels == ("b1", "b0")
    more = compare(runs, base="bm25", collection="harbourline", limit=4)
    assert more.found.names == beside.found.names


def test_rankings_have_no_names_and_are_numbered():
    page = "api/reference.md"
    first, second = {"q001": [(page, 1.0)], "q002": []}, {"q001": [], "q002": [(page, 1.0)]}
    queries = {"q001": "reference", "q002": "the reference"}
    judgments = {id_: {page: 1} for id_ in queries}
    given = {"documents": {page: "The reference."}, "queries": queries, "judgments": judgments}
    found = compare([first, second], collection=given, measures=["nDCG@10"])
    assert found.found.labels == ("rankings-1", "rankings-2")
    named = compare([first, second], collection=given, names=["keyword", "dense"])
    assert named.found.labels == ("keyword", "dense")


@pytest.mark.parametrize("differences", [True, False])
def test_names_are_escaped_in_bars_and_tables(differences):
    hostile = "<script>$alert$</script>"
    estimates = {hostile: Estimate(0.2, 0.1, 0.3, 9), "b": Estimate(0.0, 0.0, 0.0, 9)}
    bars = [IntervalBar(name, estimate) for name, estimate in estimates.items()]
    drawn = draw_bars(bars, differences)
    assert "<script" not in drawn
    assert len(ElementTree.fromstring(drawn).findall("circle")) == 2
    axes = plot_bars(bars, differences, title=hostile, label=hostile, ax=None)
    axes.figure.savefig(BytesIO(), format="svg")
    assert len(axes.get_yticklabels()) == 2
    table = DataFrame({hostile: [hostile]}, index=[hostile]).rename_axis(hostile)
    html = render(hostile, [hostile], table)
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 6


def test_results_show_themselves(few):
    assert repr(few).startswith("<bm25 on harbourline: nDCG@10 0.")
    assert "25\xa0% of questions" in few._repr_html_()
    assert "A sample: 4 of" in few._repr_html_()
    compared = compare(
        few, run("bm25", SMALL, "limit=4", "retriever.legs.keyword.b=0.1", track=False)
    )
    assert compared.verdict in repr(compared)
    assert "bm25 (b 0.1) against bm25 (b 0.6) on harbourline" in compared._repr_html_()
    assert "a sample: 4 of" in compared._repr_html_()
    third = run("bm25", SMALL, "limit=4", "retriever.legs.keyword.b=0.9", track=False)
    for result in (few, compared, compare(few, third, compared.found.runs[1].manifest.id)):
        html = result._repr_html_()
        assert html.index("nDCG@10") < html.index("<table") < html.index("<svg")
        axes = result.plot()
        assert len(axes.get_yticklabels()) == html.count("<circle") > 0
    assert "4 questions are too few to tell." in compared._repr_html_()
    assert list(compared.tables["latency"].index) == ["p50", "p95"]
