"""The report of a comparison: its data, its files, and what it says in words."""

import json
import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from samples.planned_runs import make_run as make_planned
from samples.report import HOSTILE, QUERIES, make_run

from assay.eval.report.formats import p_value, signed
from assay.eval.report.plots import LinearAxis
from assay.eval.runs.execution.interleaved_timing import InterleavedTiming
from assay.eval.runs.json_form import to_json
from assay.eval.runs.machine_load import MachineLoad
from assay.eval.runs.summary.labels import label_runs
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.significance import detectable
from assay.eval.studies.comparison.analysis import compare
from assay.eval.studies.comparison.differences import foretell
from assay.eval.studies.comparison.latency_pairs import LatencyPair
from assay.eval.studies.comparison.page import write
from assay.eval.studies.comparison.page.differences import (
    difference_row,
    elaborate,
    make_axis,
)
from assay.eval.studies.comparison.page.provenance import Contrast, contrast_configs
from assay.eval.studies.comparison.page.scores import MOST_DOTS, place_dots, tell_outcome
from assay.eval.studies.comparison.page.view import (
    list_gains,
    list_losses,
    make_view,
)

LEGS = {"initials": ("initials",), "endings": ("endings",), "fused": ("words", "letters")}
RANKS = [1, 2, 4, 0, 1, 5, 2, 1, 0, 2] * 4
SWAPPED = [{4: 5, 5: 4}.get(rank, rank) for rank in RANKS]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    reports = tmp_path_factory.mktemp("reports")
    return [make_run(reports, name=name, legs=legs) for name, legs in LEGS.items()]


@pytest.fixture(scope="module")
def compared(runs):
    return compare(runs)


@pytest.fixture(scope="module")
def view(compared):
    return make_view(compared)


@pytest.fixture(scope="module")
def queries(view):
    return {query["id"]: query for query in view.details["queries"]}


# The files


def test_the_same_comparison_gives_the_same_files_without_markup_of_others(
    compared, view, runs, tmp_path
):
    page = write(compared, tmp_path)
    files = {file.name: file.read_bytes() for file in page.parent.iterdir()}
    names = "comparison.json differences.csv first_hits.csv report.html report.md"
    assert sorted(files) == names.split()
    assert page.parent.name.startswith("compare-initials-endings-fused-harbour-")
    assert write(compare(runs), tmp_path) == page
    assert {file.name: file.read_bytes() for file in page.parent.iterdir()} == files
    assert json.loads(files["comparison.json"]) == json.loads(json.dumps(to_json(compared)))
    others = compare(runs, effect=0.1), compare(runs, ("MRR@10",)), compare(runs[::-1])
    assert len({compared.id, *(other.id for other in others)}) == 4

    text = page.read_text(encoding="utf-8")
    assert HOSTILE not in text
    assert len(re.findall(r"<script", text)) == 2
    reader = MarkdownIt("commonmark").enable("table")
    markdown = files["report.md"].decode()
    rendered = reader.render(markdown)
    assert "<script" not in rendered
    assert "<img" not in rendered
    found = {token.content for token in reader.parse(markdown) if token.type == "inline"}
    for pair in view.pairs:
        for row in (*pair.rows, *pair.types):
            assert {f"{row.difference} ({row.interval})", row.verdict} <= found
    assert "How it was compared" in found


# Words and numbers


def make_pair(folder, ranks, effect=0.05):
    planned = [make_planned(folder, name, i) for name, i in (("base", RANKS), ("other", ranks))]
    return compare(planned, ("MRR@10", "Hit@1"), effect)


@pytest.mark.parametrize(
    ("ranks", "effect", "said"),
    [
        ([1] * 40, 0.05, "other is better than base{}: MRR@10 1.000 against 0.495, +0.505, likely"),
        ([0] * 40, 0.05, "other is worse than base{}: MRR@10 0.000 against 0.495, −0.495, likely"),
        (SWAPPED, 0.05, "No proven difference between other and base{}: MRR@10 0.495"),
        ([*RANKS[:-1], 3], 0.05, "other and base could be equally good{}: MRR@10 0.4"),
        (SWAPPED, 0.001, "other and base could be equally good{}: MRR@10 0.495"),
    ],
)
def test_the_verdict_is_said_in_a_sentence(tmp_path, ranks, effect, said):
    (sentence,) = make_pair(tmp_path, ranks, effect).conclusions
    assert sentence.startswith(said.format(" for new questions on these documents"))


def test_the_rest_names_every_other_measure_and_the_queries(tmp_path):
    (pair,) = make_pair(tmp_path, [1] * 40).pairs
    text = elaborate(pair)
    assert text.startswith("28 of 40 queries gain, 0 lose. Better, too: Hit@1.")
    assert "Half of the queries take at most" not in text
    timed = replace(pair, latency=(LatencyPair(50, 2.0, 3.0, Estimate(1.5, 1.4, 1.6, 40), True),))
    told = "Half of the queries take at most 3.00 ms, with the base 2.00 ms, timed interleaved."
    assert elaborate(timed).endswith(told)


def test_a_row_shows_what_the_comparison_holds(compared):
    pair = compared.pairs[0]
    axis = make_axis(pair.differences)
    assert [(tick.at, tick.label) for tick in axis.ticks][1] == (50, "0")
    for item in pair.differences:
        row = difference_row(item, axis.axis)
        assert row.counts == (item.wins, item.ties, item.losses)
        assert row.whisker.low <= row.whisker.at <= row.whisker.high
        assert (row.band is None) == (item.detectable == 0)
        if row.band:
            assert row.band.low + row.band.high == pytest.approx(100)
    no_share_of_one = replace(pair.differences[0], base=12.0, other=14.0)
    row = difference_row(no_share_of_one, LinearAxis(-1, 1))
    assert row.whisker is row.band is None


def test_numbers_in_words():
    shown = ("+0.123", "−0.123", "0.000", "0.000", "−1,234")
    for value, text in zip((0.1234, -0.1234, -0.0001, 0, -1234), shown, strict=True):
        assert signed(value) == text
    assert [p_value(value) for value in (None, 0.0004, 0.05)] == ["–", "< 0.001", "0.050"]


def test_runs_of_one_config_are_told_apart(runs):
    first, second = runs[:2]
    config, created = first.manifest.config, "2031-01-01T00:00:00+00:00"

    def vary(**changes):
        return replace(first, manifest=first.manifest.model_copy(update=changes))

    deeper = vary(config={**config, "retriever": {"legs": {"initials": {"depth": 7}}}})
    one, two, three = label_runs([first, second, deeper])
    assert (one.partition(" (")[0], two) == ("initials", "endings")
    assert ("depth 100" in one, "depth 7" in three) == (True, True)
    for changes, label in (
        ({"config": {**config, "measures": ["R@5"]}, "id": "other"}, "initials (other)"),
        ({"created": created}, f"initials ({created})"),
        ({"id": "other"}, "initials (other)"),
    ):
        assert label_runs([first, vary(**changes)])[1] == label


def test_movers_are_those_that_change_most(compared):
    pair = compared.pairs[0]
    gains = {query: other - base for query, (base, other) in pair.scores("nDCG@10").items()}
    winners = [row.id for row in list_gains(pair)]
    assert winners == sorted((id_ for id_ in gains if gains[id_] > 0), key=lambda id_: -gains[id_])
    assert [(row.id, row.difference) for row in list_losses(pair)] == [("q2", "−0.131")]


# The data of the script


def test_scores_and_outcomes_are_those_of_the_comparison(compared, view, queries):
    for number, name in enumerate(compared.measures):
        for i, pair in enumerate(compared.pairs):
            told = view.details["pairs"][i]
            for place, (query, (base, other)) in enumerate(pair.scores(name).items()):
                scores = queries[query]["scores"][number]
                assert (scores[0], scores[i + 1]) == pytest.approx((base, other), abs=1e-6)
                assert told["differences"][number][place] == pytest.approx(other - base, abs=1e-6)
                assert told["outcomes"][number][place] == tell_outcome(other - base)
            counts = Counter(told["outcomes"][number])
            row = pair.differences[number]
            assert (counts["+"], counts["="], counts["-"]) == (row.wins, row.ties, row.losses)


SCORE = st.floats(0, 1)


@given(st.lists(st.tuples(SCORE, SCORE), min_size=1, max_size=300))
@example([(i / 5000, (i * 7 % 5000) / 5000) for i in range(5000)])
def test_every_query_is_in_one_dot_near_its_scores(scores):
    placed = place_dots(scores, LinearAxis())
    found = [i for dot in placed["dots"] for i in dot["queries"]]
    assert sorted(found) == list(range(len(scores)))
    assert len(placed["dots"]) <= MOST_DOTS
    assert placed["step"] == 0.05 or len(scores) < 5000
    assert placed["step"] == 0.001 or len(scores) > 10
    for dot in placed["dots"]:
        for i in dot["queries"]:
            base, other = scores[i]
            assert abs(100 * base - dot["x"]) <= 100 * placed["step"] + 0.01
            assert abs(100 - 100 * other - dot["y"]) <= 100 * placed["step"] + 0.01
            assert tell_outcome(other - base) == dot["outcome"]


def test_a_query_has_the_hits_and_the_gold_of_every_run(compared, view, queries):
    passages = [passage["chunk"] for passage in view.details["passages"]]
    assert len(set(passages)) == len(passages), "they are stored once for all runs"
    summaries = [compared.base, *(pair.other for pair in compared.pairs)]
    for query in QUERIES:
        detail = queries[query]["detail"]
        ids = [[hit.chunk.id for hit in run.rankings[query].hits] for run in compared.runs]
        for own, answer in zip(ids, detail["answers"], strict=True):
            assert [passages[hit["passage"]] for hit in answer["hits"]] == own[:10]
            for id_, hit in zip(own, answer["hits"], strict=False):
                ranks = [found.index(id_) + 1 if id_ in found else None for found in ids]
                assert hit["ranks"] == ranks
        statuses = [item["statuses"] for item in detail["gold"]]
        for i, summary in enumerate(summaries):
            found = Counter(item.words for item in summary.attribution.items[query])
            assert Counter(told[i]["words"] for told in statuses) == found
    detail = queries["q5"]["detail"]
    place = detail["answers"][0]["hits"][0]["passage"]
    assert detail["marked"][place][1] == "the anode is replaced"


def test_a_large_collection_keeps_the_queries_that_change_most(compared, monkeypatch):
    monkeypatch.setattr("assay.eval.studies.comparison.page.drilldown.MOST_QUERIES", 3)
    told = make_view(compared).details["queries"]
    changes = dict.fromkeys(QUERIES, 0.0)
    for pair in compared.pairs:
        for query, (base, other) in pair.scores("nDCG@10").items():
            changes[query] = max(changes[query], abs(other - base))
    detailed = [changes.pop(query["id"]) for query in told if "detail" in query]
    assert (len(told), len(detailed)) == (8, 3)
    assert min(detailed) >= max(changes.values())


# Flow, latency, circumstances


def test_the_flow_counts_every_gold_item_once(compared, view):
    for pair, shown, told in zip(compared.pairs, view.pairs, view.details["pairs"], strict=True):
        flow = shown.flow
        before, after = (item.attribution.totals() for item in (pair.base, pair.other))
        assert flow.items == sum(before.values())
        rows = {row.status.status: row.items for row in flow.rows}
        assert rows == {name: count for name, count in before.items() if count}
        columns = [sum(row.cells[i].items for row in flow.rows) for i in range(len(flow.statuses))]
        assert columns == [after[name.status] for name in flow.statuses]
        assert after["found"] - before["found"] == flow.gained - flow.lost
        assert f"{shown.other} finds {flow.gained} in its first 10" in shown.flow_sentence
        cells = {cell.key: cell.items for row in flow.rows for cell in row.cells if cell.items}
        assert told["moves"].keys() == cells.keys()
        assert all(0 < len(queries) <= cells[key] for key, queries in told["moves"].items())


def test_stages_of_both_stand_on_one_axis(view, tmp_path):
    timing = view.pairs[0].timing
    by_name = {stage.name: stage for stage in timing.stages}
    assert list(by_name) == ["total", "initials", "fusion", "endings"]
    assert by_name["endings"].base is by_name["initials"].other is None
    assert None not in (by_name["fusion"].base, by_name["fusion"].other)
    assert [(row.name, row.ratio) for row in timing.ratios] == [("p50", ""), ("p95", "")]
    assert not timing.together
    untimed = [make_run(tmp_path, name=name, legs=LEGS[name], timed=0) for name in LEGS]
    bare = make_view(compare(untimed))
    assert [pair.timing for pair in bare.pairs] == [None, None]
    assert bare.base_half == ""


def test_every_place_has_the_times_of_one_job(runs, tmp_path):
    first, second = runs[:2]
    queries = list(first.queries)
    times = {first.manifest.id: [14.7] * len(queries), second.manifest.id: [29.4] * len(queries)}
    load = MachineLoad(cores=2, seconds=3, own=0.5, others=0.02, load_average=0.4)
    timing = InterleavedTiming(queries=queries, milliseconds=times, load=load)
    compared = compare([first, second], timing=timing)
    view = make_view(compared)
    (pair,) = view.pairs
    assert (view.base_half, pair.half) == ("14.7", "29.4")
    assert [(row.base, row.other) for row in pair.timing.ratios] == [("14.7", "29.4")] * 2
    assert "total" not in [stage.name for stage in pair.timing.stages]
    apart = make_view(compare([first, second])).pairs[0].timing
    assert pair.timing.curves != apart.curves
    assert apart.stages[0].name == "total"
    page = write(compared, tmp_path).read_text()
    assert page.count("14.7") >= 1


def test_what_was_assumed_before_there_were_scores_is_explained(tmp_path):
    ranks = [RANKS, SWAPPED, [1] * 40]
    compared = compare([make_planned(tmp_path, f"run{i}", each) for i, each in enumerate(ranks)])
    item, told = compared.pairs[1].headline, make_view(compared).pairs[1].foresight
    assert item.detectable_alone < item.detectable
    assumed = f"{detectable(0.3, 40):.2f}"
    assert foretell(40).startswith(f"40 questions show differences of about {assumed} in nDCG@10")
    for words in (
        f"a true difference of {item.detectable:.3f} in nDCG@10",
        f", and one of {item.detectable_alone:.3f} by itself. ",
        f"Before there are scores, {assumed} is assumed",
        f"these have {item.deviation:.2f}.",
    ):
        assert words in told


def test_a_measure_beyond_one_has_an_axis_of_its_own(runs):
    told = make_view(compare(runs, ("NumRet",))).details["measures"][0]
    assert told["ticks"][-1][0] == 100
    assert float(told["ticks"][-1][1]) > 1


def test_types_and_warnings_are_carried(view):
    assert set(view.types) == {kind for _, kind, _ in QUERIES.values()}
    degraded, empty = view.warnings[:2]
    assert degraded.startswith("initials, endings, fused: degraded on 1 of 8 queries: ")
    assert empty == "fused: nothing is returned for 1 of 8 queries"


def test_only_keys_that_differ_are_shown_a_missing_mapping_as_one(runs):
    shown = {
        "initials": ("depth: 100", "–", "–"),
        "endings": ("–", "depth: 100", "–"),
        "words": ("–", "–", "depth: 100"),
        "letters": ("–", "–", "depth: 100"),
    }
    wanted = tuple(Contrast(f"retriever.legs.{leg}", row) for leg, row in shown.items())
    assert contrast_configs(runs) == wanted
    assert contrast_configs([runs[0], runs[0]]) == ()
