"""The figures of an ingestion and its report."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.report import make_run

from assay.eval.report.files import write_blocks
from assay.eval.report.renderers import markdown, page
from assay.eval.report.run_page.page import write as write_run
from assay.eval.runs.json_form import to_json
from assay.eval.runs.summary.summary import summarise
from assay.eval.studies.ingestion.result import IngestionResult
from assay.eval.studies.ingestion.study import report, times, tokens, warnings
from assay.eval.studies.ingestion.summary import DocumentFacts, Ingestion, SkippedFile
from assay.eval.tracking.record import describe

STAGES = {"convert": 4.0, "chunk": 1.0, "context": 50.0, "embed": 10.0, "keyword.keyword": 2.0}


DOCUMENT = {
    "id": "a.pdf.md", "format": "PDF", "bytes": 1000, "encoding": "", "words": 1000,
    "tokens": (100, 300, 900), "oversize": 0, "unread": 1, "intact": True,
    "decisions": {"absorbed": 2}, "definitions": 3, "references": 4, "resolved": 2, "embedded": 3,
    "seconds": {"convert": 4.0, "chunk": 1.0, "embed": 10.0},
}  # fmt: skip
INGESTION = {
    "id": "ingest-x", "created": "2026-01-02T03:04:05+00:00", "source": "docs",
    "pipeline": "hybrid", "config": {"name": "hybrid"}, "facts": {},
    "environment": {"command": ["assay", "ingest"]}, "skipped": (), "seconds": STAGES,
    "cached": (), "collisions": 0, "limit": 800, "window": 512, "bytes": 10,
}  # fmt: skip


def make_document(name="a.pdf.md", **values):
    return DocumentFacts(**(DOCUMENT | {"id": name} | values))


def make_ingestion(*documents, **values):
    return Ingestion(**(INGESTION | {"documents": documents} | values))


def test_sizes_are_told_of_each_document_and_of_all():
    """The share on target leaves out documents that have no 800 tokens."""
    long = make_document(combined=2, split=1, tokens=(100, 800, 1500, 1501))
    made = make_ingestion(long, make_document("b.md", tokens=(20,), combined=0, split=0))
    figures = to_json(made.figures)
    assert (figures["combined"], figures["split"], figures["on_target"]) == (2, 1, 0.5)
    assert (figures["tokens"]["average"], figures["tokens"]["min"]) == (784.2, 20)
    first = to_json(made)["documents"][0]
    assert [first[key] for key in ("combined", "split", "average", "least")] == [2, 1, 975.25, 100]
    assert sum(item["chunks"] for item in to_json(made)["histogram"]) == 5
    told = dict(tokens(made))
    assert told["Chunks of 800 to 1,500 tokens"].startswith("50.0%")
    assert told["Chunks of several sections"] == "2"
    small = make_ingestion(make_document(tokens=(20,)))
    assert small.on_target is None
    assert "Chunks of 800 to 1,500 tokens" not in dict(tokens(small))
    assert to_json(make_ingestion(make_document(tokens=())).figures)["tokens"]["average"] == 0


def test_time_is_without_contexts_and_that_of_what_the_cache_held_is_not_known():
    made = make_ingestion(make_document())  # 2 pages
    assert made.seconds_per_100_pages() == 50 * (4 + 1 + 10 + 2)
    assert made.seconds_per_100_pages(embedding=False) == 50 * (4 + 1 + 2)
    assert (made.per_document.p50, made.per_document.n) == (15.0, 1)
    for missing in ("convert", "chunk", "embed"):
        seconds = {name: 1.0 for name in ("convert", "chunk", "embed") if name != missing}
        made = make_ingestion(make_document(), make_document("b", seconds=seconds))
        assert made.seconds_per_100_pages() is None
        assert made.per_document.n == 1
        assert "--rerun" in dict(times(made))["Seconds per 100 pages"]


@given(st.lists(st.integers(0, 20_000)))
def test_every_chunk_is_in_one_bin(tokens):
    made = make_ingestion(make_document(tokens=tuple(tokens)))
    bins = made.tokens.histogram()
    assert sum(item.chunks for item in bins) == len(tokens)
    assert sum(item.chunks for item in made.tokens.ranges()) == len(tokens)
    assert 1 <= len(bins) <= 12
    assert all(one.high == other.low for one, other in pairwise(bins))


def test_what_must_not_be_is_said_first():
    assert warnings(make_ingestion(make_document())) == ()
    torn = make_document("torn.md", intact=False, oversize=2)
    made = make_ingestion(torn, collisions=1)
    assert warnings(made) == (
        "1 document cannot be rebuilt: torn.md",
        "2 chunks over the maximum of 800 tokens",
        "1 collision of chunk ids",
    )
    assert report(made).verdict[0] == (
        "the chunks are not what they must be: 1 of 1 document cannot be rebuilt, "
        "2 chunks too large, 1 chunk id given twice"
    )
    note = "frontmatter: line 2: not YAML: …; it is read as text"
    assert warnings(make_ingestion(make_document("a.md", note=note))) == (f"a.md: {note}",)


@pytest.mark.parametrize(
    ("document", "limit", "words"),
    [
        ({}, 800, "1 document can be rebuilt from their chunks, no chunk is over 800 tokens, and"),
        ({}, None, "1 document can be rebuilt from their chunks, no chunk id is given twice"),
        ({"intact": None}, 800, "no document was cut here"),
    ],
)
def test_the_verdict_says_whether_anything_was_lost(document, limit, words):
    assert words in report(make_ingestion(make_document(**document), limit=limit)).verdict[0]


def test_reports_hold_every_number(tmp_path):
    latin = make_document("b.md", encoding="cp1252", seconds={})
    skipped = [SkippedFile("c.pdf", "is empty", "blank")]
    made = make_ingestion(make_document(), latin, skipped=skipped)
    html = write_blocks(made, report(made), tmp_path / "ingest-x").read_text(encoding="utf-8")
    stored = json.loads((tmp_path / "ingest-x/ingestion.json").read_text(encoding="utf-8"))
    assert stored["figures"] == json.loads(json.dumps(to_json(made.figures)))
    assert [item["id"] for item in stored["documents"]] == ["a.pdf.md", "b.md"]
    for words in ("read as cp1252", "is empty", "Integrity failures", "absorbed 4"):
        assert words in html


def test_reports_say_how_much_stands_between_headings_and_in_each_document():
    """By ranges of tokens; and what the cache had, and the vocabulary of the query step."""
    parts = ((100,), (90, 120), (850, 800), (7000, 950))
    long = make_document("long.md", tokens=sum(parts, ()), parts=parts)
    kept = make_document("kept.md", tokens=(40,), parts=((40,), ()), seconds={})
    made = make_ingestion(long, kept, facts={"query": [{"vocabulary": 1234}]})
    rows = [
        ("0–199", "2", "140", "2", "0"),
        ("200–799", "1", "210", "2", "0"),
        ("800–1,499", "0", "0", "0", "0"),
        ("1,500–7,899", "1", "1,650", "2", "2"),
        ("7,900 and more", "1", "7,950", "2", "1"),
    ]
    told = report(made)
    assert [_print(told.tables["parts"], i) for i in range(5)] == rows
    html, text = page.render(told), markdown.render(told)
    for words in ("3 · 0 · 3 · 1 · 0", "1 · 0 · 0 · 0 · 0", "cache hit rate 50", "1,234"):
        assert words in text
        assert words in html
    assert "parts" not in report(make_ingestion(make_document())).tables


def _print(table, i):
    """Return the cells of a row as people read them."""
    return tuple(column.print(table.rows[i])[0] for column in table.columns)


def test_what_python_is_given_has_a_row_a_document():
    made = make_ingestion(make_document(combined=2), make_document("b.md", tokens=(20,)))
    result = IngestionResult(made, report(made))
    assert result.figures == to_json(made.figures)
    first = result.documents.loc["a.pdf.md"]
    assert list(first[["chunks", "tokens", "combined", "resolved"]]) == [3, 1300, 2, 2]
    assert "nothing was lost" in repr(result)


def test_a_run_tells_of_the_chunks_it_searched(tmp_path):
    summary = summarise(make_run(tmp_path))
    assert "Chunks by tokens" not in write_run(summary).read_text(encoding="utf-8")
    sizes = [[120, 3], [900, 1]]
    facts = {"limit": 800, "tokens": sizes, "oversize": 1, "integrity_failures": 0}
    summary.run.manifest.index.facts.update(facts)
    page = write_run(summary)
    for text in (page.read_text(encoding="utf-8"), page.with_name("report.md").read_text()):
        assert "Chunks by tokens" in text
        assert "100–199" in text
        assert "1 (over 800 tokens)" in text
    found = {name: value for name, value, *_ in describe(summary).figures}
    assert (found["index/tokens.p50"], found["index/oversize"]) == (120, 1)
    assert found["index/integrity_failures"] == 0
