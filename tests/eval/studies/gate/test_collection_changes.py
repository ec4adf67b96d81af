"""The gate where the collection changed: which effect is whose, from hand-worked rankings."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples.planned_runs import make_run

from assay import gate
from assay.eval.report.renderers import markdown
from assay.eval.studies.gate import output, sentences
from assay.eval.studies.gate.attribution import CollectionChange, describe_change, estimate_effects
from assay.eval.studies.gate.baseline import accept, make, read
from assay.eval.studies.gate.kept_rankings import (
    KeptGold,
    KeptRanking,
    keep_rankings,
    pair_judgments,
    rescore,
)
from assay.eval.studies.gate.obstacles import list_mismatches
from assay.eval.studies.gate.report import report as show
from assay.eval.studies.gate.rule import judge
from assay.eval.studies.gate.running import refresh
from assay.eval.studies.gate.settings import GateSettings

NAMES = ["nDCG@10", "MRR@10", "Recall@20"]
SETTINGS = GateSettings(measures={"MRR@10": 0.02})


@settings(max_examples=20, deadline=None)
@given(ranks=st.lists(st.integers(0, 12), min_size=12, max_size=12))
def test_kept_rankings_score_as_the_run_does(tmp_path_factory, ranks):
    run = make_run(tmp_path_factory.mktemp("run"), "mine", ranks)
    kept = keep_rankings(run)
    grades = {id_: {i: item.grade for i, item in enumerate(kept[id_].gold)} for id_ in kept}
    found = rescore(kept, grades, NAMES)
    for query, scores in make(run, NAMES).scores.items():
        assert found[query] == pytest.approx(scores, abs=1e-6)


def kept(*gold):
    items = (KeptGold(id_, "span", grade, text, (rank,)) for id_, grade, text, rank in gold)
    return KeptRanking(query="same", hits=10, gold=tuple(items))


def test_a_judgment_is_known_by_its_text_at_another_place():
    before = kept(("a[0:4]", 1, "one", 1), ("a[5:9]", 1, "two", 2), ("a[9:12]", 1, "gone", 3))
    after = kept(("a[0:4]", 1, "new", 1), ("b[7:11]", 1, "two", 4), ("a[4:8]", 1, "one", 2))
    assert pair_judgments(before, after) == [(0, 2), (1, 1)]


def changed(run, digest="f" * 64):
    facts = run.manifest.collection.model_copy(update={"digest": digest})
    return replace(run, manifest=run.manifest.model_copy(update={"collection": facts}))


def test_each_effect_by_hand(tmp_path):
    """Rank 1 before and 2 today, by the judgments of both: the corpus took half a MRR@10."""
    before = make(make_run(tmp_path, "mine", [1] * 10), NAMES)
    effects, unknown = estimate_effects(
        before.rankings, make_run(tmp_path, "mine", [2] * 10), ["MRR@10"]
    )
    assert unknown == ""
    assert {item.source: item.difference.value for item in effects} == {
        "corpus": -0.5,
        "judgments": 0.0,
    }
    # The same rankings, of which half the judged texts are judged no longer.
    run = make_run(tmp_path, "mine", [1] * 10)
    fewer = {id_: items if i % 2 else () for i, (id_, items) in enumerate(run.gold.items())}
    effects, _ = estimate_effects(before.rankings, replace(run, gold=fewer), ["MRR@10"])
    assert {item.source: (item.difference.value, item.difference.n) for item in effects} == {
        "corpus": (0.0, 5),
        "judgments": (-0.5, 10),
    }


def test_the_pipeline_is_judged_on_todays_collection(tmp_path):
    """The corpus costs both pipelines the same; what today's loses besides is its own."""
    baseline = make(make_run(tmp_path, "mine", [1] * 60), [*NAMES, "Hit@10"])
    base = changed(make_run(tmp_path, "mine", [2] * 60))

    def judged(head, same):
        effects, unknown = estimate_effects(baseline.rankings, base, ["MRR@10"])
        change = CollectionChange(base, same, "documents: 1 changed", "", effects, unknown)
        report = judge(baseline, head, SETTINGS, change=change)
        text = markdown.render(show(report))
        assert "| corpus | MRR@10 | −0.500" in text
        assert b"effect of corpus: MRR@10" in output.render_junit(report, strict=False)
        return report.verdict

    assert judged(base, same=True) == "pass"
    assert judged(changed(make_run(tmp_path, "mine", [5] * 60)), same=False) == "regression"


def test_an_accepted_corpus_moves_the_baseline_and_not_its_pipeline(tmp_path):
    path = accept(make_run(tmp_path, "mine", [1] * 60), [*NAMES, "Hit@10"], tmp_path / "baselines")
    before, base = read(path), changed(make_run(tmp_path, "mine", [2] * 60))
    change = CollectionChange(base, False, "documents: 1 changed", "", (), "")

    def run(ranks):
        head = changed(make_run(tmp_path, "mine", ranks))
        report = judge(before, head, SETTINGS, change=change)
        return refresh(report, SETTINGS, path.parent, strict=False)

    assert "is left as it is, since the gate fails" in run([9] * 60)
    assert read(path) == before
    assert run([1] * 60).endswith("moved to today's collection, its pipeline as before; commit it")
    moved = read(path)
    assert moved.collection.digest == "f" * 64
    assert (moved.run, moved.means["MRR@10"]) == (base.manifest.id, 0.5)


def test_code_that_was_not_run_is_no_pass(tmp_path):
    baseline = make(make_run(tmp_path, "mine", [1] * 60), [*NAMES, "Hit@10"])
    base = changed(make_run(tmp_path, "mine", [1] * 60))
    change = CollectionChange(base, True, "documents", "Code changed.", (), "")
    report = judge(baseline, base, SETTINGS, change=change)
    assert report.verdict == "cannot tell"
    assert sentences.conclude(report) == "Code changed"


def test_what_cannot_be_paired_is_named(tmp_path):
    baseline = make(make_run(tmp_path, "mine", [1] * 3), NAMES)
    run = make_run(tmp_path, "mine", [1] * 3)
    assert list_mismatches(baseline, run, NAMES) == []
    passages = {
        id_: tuple(replace(item, passage_id=item.id) for item in items)
        for id_, items in run.gold.items()
    }
    (message,) = list_mismatches(baseline, replace(run, gold=passages), NAMES)
    assert "its judgments are of passages, the baseline's of documents" in message


def test_a_stored_run_is_judged_from_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where no settings are
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path))
    run = make_run(tmp_path, "mine", [1, 2, 4] * 20)
    accept(run, GateSettings().scored, tmp_path / "baselines")
    found = gate(run.manifest.id)
    assert found.found.verdict.verdict == found.json()["verdict"] == "pass"
    assert found.tables["measures"].loc["nDCG@10", "difference"] == 0
    assert found.tables["power"].loc["nDCG@10", ["wins", "ties", "losses"]].tolist() == [0, 60, 0]
    assert found.write(tmp_path / "shown").read_text().count("<h1>Gate: Pass") == 1


def test_what_changed_is_counted_by_queries_and_judgments():
    def keep(text, *gold):
        return KeptRanking(
            query=text, hits=1, gold=tuple(KeptGold(i, "span", 1, of, ()) for i, of in gold)
        )

    before = {"a": keep("A", ("d[0:4]", "x"), ("d[5:9]", "y")), "b": keep("B", ("e", "z"))}
    after = {"a": keep("A", ("d[2:6]", "x")), "b": keep("B2", ("e", "z2")), "c": keep("C")}
    assert describe_change(before, after) == (
        "queries: 1 added, 1 changed; judgments: 1 removed, 1 changed, 1 moved"
    )
    assert describe_change(before, before) == "documents or options"
