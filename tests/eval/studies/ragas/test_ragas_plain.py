"""ragas' metrics without a model against cases worked out by hand, and against what a run holds."""

import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import pytest
from samples import report as report_sample
from samples.planned_runs import make_collection, make_run

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring import measures
from assay.eval.studies.ragas.beside import compare
from assay.eval.studies.ragas.metrics import METRICS, choose
from assay.eval.studies.ragas.samples import Sample, make_samples
from assay.eval.studies.ragas.study import score
from assay.retrievers.base import AssayError, Quiet

pytestmark = pytest.mark.skipif(not find_spec("ragas"), reason="needs the extra `ragas`")

BY_TEXT = [metric for metric in METRICS if not metric.judged]


def make_sample(ids, gold, contexts=(), gold_contexts=()):
    contexts = contexts or tuple(ids)
    return Sample(
        "q", "?", tuple(ids), contexts, contexts, tuple(gold), gold_contexts or (gold,), ""
    )


def score_one(name, sample):
    (found,) = score(choose([name], judge=False), [sample], Quiet())
    return found.values["q"]


@pytest.mark.parametrize(
    ("ids", "gold", "recall", "precision"),
    [
        ("abcde", "bd", 1, 2 / 5),
        ("abcde", "bdxy", 1 / 2, 2 / 5),
        ("ab", "b", 1, 1 / 2),  # P@5 is 1/5: k is not the denominator
        ("abcde", "x", 0, 0),
    ],
)
def test_by_ids_is_set_arithmetic(ids, gold, recall, precision):
    sample = make_sample(ids, gold)
    assert score_one("IDBasedContextRecall", sample) == pytest.approx(recall)
    assert score_one("IDBasedContextPrecision", sample) == pytest.approx(precision)


def test_by_text_takes_what_is_half_alike():
    """Edit distance over the longer length: `abcd` to `abxy` is 2 of 4, to `abcdefgh` 4 of 8."""
    exact = make_sample("123", "g", ("zzzz", "abcd", "yyyy"), ("abcd", "wwww"))
    assert score_one("NonLLMContextRecall", exact) == 1 / 2
    assert score_one("NonLLMContextPrecisionWithReference", exact) == pytest.approx(1 / 2)
    # Half alike is enough for precision, and not for recall.
    half = make_sample("12", "g", ("abxy", "zzzz"), ("abcd",))
    assert score_one("NonLLMContextPrecisionWithReference", half) == pytest.approx(1)
    assert score_one("NonLLMContextRecall", half) == 0
    # A chunk that holds the whole gold text within a longer one is not similar to it.
    within = make_sample("1", "g", ("abcd" + "z" * 12,), ("abcd",))
    assert score_one("NonLLMContextRecall", within) == 0


def test_average_precision_is_over_the_chunks_found_relevant():
    """Relevant at ranks 2 and 4: (1/2 + 2/4) / 2, whatever else is relevant and was not found."""
    contexts = ("zzzz", "abcd", "yyyy", "efgh")
    for gold in (("abcd", "efgh"), ("abcd", "efgh", "ijkl", "mnop")):
        sample = make_sample("1234", "g", contexts, gold)
        assert score_one("NonLLMContextPrecisionWithReference", sample) == pytest.approx(1 / 2)


def test_nothing_returned_scores_0_and_without_relevant_gold_there_is_no_score():
    for found in score(BY_TEXT, [make_sample("", "g")], Quiet()):
        assert (found.values, found.empty) == ({"q": 0.0}, ("q",))
    for found in score(BY_TEXT, [make_sample("abc", "", gold_contexts=("x",))], Quiet()):
        assert (found.values, found.missing) == ({}, {"q": "no gold item is relevant"})


def test_names_are_checked():
    assert choose([], judge=False) == BY_TEXT
    assert choose([], judge=True) == list(METRICS)
    with pytest.raises(AssayError, match="Faithfulness calls a language model: give --provider"):
        choose(["Faithfulness"], judge=False)


def test_samples_show_what_the_measures_are_computed_on(tmp_path):
    run = report_sample.make_run(tmp_path)
    ranking = run.rankings["q1"]
    titled = [replace(hit, chunk=replace(hit.chunk, title="Tides")) for hit in ranking.hits]
    rankings = {**run.rankings, "q1": replace(ranking, hits=tuple(titled))}
    samples = {item.query: item for item in make_samples(replace(run, rankings=rankings), 2)}
    assert list(samples) == list(run.queries)
    assert samples["q7"].ids == samples["q7"].contexts == ()
    first = samples["q1"]
    assert first.gold_ids == tuple(item.id for item in run.gold["q1"])
    assert first.gold_contexts == ("Spring tides come at new moon.",)
    assert first.ids[0] == first.gold_ids[0]  # not the id of the chunk
    assert first.passages[0] == f"Tides\n{first.contexts[0]}"
    assert len(samples["q3"].gold_ids) == 1  # the other item has grade 0
    assert all(len(sample.ids) <= 2 for sample in samples.values())
    assert [sample.query for sample in make_samples(run, 2, limit=2)] == ["q1", "q5"]


def test_where_gold_items_are_chunks_ids_agree_with_recall_and_precision(tmp_path):
    run = make_run(tmp_path, "planned", [1, 2, 3, 5, 6, 0, 1, 4])
    scores = score(BY_TEXT, make_samples(run, 5), Quiet())
    for item in compare(run, scores, 5)[:2]:
        assert item.measure in ("Recall@5", "P@5")
        assert item.differ == 0
        assert item.disagreements == ()
        assert item.tau == pytest.approx(1)
        assert item.mean == item.measure_mean


def test_two_items_in_one_chunk_are_where_ragas_recall_falls_behind(tmp_path):
    """Both halves of `text number 0` are gold: the chunk that is all of it covers them."""
    collection = make_collection(2)
    halves = tuple(
        GoldItem("q0", f"d0[{start}:{end}]", "d0", start, end, 1)
        for start, end in ((0, 6), (6, 13))
    )
    collection = replace(collection, gold={**collection.gold, "q0": halves})
    run = make_run(tmp_path, "planned", [1, 1], collection=collection)
    metrics = choose(["IDBasedContextRecall"], judge=False)
    (both,) = compare(run, score(metrics, make_samples(run, 2), Quiet()), 2)
    assert both.scores.values == {"q0": 1.0, "q1": 1.0}
    (item,) = compare(run, score(metrics, make_samples(run, 1), Quiet()), 1)
    assert item.scores.values == {"q0": 0.5, "q1": 1.0}, "one item has a place among the first hit"
    assert item.measure == "Recall@1"
    assert [(gap.query, gap.measure) for gap in item.disagreements] == [("q0", 1.0)]


@pytest.mark.slow
def test_scoring_writes_nothing_below_the_home_directory(tmp_path):
    code = (
        "from assay.eval import no_telemetry; no_telemetry.disable()\n"
        "from assay.eval.studies.ragas.study import score\n"
        "from assay.eval.studies.ragas.metrics import choose\n"
        "from assay.eval.studies.ragas.samples import Sample\n"
        "from assay.retrievers.base import Quiet\n"
        "one = ('a',); sample = Sample('q', '?', one, one, one, one, one, '')\n"
        "print([dict(f.values) for f in score(choose([], judge=False), [sample], Quiet())])"
    )
    home = {"HOME": str(tmp_path), "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=home, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("'q': ") == 4
    assert not list(tmp_path.rglob("*"))


def test_a_missing_extra_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "ragas.metrics", None)
    with pytest.raises(AssayError, match=r"needs the extra `ragas`: make extra NAME=") as caught:
        score(BY_TEXT, [make_sample("a", "a")], Quiet())
    assert "\n" not in str(caught.value)


def test_measures_named_as_nearest_can_be_computed():
    measures.check_names(metric.nearest.format(k=5) for metric in METRICS if metric.nearest)
