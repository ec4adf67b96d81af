"""The rule of the gate, on runs whose scores are known by hand."""

from dataclasses import replace
from xml.etree import ElementTree as Xml

import pytest
from samples.planned_runs import make_run
from tools.processes import ROOT

from assay.eval.report.renderers.markdown import render
from assay.eval.runs.execution.interleaved_timing import PairTimes
from assay.eval.runs.json_form import to_json
from assay.eval.runs.machine_load import MachineLoad
from assay.eval.studies.gate import output as gate_output
from assay.eval.studies.gate import sentences
from assay.eval.studies.gate.attribution import CollectionChange
from assay.eval.studies.gate.baseline import make
from assay.eval.studies.gate.measure_verdicts import find_unnoticed
from assay.eval.studies.gate.rebuild import Rebuild, list_moving
from assay.eval.studies.gate.report import report as show
from assay.eval.studies.gate.rule import judge, judge_latency
from assay.eval.studies.gate.settings import (
    GateSettings,
    LatencyLimits,
    MustNotBreak,
    load_settings,
)
from assay.retrievers.base import AssayError

QUIET = MachineLoad(cores=2, seconds=3, own=0.5, others=0.02, load_average=0.4)
RANKS = [1, 2, 4, 3, 1, 5, 2, 1, 9, 2] * 6
SETTINGS_OF_20 = GateSettings(measures={"MRR@10": 0.02})
SETTINGS = GateSettings(
    measures={"MRR@10": 0.02},
    must_not_break=MustNotBreak(measure="Hit@3", queries={"planned": ["q0", "q1"]}),
)


@pytest.fixture(scope="module")
def baseline(folder):
    return make(make_run(folder, "mine", RANKS), ["MRR@10", "Hit@3", "nDCG@10"])


def judge_ranks(baseline, folder, ranks, settings=SETTINGS, latency=()):
    return judge(baseline, make_run(folder, "mine", ranks), settings, latency)


def test_an_unchanged_run_passes(folder, baseline):
    report = judge_ranks(baseline, folder, RANKS)
    (item,) = report.measures
    assert report.verdict == item.verdict == "pass"
    assert (item.p, item.wins, item.ties, item.losses) == (1.0, 0, 60, 0)
    assert item.finds > 0.05
    assert item.finds_spread == pytest.approx(item.minimum_effect)
    assert item.minimum_effect < item.margin < item.base / 3
    check, *_ = sentences.list_verdicts(report)
    assert f"; lost no more than {item.margin:.3f}" in check.sentence
    assert (item.difference.low, item.difference.high) == (0.0, 0.0)
    assert report.losers == report.broken == report.changes == ()


def test_a_weak_pass_says_first_what_it_would_not_notice(folder):
    ranks = (RANKS * 3)[:25]
    before = make(make_run(folder, "few", ranks), ["MRR@10", "Hit@10"])
    head = make_run(folder, "few", ranks)
    report = judge(before, head, SETTINGS_OF_20)
    (item,) = report.measures
    assert 1 / 4 < find_unnoticed([item]) == item.margin / item.base <= 1 / 3
    wanted = replace(item, minimum_effect=item.margin)  # a loss that the settings let pass
    assert find_unnoticed([wanted]) == 0
    told = "Pass, but weak: with 25 questions a loss of up to a third would go unnoticed."
    assert sentences.announce(report).startswith(told)
    shown = to_json(gate_output.GateFinding(report))
    assert shown["verdict"] == "pass"
    assert shown["verdict_text"].startswith(told)
    heading, _, first, *_ = render(show(report)).split("\n\n")
    assert heading == "# Gate: Pass, but weak (few@planned)"
    assert first.startswith(f"- {told}")
    (whole,) = gate_output.annotate(report, strict=False)
    assert whole.startswith("::notice ")
    assert told in whole
    # Nothing can be lost where the pipeline did not change.
    change = CollectionChange(head, True, "documents: 1 changed", "", (), "")
    same = judge(before, head, SETTINGS_OF_20, change=change)
    assert sentences.announce(same).startswith("Pass: the pipeline did not change")


def test_a_warning_of_few_queries_says_how_little_they_show_and_many_are_not_weak(folder):
    few = make(make_run(folder, "few", [1] * 13 + [3, 9] * 6), ["MRR@10", "Hit@10"])
    worse = make_run(folder, "few", [1] * 6 + [4] * 7 + [3, 9] * 6)
    report = judge(few, worse, SETTINGS_OF_20)
    assert report.verdict == "warning"
    told = "with 25 questions a loss of up to a third may get no more than a warning."
    assert sentences.announce(report).endswith(told)
    ranks = [1] * 280 + [2] * 20
    many = make(make_run(folder, "many", ranks), ["MRR@10", "Hit@10"])
    report = judge(many, make_run(folder, "many", ranks), SETTINGS_OF_20)
    assert sentences.announce(report).startswith("Pass: lost no more than 0.0")


def test_a_loss_is_named_by_a_fraction_that_is_no_less(folder, baseline):
    report = judge_ranks(baseline, folder, RANKS)
    (item,) = report.measures
    for share, words in (
        (0.5, "half"),
        (0.336, "a third"),
        (0.26, "a third"),
        (0.24, "a quarter"),
        (0.101, "a tenth"),
        (0.9, "90\xa0%"),
    ):
        weak = replace(report, measures=(replace(item, margin=share * item.base),))
        assert f"60 questions a loss of up to {words} would go" in sentences.announce(weak)
    slight = replace(report, measures=(replace(item, margin=0.1 * item.base),))
    assert sentences.announce(slight).startswith("Pass: lost no more than ")


@pytest.mark.parametrize("ranks", [[1, 2], [0] * 60], ids=["two queries", "nothing to lose"])
def test_equal_differences_are_no_pass_where_no_drop_could_be_found(folder, ranks):
    before = make(make_run(folder, "blind", ranks), ["MRR@10", "Hit@10"])
    head = make_run(folder, "blind", ranks)
    changed = replace(head, manifest=head.manifest.model_copy(update={"identity": "other code"}))
    report = judge(before, changed, SETTINGS_OF_20)
    (item,) = report.measures
    assert item.finds is None
    assert report.verdict == "cannot tell"
    assert judge(before, head, SETTINGS_OF_20).verdict == "pass", "the accepted run itself"


def test_a_clear_drop_is_a_regression(folder, baseline):
    worse = [rank if i < 2 else min(rank + 4, 11) for i, rank in enumerate(RANKS)]
    report = judge_ranks(baseline, folder, worse)
    (item,) = report.measures
    assert report.verdict == item.verdict == "regression"
    assert item.difference.high < -0.02
    assert item.p <= 0.01
    assert item.losses == 58
    assert report.losers[0].base - report.losers[0].head == pytest.approx(0.8)
    assert len(report.losers) == 10


@pytest.mark.parametrize(("lost", "verdict"), [(5, "warning"), (4, "cannot tell")])
def test_a_few_queries_that_fell_are_no_proof(folder, baseline, lost, verdict):
    """They lost everything, and the interval lies below 0, yet chance does it 1 in 32 or 16."""
    ranks = [0 if i in range(4, 10 * lost, 10) else rank for i, rank in enumerate(RANKS)]
    report = judge_ranks(baseline, folder, ranks)
    (item,) = report.measures
    assert item.difference.high < 0
    assert item.p == 0.5**lost
    assert report.verdict == verdict
    assert not report.fails(strict=False)
    assert report.fails(strict=True)


def test_what_twenty_queries_can_show_is_not_passed_over(folder):
    """None won, seven lost, .26 in the mean: the best that so few can do is a p of 1 in 128."""
    small = make(make_run(folder, "small", [1] * 20), ["MRR@10", "Hit@10"])
    report = judge(small, make_run(folder, "small", [1] * 13 + [4] * 7), SETTINGS_OF_20)
    (item,) = report.measures
    assert (item.wins, item.ties, item.losses) == (0, 13, 7)
    assert SETTINGS_OF_20.false_alarms < item.p == 1 / 128
    assert report.verdict == "warning"
    (told, whole) = gate_output.annotate(report, strict=False)
    assert told.startswith("::warning title=small@planned")
    assert whole.startswith("::warning ")
    assert "Lost most: q13 (1.00 → 0.25)" in whole
    assert b"<skipped" in gate_output.render_junit(report, strict=False)
    assert b"<failure" in gate_output.render_junit(report, strict=True)


def test_a_drop_too_small_to_matter_passes(folder, baseline):
    ranks = [10 if rank == 9 else rank for rank in RANKS]
    report = judge_ranks(baseline, folder, ranks)
    (item,) = report.measures
    assert item.difference.high < 0
    assert report.verdict == "pass"
    stern = SETTINGS.model_copy(update={"measures": {"MRR@10": 0.001}, "false_alarms": 0.05})
    assert judge_ranks(baseline, folder, ranks, stern).verdict == "regression"


def test_a_query_that_must_not_break(folder, baseline):
    report = judge_ranks(baseline, folder, [1, 4, *RANKS[2:]])
    assert report.measures[0].verdict == "pass"
    assert [item.query for item in report.broken] == ["q1"]
    assert report.verdict == "regression"
    other = MustNotBreak(measure="Hit@3", queries={"another": ["q1"]})
    elsewhere = SETTINGS.model_copy(update={"must_not_break": other})
    report = judge_ranks(baseline, folder, [1, 4, *RANKS[2:]], elsewhere)
    assert report.verdict == "pass"


def test_what_cannot_be_judged_is_an_error(folder, baseline):
    run = make_run(folder, "mine", RANKS)
    with pytest.raises(AssayError, match=r"holds no Recall@20.*nDCG@10"):
        judge(baseline, run, SETTINGS.model_copy(update={"measures": {"Recall@20": 0.02}}))
    missing = MustNotBreak(measure="Hit@3", queries={"planned": ["q99"]})
    with pytest.raises(AssayError, match="q99"):
        judge(baseline, run, SETTINGS.model_copy(update={"must_not_break": missing}))
    with pytest.raises(AssayError, match="a sample"):
        judge(baseline, make_run(folder, "mine", RANKS, limit=10), SETTINGS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("measures: {}", "measures: dictionary should have at least 1 item"),
        ("measures: {nDCG@10: 0}", "nDCG@10: the minimum effect must lie between 0 and 1"),
        ("measures: {Tokens@10: 0.1}", "Tokens@10 cannot be gated"),
        ("measures: {nDCG@ten: 0.1}", "'nDCG@ten' is not a measure"),
        ("must_not_break: {measure: Hit@ten}", "'Hit@ten' is not a measure"),
        ("false_alarms: 0.5", "false_alarms: input should be less than"),
        ("latency: {p50: 0.9}", "latency.p50: input should be greater than 1"),
        ("latency: {p99: 2.0}", "latency.p99: unknown key; allowed: p50, p95"),
        ("- 1", "must be a mapping of keys"),
        ("[", "line 1: not YAML"),
        ("measures: {}\nmeasures: {}", "line 2: the key 'measures' stands twice"),
    ],
)
def test_settings_that_make_no_sense(tmp_path, text, words):
    path = tmp_path / "gate.yaml"
    path.write_text(text)
    with pytest.raises(AssayError) as raised:
        load_settings(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_settings_that_ship_are_the_defaults():
    defaults = GateSettings()
    shipped = load_settings(ROOT / "configs" / "gate.yaml")
    assert shipped.model_copy(update={"must_not_break": defaults.must_not_break}) == defaults
    assert shipped.must_not_break.measure == defaults.must_not_break.measure


def test_latency_is_judged_by_the_ratio_alone():
    limits = LatencyLimits(p50=1.2, p95=1.3)
    base = [1.0 + i % 10 for i in range(100)]
    for factor, verdict in ((1.0, "pass"), (0.5, "pass"), (2.0, "regression")):
        for scale in (1, 1000):
            head = [factor * scale * value for value in base]
            found = judge_latency(PairTimes([scale * value for value in base], head, QUIET), limits)
            assert [item.verdict for item in found] == [verdict] * 2
    unsteady = [value * (3 if i % 2 else 0.6) for i, value in enumerate(base)]
    found = judge_latency(PairTimes(base, unsteady, QUIET), limits)
    assert "cannot tell" in {item.verdict for item in found}
    few = judge_latency(PairTimes(base[:19], [2 * value for value in base[:19]], QUIET), limits)
    assert [item.verdict for item in few] == ["regression", "cannot tell"]


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_latency_of_a_busy_machine_is_not_judged(folder, baseline, factor):
    busy = QUIET.model_copy(update={"others": 0.43})
    base = [1.0 + i % 10 for i in range(100)]
    times = PairTimes(base, [factor * value for value in base], busy)
    found = judge_latency(times, LatencyLimits())
    assert [item.verdict for item in found] == ["cannot tell"] * 2
    report = judge_ranks(baseline, folder, RANKS, SETTINGS, found)
    assert report.verdict == "cannot tell"
    told = (
        "the machine was busy (other processes used 43 % of the 2 cores meanwhile): run it again "
        "on a quiet machine"
    )
    for text in (
        render(show(report)),
        gate_output.render_junit(report, strict=False).decode(),
        sentences.conclude(report),
    ):
        assert told in text
    assert to_json(gate_output.GateFinding(report))["latency"][0]["load"]["others"] == 0.43
    settled = judge_latency(times, LatencyLimits(busy=0.5))
    assert "cannot tell" not in {item.verdict for item in settled}


def test_outputs(folder, baseline):
    run = make_run(folder, "mine", [1, 4, *RANKS[2:]])
    times = PairTimes([1.0, 2.0, 3.0] * 7, [5.0, 9.0, 14.0] * 7, QUIET)
    report = judge(baseline, run, SETTINGS, judge_latency(times, LatencyLimits()))
    suite = Xml.fromstring(gate_output.render_junit(report, strict=False)).find("testsuite")
    counts = [suite.get(key) for key in ("tests", "failures", "errors", "skipped")]
    assert counts == ["5", "3", "0", "0"]
    names = [case.get("name") for case in suite]
    assert names == ["MRR@10", "query q0", "query q1", "latency p50", "latency p95"]
    markdown = render(show(report))
    assert "# Gate: Regression (mine@planned)\n" in markdown
    assert "| q1 |" in markdown
    lines = gate_output.annotate(report, strict=False)
    assert [line.split(" ")[0] for line in lines] == ["::error"] * 4


@pytest.mark.parametrize(("before", "after", "fragile"), [(9, 10, True), (1, 0, False)])
def test_a_drop_that_a_few_large_gains_would_undo_says_so(folder, before, after, fragile):
    base, head = (make_run(folder, "mine", [rank] * 60) for rank in (before, after))
    settings = GateSettings(measures={"MRR@10": 0.01})
    report = judge(make(base, ["MRR@10", "Hit@10"]), head, settings)
    assert report.verdict == "regression"
    assert report.measures[0].presumes_symmetry == fragile
    told = b"it is fragile: a few opposite" in gate_output.render_junit(report, strict=False)
    assert told == fragile


def test_texts_of_others_stay_text():
    hostile = "a|b <img src=x> @all \x00\x1b `x` [l](u)\nnew"
    root = Xml.fromstring(gate_output.render_junit_failure("x", hostile))
    error = root.find("testsuite/testcase/error")
    assert "<img src=x>" in (error.text or "")
    markdown = gate_output.render_failure("x", hostile)
    assert "a\\|b &lt;img src=x&gt; @\u200ball" in markdown
    assert markdown.count("\n") == 3
    assert gate_output.annotation("error", "a:b,c", "50 %\nx") == (
        "::error title=a%3Ab%2Cc::50 %25%0Ax"
    )


def test_a_rebuild_that_moves_rankings_is_no_drop(folder, baseline):
    # q0 and q1 must not break. In this build q0 falls, in a second one it does not.
    run = make_run(folder, "moving", [4, 2, *RANKS[2:]])
    scores = make(run, SETTINGS.scored).scores
    kept = scores | {"q0": baseline.scores["q0"]}

    def judge_with(scores_, shift):
        rebuild = Rebuild(("chroma",), scores_, 1, {"MRR@10": shift} if scores_ else {})
        return judge(baseline, run, SETTINGS, rebuild=rebuild)

    assert [item.query for item in judge(baseline, run, SETTINGS).broken] == ["q0"]
    both = judge_with(scores, 0.0)
    assert (both.verdict, [item.query for item in both.broken]) == ("regression", ["q0"])
    one = judge_with(kept, 0.0)
    assert (one.verdict, one.broken) == ("pass", ())
    told = "Rankings of chroma move when the index is built again. In a second, cold build 1 of 60"
    assert told in render(show(one))
    assert "kept its score in one of two builds" in gate_output.render_junit(one, True).decode()
    unknown = judge_with(None, 0.0)
    assert (unknown.verdict, unknown.broken) == ("cannot tell", ())
    assert "How far is not known" in sentences.conclude(unknown)
    assert to_json(gate_output.GateFinding(unknown))["rebuild"] == {
        "engines": ["chroma"],
        "moved": None,
        "shifts": None,
    }


def test_a_drop_must_exceed_what_a_rebuild_moves(folder, baseline):
    settings = GateSettings(measures={"MRR@10": 0.02}, must_not_break=MustNotBreak(measure="Hit@3"))
    worse = make_run(folder, "moving", [min(rank + 4, 11) for rank in RANKS])
    drop = -judge(baseline, worse, settings).measures[0].difference.value
    same = make_run(folder, "moving", RANKS)
    margin = judge(baseline, same, settings).measures[0].margin

    def judge_with(run, shift, known=True):
        scores = baseline.scores if known else None
        rebuild = Rebuild(("chroma",), scores, 60, {"MRR@10": shift} if known else {})
        return judge(baseline, run, settings, rebuild=rebuild).verdict

    assert judge_with(worse, drop - 0.03) == "regression"
    assert judge_with(worse, drop) == "cannot tell"
    assert judge_with(worse, 0.0, known=False) == "cannot tell"
    assert judge_with(same, margin / 2) == judge_with(same, 0.0, known=False) == "pass"
    assert judge_with(same, margin) == "cannot tell"


def test_an_engine_that_moves_is_found_in_the_facts_of_a_run(folder):
    manifest = make_run(folder, "mine", RANKS).manifest
    assert list_moving(manifest) == ()
    engines = {
        "one": {"engine": {"engine": "chroma", "nondeterministic": True}},
        "two": {"engine": {"engine": "sqlite", "exact": True}},
    }
    moving = manifest.model_copy(update={"facts": {"legs": engines, "stages": []}})
    assert list_moving(moving) == ("chroma",)


def share_documents(run, size, documents):
    """Return the run as of a collection where each `size` queries in a row share a document."""
    copies = {f"d{i}": f"d{i - i % size}" for i in range(len(run.queries)) if i % size}
    facts = {"copies": copies, "documents": documents + len(copies)}
    collection = run.manifest.collection.model_copy(update=facts)
    return replace(run, manifest=run.manifest.model_copy(update={"collection": collection}))


def test_a_drop_in_a_few_documents_is_no_proof_for_others(folder):
    """Two documents of thirty lose all their eight queries: shown by question, not by document."""
    ranks = [1, 2] * 120
    worse = [0 if i < 56 else max(rank - (i % 5 == 0), 1) for i, rank in enumerate(ranks)]
    runs = [make_run(folder, "groups", each) for each in (ranks, worse)]
    found = {}
    for documents in (30, 300):
        before, head = (share_documents(run, 8, documents) for run in runs)
        found[documents] = judge(make(before, ["MRR@10", "Hit@10"]), head, SETTINGS_OF_20)
    fixed, sampled = found[30], found[300]
    assert fixed.verdict == "regression"
    assert fixed.claims.leading == "questions"
    assert fixed.opposite == {"MRR@10": sampled.measures[0].verdict}
    assert fixed.claim.endswith(f"On documents like these: MRR@10 {sampled.verdict}.")
    assert sampled.verdict != "regression"
    assert sampled.measures[0].p > fixed.measures[0].p
    assert sampled.measures[0].margin >= fixed.measures[0].margin
    assert sampled.measures[0].difference.low < fixed.measures[0].difference.low
    told = to_json(gate_output.GateFinding(sampled))
    assert told["claim"]["about"] == "documents"
    assert told["opposite"] == {"MRR@10": "regression"}
    assert sampled.claims.sentence in render(show(sampled))
