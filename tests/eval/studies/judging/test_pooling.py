"""Pools: which pairs are to be judged, in what order, and the table they are written to."""

import csv
import io
import json
import math
from dataclasses import replace

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from samples.planned_runs import make_collection, make_run

from assay.eval.cli.pool import pool as pool_command
from assay.eval.collections.authoring import worksheet
from assay.eval.collections.authoring.worksheet import Pair, render, trim
from assay.eval.collections.collection import GoldItem
from assay.eval.collections.formats.cells import arm, defuse
from assay.eval.studies.judging.pooling import make_pool
from assay.retrievers.base import AssayError, Chunk, Hit, Ranking

TEXT = "text number 0"
END = len(TEXT)


def rerank(run, name, rankings):
    """Return a run like `run` that has these rankings instead of its own."""
    hits = {
        query: Ranking(tuple(Hit(chunk, -float(i)) for i, chunk in enumerate(chunks)))
        for query, chunks in rankings.items()
    }
    manifest = run.manifest.model_copy(update={"id": name})
    return replace(run, manifest=manifest, rankings={**run.rankings, **hits})


def passage(document, start=0, end=END, **more):
    text = f"text number {document}"[start:end]
    return Chunk(f"d{document}:{start}-{end}", f"d{document}", start, end, text, **more)


@pytest.fixture
def base(tmp_path):
    return make_run(tmp_path, "base", [1, 1, 1, 1, 1, 1])


def list_places(pairs):
    return [(pair.query_id, pair.doc_id) for pair in pairs]


def test_by_how_far_the_judgment_can_move_the_comparison(base):
    """d1 stands first here and third there, d2 is absent there, d3 stands second in both."""
    rest = {f"q{i}": [passage(i)] for i in range(1, 6)}
    one = rerank(base, "one", rest | {"q0": [passage(i) for i in (1, 3, 2)]})
    other = rerank(base, "other", rest | {"q0": [passage(i) for i in (0, 3, 1)]})
    pool = make_pool([one, other])
    assert list_places(pool.pairs) == [("q0", "d1"), ("q0", "d2"), ("q0", "d3")]
    assert make_pool([other, one]).pairs == pool.pairs, "the order of the runs tells nothing"
    # d1: 1 − 0.5; d2: 0.5 − 0; so the mean decides, .75 against .25.
    assert {run: share.value for run, share in pool.judged.items()} == {
        "one": pytest.approx(5 / 6),
        "other": pytest.approx((5 + 1 / 3) / 6),
    }
    assert pool.count_by_query() == {"q0": 3}
    assert list_places(make_pool([one, other], depth=1).pairs) == [("q0", "d1")]


def test_of_one_run_the_first_ranks_come_first(base):
    rankings = {f"q{i}": [passage((i + step) % 6) for step in range(4)] for i in range(6)}
    pool = make_pool([rerank(base, "one", rankings)])
    assert len(pool.pairs) == 6 * 3
    assert list_places(pool.pairs)[:7] == [
        ("q0", "d1"), ("q1", "d2"), ("q2", "d3"), ("q3", "d4"), ("q4", "d5"), ("q5", "d0"),
        ("q0", "d2"),
    ]  # fmt: skip


def test_what_judged_pairs_alike_tell_comes_before_the_rank(tmp_path):
    """What "one" alone has first is irrelevant wherever it is judged; of "other" nothing is known.

    So the other's second comes before the first of "one", though it moves the difference less.
    """
    base = make_run(tmp_path, "base", [1] * 20)
    wrong = {
        f"q{i}": (*base.gold[f"q{i}"], GoldItem(f"q{i}", "no", f"d{(i + 1) % 20}", 0, 100, 0))
        for i in range(1, 20)
    }
    judged = replace(base, gold={**base.gold, **wrong})
    first, second = (
        {f"q{i}": [passage((i + step) % 20) for step in steps] for i in range(20)}
        for steps in ((1, 0), (0, 2))
    )
    one, other = rerank(judged, "one", first), rerank(judged, "other", second)
    pool = make_pool([one, other])
    assert set(list_places(pool.pairs[:-1])) == {(f"q{i}", f"d{(i + 2) % 20}") for i in range(20)}
    assert list_places(pool.pairs[-1:]) == [("q0", "d1")]
    assert make_pool([other, one]).pairs == pool.pairs
    three = make_pool([one, other, rerank(judged, "third", {})])
    assert set(three.pairs) > set(pool.pairs)
    assert len(three.bounds) == 3


def test_a_pool_says_what_judging_it_could_make_of_the_difference(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ranks = {"good": [1, 2] * 8, "poor": [2, 1] * 8}
    runs = [str(make_run(tmp_path / "reports", *item).folder) for item in ranks.items()]

    def call(*arguments):
        done = CliRunner().invoke(pool_command, [*runs, "--depth", "3", *arguments])
        assert done.exit_code == 0, done.output
        return done.stdout

    told = json.loads(call("--limit", "7", "--json"))
    assert told["written"] == 7 == len(worksheet.read(tmp_path / "pool.csv"))
    (bounds,) = told["bounds"]
    assert (told["measure"], bounds["base"], bounds["other"]) == ("nDCG@3", "good", "poor")
    assert bounds["low"] < bounds["difference"] < bounds["high"]
    assert bounds["difference"] == pytest.approx(0)
    assert bounds["could_turn"] is True
    said = "Judging the unjudged hits could turn which run is better by nDCG@3: poor less good is "
    assert said in call("--output", "more.csv")
    runs[:] = [str(make_run(tmp_path / "reports", "right", [1] * 16).folder)]
    assert "Nothing to judge" in call("--depth", "1", "--output", "none.csv")
    assert not (tmp_path / "none.csv").exists()


def test_passages_that_differ_in_white_space_are_one_and_others_stay_apart(base):
    rest = {f"q{i}": [passage(i)] for i in range(1, 6)}
    title = {"title": "Notes", "headings": ("One", "Two")}
    one = rerank(base, "one", rest | {"q0": [passage(0), passage(4, 0, 5), passage(5)]})
    other = rerank(base, "other", rest | {"q0": [passage(4, 0, 4, **title), passage(5, 0, 10)]})
    pool = make_pool([one, other])
    places = {(pair.doc_id, pair.start, pair.end): pair for pair in pool.pairs}
    assert set(places) == {("d4", 0, 4), ("d5", 0, 13), ("d5", 0, 10)}
    assert places["d4", 0, 4].text == "text"
    assert places["d4", 0, 4].title == "Notes > One > Two"
    assert pool.overlapping == 2
    # Both runs hold a passage that a judgment of either passage of d5 counts for.
    discounts = [1 / math.log2(1 + rank) for rank in (1, 2, 3)]
    assert discounts[0] - discounts[1] > discounts[1] - discounts[2]
    assert pool.pairs[0].doc_id == "d4"


def test_runs_that_do_not_belong_together(tmp_path, base):
    other = make_run(tmp_path, "other", [1] * 6, collection=make_collection(6, grade=2))
    with pytest.raises(AssayError, match="judgments of 6 queries"):
        make_pool([base, other])
    with pytest.raises(AssayError, match="allowed: a depth of 1 to 100, not 101"):
        make_pool([base], depth=101)
    assert len(make_pool([base, base]).judged) == 1


# The table


def pair(**values):
    given = {"query_id": "q", "query": "what", "type": "", "doc_id": "d", "title": ""}
    return Pair(**(given | {"start": 3, "end": 7, "text": "four"} | values))


HOSTILE = [
    '=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "'=1", "''+2", "＝1", "'tis",
    "plain", "", "a,b;c\t\"d\"\n=e",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_no_cell_is_a_formula_and_every_cell_comes_back(text, tmp_path):
    asked = pair(query_id=text or "q", query=text, doc_id=text or "d", title=text, text=text)
    content = render([asked], "c")
    assert content.startswith(b"\xef\xbb\xbfquery_id,query,")
    for cells in csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")):
        assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t\r\n＝")]
    path = tmp_path / "pool.csv"
    path.write_bytes(content)
    (row,) = worksheet.read(path)
    assert row.line == 2
    assert (row.string("query_id"), row.string("doc_id")) == (asked.query_id, asked.doc_id)
    assert row.string("text") == text
    assert row.string("digest") == asked.digest


@given(st.text())
def test_an_apostrophe_is_never_ambiguous(text):
    assert arm(defuse(text)) == text


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pool.csv"


def test_long_passages_are_shown_in_part_and_judged_whole(path):
    long = pair(text="x" * 40_000, end=40_003)
    path.write_bytes(render([long], "c"))
    (row,) = worksheet.read(path)
    assert row.string("text").endswith("x […]")
    assert len(row.string("text")) < 32_767
    assert row.string("digest") == long.digest != pair(text="x" * 16_000, end=40_003).digest


def test_what_other_programs_save_is_read(path):
    text = render([pair(text="one\ntwo"), pair(query_id="r")], "c").decode("utf-8-sig")
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    for delimiter, encoding in ((";", "utf-8"), ("\t", "utf-8-sig"), (",", "utf-8")):
        with path.open("w", newline="", encoding=encoding) as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            writer.writerows([head, rows[0], [""] * len(head), rows[1]])
        found = [(row.string("query_id"), row.line) for row in worksheet.read(path)]
        assert found == [("q", 2), ("r", 5)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "lacks the columns query_id"),
        (b"query_id,doc_id,start,end,grade\n", "lacks the columns digest"),
        (b"query_id,doc_id,start,end,grade,digest\na,\xe4,1,2,1,x\n", ":2: not UTF-8"),
        (b'query_id,doc_id,start,end,grade,digest\na,"b" c,1,2,1,x\n', ":2: not a table"),
    ],
)
def test_what_is_no_table_is_refused(path, content, words):
    path.write_bytes(content)
    with pytest.raises(AssayError, match=words):
        worksheet.read(path)


@given(st.text(" \n\tab", max_size=8), st.integers(0, 5))
def test_trimming_keeps_the_text(text, start):
    low, high = trim(text, start)
    assert start <= low <= high <= start + len(text)
    piece = text[low - start : high - start]
    assert piece == (text.strip() or text)
