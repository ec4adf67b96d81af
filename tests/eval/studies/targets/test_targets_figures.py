"""Figures of targets on runs whose scores are known by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import scipy
from pydantic import TypeAdapter
from samples.planned_runs import make_collection, make_run

from assay.eval.runs.latency import LatencySample
from assay.eval.runs.stored import StoredRun
from assay.eval.statistics.estimates import (
    RESAMPLES,
    SEED,
    estimate_share,
)
from assay.eval.studies.targets.first_results import Documents, Duplicates, Similarity
from assay.eval.studies.targets.limits import Limits
from assay.eval.studies.targets.results import MeasuredValue
from assay.eval.studies.targets.scores import Change, Score
from assay.eval.studies.targets.times import Latency, SlowestStage
from assay.eval.studies.targets.traced import TraceFlow, TraceMeasurement
from assay.retrievers.base import AssayError, Ranking, StageTrace

BASE = [1, 2, 4, 0, 1, 5, 2, 1, 0, 2] * 4
OTHER = [1, 1, 2, 1, 1, 1, 4, 1, 0, 1] * 4


def make(kind, **values):
    """Return a measurement as the YAML file makes it."""
    name = TypeAdapter(kind).json_schema()["properties"]["type"]["const"]
    usual = {"type": name, "pipeline": "other", "dataset": "planned"}
    return kind.model_validate(usual | values)


@dataclass(frozen=True)
class Lab:
    """Has two runs, or one, by the names that a measurement gives them."""

    runs: Sequence[StoredRun]
    base: str
    encode: Any

    def run(self, pipeline, dataset):
        return self.runs[0 if pipeline == self.base else -1]


def find(wanted, *runs, encode=None):
    """Return what a measurement finds in the run of its pipeline, with that of its base first."""
    found = wanted.find(Lab(runs, getattr(wanted, "base", ""), encode))
    assert isinstance(found, MeasuredValue)
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    collection = make_collection(len(BASE), types=("even", "odd"))
    base = make_run(folder, "base", BASE, collection=collection)
    return base, make_run(folder, "other", OTHER, collection=collection)


def traced(run, counts):
    """Return `run` with one stage `expand` in the trace of each query."""
    entries = [StageTrace("expand", "stage", 1.0, counts=item) for item in counts]
    rankings = {
        query: Ranking(ranking.hits, (entry,))
        for (query, ranking), entry in zip(run.rankings.items(), entries, strict=True)
    }
    return replace(run, rankings=rankings)


def test_relative_change_by_hand_and_by_scipy(runs):
    found = find(make(Change, base="base", measure="MRR@10"), *runs)
    old, new = (np.array([1 / i if i else 0 for i in ranks]) for ranks in (BASE, OTHER))
    expected = scipy.stats.bootstrap(
        (old, new),
        lambda one, two, axis: np.mean(two, axis=axis) / np.mean(one, axis=axis),
        paired=True,
        n_resamples=RESAMPLES,
        batch=1000,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    assert found.estimate.value == pytest.approx(7.75 / 4.95 - 1)  # sums over ten queries
    assert found.estimate.low == pytest.approx(expected.low - 1)
    assert found.estimate.high == pytest.approx(expected.high - 1)
    assert (found.estimate.n, found.unit) == (40, "change")
    assert found.runs == tuple(run.manifest.id for run in runs)


def test_change_of_the_failure_rate(runs):
    """8 of 40 queries fail in the base, 4 in the other: the rate is halved."""
    found = find(make(Change, base="base", measure="1-Recall@20"), *runs)
    assert found.estimate.value == pytest.approx(-0.5)
    assert found.estimate.low < -0.5 < found.estimate.high <= 0


def test_what_has_no_figure_is_refused(runs, tmp_path):
    none, right, other = (
        make_run(tmp_path, name, ranks)
        for name, ranks in (("base", [0] * 10), ("other", [1] * 10), ("few", [1] * 5))
    )
    change = make(Change, base="base", measure="Hit@1")
    typed = make(Score, measure="Recall@1", query_types=["even", "third"])
    for wanted, found, line in (
        (change, (none, right), "base: Hit@1 is 0 in too many"),
        (change, (runs[0], other), "cannot be compared"),
        (typed, runs[:1], r"query_types: third: .* its types: even, odd"),
    ):
        with pytest.raises(AssayError, match=line):
            find(wanted, *found)


def test_scores_of_0_and_1_have_the_exact_binomial_interval(tmp_path):
    """Four right answers of four prove little; the bootstrap would say they prove all."""
    run = make_run(tmp_path, "right", [1] * 4)
    found = find(make(Score, measure="Hit@1"), run).estimate
    assert (found.value, found.high, found.n) == (1.0, 1.0, 4)
    assert found.low == pytest.approx(0.025**0.25)  # the chance of 4 of 4 is then 2.5 %
    assert found.low == pytest.approx(scipy.stats.binomtest(4, 4).proportion_ci(method="exact").low)
    exact = find(make(Score, measure="Hit@1", census=True), run).estimate
    assert (exact.low, exact.high) == (1.0, 1.0)


def test_latency_of_stages_and_of_the_slowest(runs):
    samples = tuple(
        LatencySample(f"q{i}", {"total": 100.0 + i, "a": 10.0, "b": float(i), "c": 30.0})
        for i in range(21)
    )
    timed = replace(runs[0], latency=samples)
    assert find(make(Latency), timed).estimate.value == pytest.approx(119)
    assert find(make(Latency, stages=["a", "b"]), timed).estimate.value == pytest.approx(29)
    slowest = find(make(SlowestStage, other_than=["c"]), timed)
    assert (slowest.estimate.value, slowest.note) == (
        pytest.approx(19),
        "it is b; 21 queries are too few to bound p95 from above",
    )
    assert slowest.estimate.high is None
    assert Limits(at_most=1000).judge(slowest.estimate) == "cannot tell"
    assert Limits(at_most=18).judge(slowest.estimate) == "cannot tell"
    assert Limits(at_most=10).judge(slowest.estimate) == "missed"
    assert find(make(Latency, percentile=50), timed).estimate.high is not None
    with pytest.raises(AssayError, match="d: no such stage; there are: total, a, b, c"):
        find(make(Latency, stages=["d"]), timed)
    with pytest.raises(AssayError, match=r"latency\.queries"):
        find(make(Latency), replace(timed, latency=()))


def test_counts_in_the_trace(runs):
    counts = [{"added": i % 4, "seen": 6} for i in range(40)]
    run = traced(runs[0], counts)

    def figure(**values):
        return find(make(TraceMeasurement, stage="expand", count="added", **values), run)

    assert figure(figure="share").estimate == estimate_share(30, 40)
    largest = figure(figure="max").estimate
    assert (largest.value, largest.low, largest.high, largest.n) == (3, 3, 3, 40)
    ratio = figure(figure="ratio", of="seen")
    assert ratio.estimate.value == pytest.approx(1.5 / 6)
    assert ratio.note == "60 of 240"
    with pytest.raises(AssayError, match="expand leaves no count 'lost'"):
        find(make(TraceMeasurement, stage="expand", count="lost", figure="max"), run)


def test_documents_of_the_first_results(runs):
    found = find(make(Documents, depth=5, documents=5), runs[0]).estimate
    assert (found.value, found.n) == (1.0, 40)
    assert find(make(Documents, depth=2), runs[0]).estimate.value == 0
    counted = find(make(Documents, depth=2, counted=True), runs[0])
    assert (counted.estimate.value, counted.estimate.low, counted.unit) == (40, 40, "count")
    assert counted.note == "of 40 queries"
    counted = find(make(Documents, depth=5, documents=5, counted=True), runs[0])
    assert counted.estimate.value == 0
    few = show(runs[0], "aa")  # two documents, for all but one query
    with pytest.raises(AssayError, match="no ranking has 3 documents"):
        find(make(Documents, depth=5, documents=3), few)


def encode_by(**angles):
    """Return what encodes texts of one letter as directions in a plane."""

    def encode(texts):
        i = np.radians([angles[text] for text in texts])
        return np.stack([np.cos(i), np.sin(i)], axis=1)

    return encode


def test_duplicates_of_a_result_before(runs):
    run, encode = show(runs[0], "abca"), encode_by(a=0, b=60, c=85)
    # c lies 25 degrees from b (cosine .906), the second a is the first; one query has one result
    for over, of_each in ((0.95, 1), (0.85, 2)):
        found = find(make(Duplicates, depth=4, over=over), run, encode=encode)
        assert (found.estimate.value, found.unit) == (39 * of_each, "count")
    assert find(make(Duplicates, depth=2), run, encode=encode).estimate.value == 0


def test_how_alike_the_first_results_are(runs):
    base, other = (show(run, texts) for run, texts in zip(runs, ("aab", "abc"), strict=True))
    encode = encode_by(a=0, b=60, c=90)
    found = find(make(Similarity, base="base", depth=3), base, other, encode=encode)
    before, after = (1 + 0.5 + 0.5) / 3, (0.5 + 0 + np.cos(np.radians(30))) / 3
    assert found.estimate.value == pytest.approx(after - before)
    assert (found.estimate.n, found.unit) == (39, "difference")
    assert found.note == f"{before:.3f} → {after:.3f}"
    alike = find(make(Similarity, base="base", depth=2), base, other, encode=encode)
    assert alike.estimate.value == pytest.approx(0.5 - 1)


def test_counts_of_hits_that_do_not_add_up(runs):
    counts = [{"in": 50, "out": 40}] * 38 + [{"in": 40, "out": 1}] * 2
    run = traced(runs[0], counts)  # of 40 hits each
    assert find(make(TraceFlow), run).estimate.value == 2
    entries = tuple(StageTrace("s", "stage", 1.0, counts=item) for item in (counts[0], counts[-1]))
    twice = {
        query: Ranking(ranking.hits[:1], (entries[1], entries[0]))
        for query, ranking in run.rankings.items()
    }
    assert find(make(TraceFlow), replace(run, rankings=twice)).estimate.value == len(twice)
    right = {query: Ranking(item.hits[:1], entries) for query, item in run.rankings.items()}
    assert find(make(TraceFlow), replace(run, rankings=right)).estimate.value == 0
    with pytest.raises(AssayError, match="no stage tells"):
        find(make(TraceFlow), runs[0])


def show(run, texts):
    """Return `run` with results that read so; of its first query only one."""
    rankings = dict(run.rankings)
    for number, (query, ranking) in enumerate(rankings.items()):
        shown = zip(ranking.hits, texts if number else texts[:1], strict=False)
        hits = tuple(replace(hit, chunk=replace(hit.chunk, text=text)) for hit, text in shown)
        rankings[query] = Ranking(hits, ranking.trace)
    return replace(run, rankings=rankings)


def test_what_became_of_the_answers_that_are_missing(runs):
    found = find(make(Score, measure="Hit@1"), runs[0])
    beyond, absent = sum(i > 1 for i in BASE), BASE.count(0)
    start = f"of {beyond + absent} not in the first 1: "
    assert found.note.startswith(start)
    told = found.note.removeprefix(start).split(", ")
    assert sorted(int(part.split()[0]) for part in told) == sorted([beyond, absent])
    assert f"{beyond} ranked too low" in told
    assert find(make(Score, measure="MRR@10"), runs[0]).note == ""
