"""Comparisons of runs whose scores are known by hand."""

from dataclasses import replace

import pytest
from samples.planned_runs import make_collection, make_run

from assay.eval.runs.execution.interleaved_timing import InterleavedTiming
from assay.eval.runs.machine_load import MachineLoad
from assay.eval.statistics.estimates import Estimate, estimate_mean
from assay.eval.statistics.paired import estimate_difference
from assay.eval.statistics.significance import detectable, randomise
from assay.eval.studies.comparison.analysis import compare
from assay.eval.studies.comparison.latency_pairs import pair_latencies
from assay.eval.studies.comparison.page.provenance import describe_method
from assay.eval.studies.comparison.report import explain
from assay.retrievers.base import AssayError

BASE = [1, 2, 4, 0, 1, 5, 2, 1, 0, 2] * 4
OTHER = [1, 1, 2, 1, 1, 1, 4, 1, 0, 1] * 4
MEASURES = ("MRR@10", "Hit@1")

QUIET = MachineLoad(cores=2, seconds=3, own=0.5, others=0.02, load_average=0.4)


def test_figures_by_hand(folder):
    base, other = make_run(folder, "base", BASE), make_run(folder, "other", OTHER)
    compared = compare([base, other], MEASURES)
    (pair,) = compared.pairs
    first, second = pair.differences
    before, after = ([1 / rank if rank else 0 for rank in ranks] for ranks in (BASE, OTHER))
    scores = list(zip(before, after, strict=True))
    differences = [two - one for one, two in scores]
    assert pair.scores("MRR@10") == {f"q{i}": pytest.approx(both) for i, both in enumerate(scores)}
    assert first.n == 40
    assert first.base == pytest.approx(sum(one for one, _ in scores) / 40)
    assert first.other == pytest.approx(sum(two for _, two in scores) / 40)
    assert (first.wins, first.ties, first.losses) == (20, 16, 4)
    assert first.difference.value == pytest.approx(estimate_mean(differences).value)
    by_itself = estimate_difference(differences, 1.0, (-1.0, 1.0))
    assert first.difference == by_itself == first.simultaneous, "the headline of one run"
    assert first.p == pytest.approx(randomise(differences), abs=0.003)
    assert first.p == first.adjusted, "the headline measure pays for no other"
    assert second.p <= second.adjusted <= 2 * second.p
    assert pair.alone == {"MRR@10": first.adjusted, "Hit@1": second.adjusted}
    assert first.effect_size == pytest.approx(first.difference.value / first.deviation)
    assert first.detectable == pytest.approx(detectable(first.deviation, 40))
    assert (first.verdict, second.verdict) == ("better", "better")
    assert (compared.tests, compared.beside) == (2, ("Judged@10", "Tokens@10"))
    assert compare([base, other], MEASURES) == compared
    (back,) = compare([other, base], MEASURES).pairs
    assert back.differences[0].verdict == "worse"
    assert back.differences[0].difference.value == pytest.approx(-first.difference.value)


def test_a_sample_is_compared_on_the_queries_that_both_searched(folder):
    base, sample = make_run(folder, "base", BASE), make_run(folder, "quick", OTHER, limit=8)
    compared, back = compare([base, sample], MEASURES), compare([sample, base], MEASURES)
    assert list(compared.base.run.queries) == list(sample.queries)
    (pair,) = compared.pairs
    assert {item.n for item in pair.differences} == {8}
    assert pair.scores("MRR@10").keys() == sample.queries.keys()
    assert compared.searched == (40, 8)
    assert compared.warnings == (
        "a sample: 8 of the collection's 40 queries",
        "the runs searched 40, 8 queries: only the 8 that all share are compared",
    )
    (other,) = back.pairs
    assert other.differences[0].difference.value == -pair.differences[0].difference.value
    assert len(base.queries) == 40


def test_what_cannot_be_compared_is_refused(folder):
    base, other = make_run(folder, "base", BASE), make_run(folder, "other", OTHER)
    shorter = base.take([f"q{i}" for i in range(8)])
    shorter = replace(shorter, manifest=shorter.manifest.model_copy(update={"id": "shorter"}))
    for runs, measures, line in (
        ([base], None, "two runs"),
        ([base, other, base], None, "given twice"),
        ([base, other], ("Tokens@10",), "Tokens"),
        ([base, shorter], MEASURES, "query sets differ"),
    ):
        with pytest.raises(AssayError, match=line):
            compare(runs, measures)


def test_types_are_a_family_apart(folder):
    collection = make_collection(40, types=("even", "odd"))
    third = [1, 1, 4, 0, 1, 5, 2, 1, 0, 2] * 4
    runs = [
        make_run(folder, name, ranks, collection=collection)
        for name, ranks in (("base", BASE), ("other", OTHER), ("third", third))
    ]
    compared = compare(runs, ("MRR@10",))
    shown = [item for pair in compared.pairs for item in pair.shown]
    assert [item.type for item in shown] == ["", "even", "odd"] * 2
    assert [item.n for item in shown] == [40, 20, 20] * 2
    assert (compared.tests, compared.tests_by_type) == (2, 4)
    (pair, _) = compared.pairs
    (alone,) = compare(runs[:2], ("MRR@10",)).pairs
    assert [item.p for item in pair.shown] == [item.p for item in alone.shown]
    assert pair.alone["MRR@10"] == alone.differences[0].adjusted <= pair.differences[0].adjusted


def test_too_few_queries_are_not_tested(folder):
    collection = make_collection(9, types=("a", "b", "c"))
    base, other = (
        make_run(folder, name, [rank] * 9, collection=collection)
        for name, rank in (("base", 2), ("other", 1))
    )
    compared = compare([base, other], ("MRR@10",))
    (pair,) = compared.pairs
    assert (pair.differences[0].verdict, compared.tests) == ("better", 1)
    untested = {(item.p, item.verdict) for item in pair.by_type}
    assert untested == {(None, "not shown (too few queries)")}
    told = "draws, adjusted within each family: MRR@10 of all runs (1); better or worse"
    assert told in explain(compared)
    told = "Differences are tested in families: MRR@10 of all runs (1 difference). "
    assert told in dict(describe_method(compared))["p"]
    headline = replace(pair.differences[0], p=None)
    none = replace(compared, pairs=(replace(pair, differences=(headline,), by_type=()),))
    assert none.tests == 0
    assert "draws; better or worse" in explain(none)
    assert "opposite queries would reverse. None for groups" in dict(describe_method(none))["p"]


def test_latencies_stand_side_by_side_with_a_ratio_where_timed_in_one_job(folder):
    runs = [make_run(folder, name, BASE) for name in ("base", "other", "apart")]
    thrice = [
        replace(item, milliseconds={"total": 3 * item.milliseconds["total"]})
        for item in runs[0].latency
    ]
    slow = replace(runs[1], latency=tuple(thrice))
    (pair,) = compare([runs[0], slow], ("MRR@10",)).pairs
    assert [(item.percentile, item.ratio) for item in pair.latency] == [(50, None), (95, None)]
    for item in pair.latency:
        assert item.other == pytest.approx(3 * item.base)
    untimed = replace(slow, latency=())
    assert compare([runs[0], untimed], ("MRR@10",)).pairs[0].latency == ()
    times = [3.0, 1.0, 2.0, 9.0] * 10
    both = {runs[0].manifest.id: times, runs[1].manifest.id: [2 * value for value in times]}
    queries = [f"q{i}" for i in range(40)]
    timing = InterleavedTiming(queries=queries, milliseconds=both, load=QUIET)
    other, apart = compare(runs, ("MRR@10",), timing=timing).pairs
    assert [item.base for item in other.latency] == pytest.approx([2.5, 9])
    assert [item.ratio for item in other.latency] == [Estimate(2, 2, 2, 40)] * 2
    assert [item.ratio for item in apart.latency] == [None, None]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(("others", "busy"), [(0.43, True), (0.02, False), (None, False)])
def test_a_ratio_of_a_busy_machine_is_called_so(folder, together, others, busy):
    base, other = (make_run(folder, name, BASE) for name in ("base", "other"))
    load = QUIET.model_copy(update={"others": others})
    times = {run.manifest.id: [3.0, 1.0] * 20 for run in (base, other)}
    timing = InterleavedTiming(queries=[], milliseconds=times, load=load) if together else None
    if not together:
        other = replace(other, manifest=other.manifest.model_copy(update={"load": load}))
    told = (
        "Times are unreliable, for the machine was busy: "
        "other processes used 43 % of the 2 cores while queries were timed"
    )
    lines = [line for line in compare([base, other], timing=timing).warnings if told in line]
    assert [line.endswith("on a quiet machine.") for line in lines] == [True] * busy


@pytest.mark.parametrize(("n", "told"), [(5, []), (6, [50]), (19, [50]), (20, [50, 95])])
def test_no_ratio_is_told_of_too_few_queries(tmp_path, n, told):
    runs = [make_run(tmp_path, name, [1] * n) for name in ("base", "other")]
    times = [1.0 + i for i in range(n)]
    timing = InterleavedTiming(
        queries=[f"q{i}" for i in range(n)],
        milliseconds={run.manifest.id: times for run in runs},
        load=QUIET,
    )
    found = pair_latencies(*runs, timing)
    assert [item.percentile for item in found if item.ratio] == told
    assert all(item.together for item in found)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"join_rule": "another"}, "the join rule differs"),
        ({"count": 41}, "41 queries, 1 of them in one run only"),
        ({"grade": 2}, "the judgments of 40 queries (q0, …) differ"),
        ({"types": ("new",)}, "the text or type of 40 queries (q0, …) differs"),
        ({"title": "new"}, "the documents of the collection or its options differ"),
        ({"name": "elsewhere", "title": "newer"}, "the collections are planned and elsewhere"),
    ],
)
def test_runs_judged_differently_are_refused(folder, change, words):
    base = make_run(folder, "base", BASE)
    count = change.get("count", 40)
    given = {key: change[key] for key in ("types", "grade") if key in change}
    collection = make_collection(count, **given)
    if "title" in change:
        documents = tuple(replace(item, title=change["title"]) for item in collection.documents)
        name = change.get("name", collection.name)
        collection = replace(collection, documents=documents, name=name)
    other = make_run(folder, "other", [*OTHER, 1][:count], collection=collection)
    rule = change.get("join_rule", other.manifest.join_rule)
    other = replace(other, manifest=other.manifest.model_copy(update={"join_rule": rule}))
    with pytest.raises(AssayError) as raised:
        compare([base, other], MEASURES)
    for told in (words, base.manifest.id, other.manifest.id):
        assert told in str(raised.value)


def test_what_weakens_a_comparison_is_said(folder):
    collection = make_collection(40)
    card = collection.card.model_copy(update={"favours": "keyword search (Hit@10 .9 alone)"})
    collection = replace(collection, card=card)
    base = make_run(folder, "base", BASE, collection=collection, limit=20)
    other = make_run(
        folder, "other", OTHER, collection=collection, limit=20, degraded=["index down"]
    )
    told = compare([base, other], MEASURES).warnings
    for line in (
        "degraded on 20 of 20 queries: index down",
        "20 of the collection's 40 queries",
        "the questions favour keyword search (Hit@10 .9 alone): confirm",
    ):
        assert any(line in warning for warning in told)
    assert len(told) == 3
