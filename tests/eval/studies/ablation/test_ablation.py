"""What ablation takes away with what, and what it says of the parts."""

from dataclasses import replace

import pytest
from samples.ablation import DENSE_PART, RERANK, make_ablation, observe, row
from samples.claims import make_claims

from assay.eval.configs.config import RunConfig
from assay.eval.report.files import write_blocks
from assay.eval.studies.ablation.running import caution, check, make_plan
from assay.eval.studies.ablation.study import report
from assay.eval.studies.ablation.variants import (
    Variant,
    list_parts,
    plan_removals,
)
from assay.eval.studies.ablation.weighing import judge, time_part, weigh

CLAIMS = make_claims([f"q{i}" for i in range(20)])
BM25 = {"type": "bm25"}
DENSE = {"type": "dense"}
CALIBRATE, DIVERSE = {"type": "calibrate"}, {"type": "mmr", "relevance": "score"}


def removals(retriever):
    parts = list_parts(retriever, retriever["legs"])
    return {item.part.name: item for item in plan_removals(retriever, parts, check)}


def along(item):
    return [part.name for part in item.along]


def hybrid(**over):
    return {
        "legs": {"dense": DENSE, "keyword": BM25, "exact": {"type": "exact"}},
        "fusion": {
            "type": "rrf",
            "k": 30,
            "weights": {"dense": 2.0, "exact": 0.5},
            "boosts": {"exact": 10.0},
        },
        "stages": [CALIBRATE, DIVERSE, {"type": "per_document", "limit": 2}],
        **over,
    }


def test_a_leg_goes_with_its_weight_and_boost():
    settings = removals(hybrid())["exact"].settings
    assert list(settings["legs"]) == ["dense", "keyword"]
    assert settings["fusion"] == {"type": "rrf", "k": 30, "weights": {"dense": 2.0}, "boosts": {}}
    assert settings["stages"] == hybrid()["stages"]


def test_calibration_takes_along_what_was_set_for_its_scores():
    found = removals(hybrid())
    assert along(found["calibrate"]) == ["mmr"]
    assert along(found["mmr"]) == []
    assert [item["type"] for item in found["calibrate"].settings["stages"]] == ["per_document"]


@pytest.mark.parametrize("leg", ["dense", "keyword"])
def test_a_single_leg_is_not_fused_and_not_calibrated(leg):
    """Cosines have a scale, yet the choice was set for calibrated scores: it goes too."""
    two = hybrid(legs={"dense": DENSE, "keyword": BM25}, fusion={"type": "rrf"})
    gone = removals(two)[leg]
    assert along(gone) == ["calibrate", "mmr"]
    assert gone.settings["fusion"] is None


def test_what_the_rest_needs_cannot_go_and_inactive_legs_are_no_parts():
    only = removals({"legs": {"keyword": BM25}})["keyword"]
    assert (only.settings, only.refusal) == (None, "nothing else searches")
    graph = {"legs": {"keyword": BM25, "links": {"type": "graph"}}, "fusion": {"type": "rrf"}}
    found = removals(graph)
    assert found["keyword"].settings is None
    assert "cannot come first" in found["keyword"].refusal
    assert found["links"].settings is not None
    parts = list_parts(hybrid(mode="semantic"), ["dense"])
    assert [part.name for part in parts if part.kind == "leg"] == ["dense"]
    gone = plan_removals(hybrid(mode="semantic"), parts, check)[0]
    assert "no leg is semantic" in gone.refusal


def test_of_two_equal_stages_one_goes():
    twice = hybrid(query=[{"type": "classify"}, {"type": "classify", "factual": 2.0}], stages=[])
    parts = list_parts(twice, twice["legs"])
    first, second = plan_removals(twice, parts, check)[:2]
    assert first.settings["query"] == twice["query"][1:]
    assert second.settings["query"] == twice["query"][:1]


def test_what_a_part_adds_is_with_minus_without():
    found = row(RERANK, 0.4, 0.6)
    (difference,) = found.differences
    assert difference.difference.value == pytest.approx(0.2)
    assert (found.changed, found.changed_top, found.queries) == (5, 5, 20)
    assert found.tokens == pytest.approx(20)
    assert found.total.value == pytest.approx(4.0)
    assert found.finding == "adds nDCG@10 +0.200; costs 4.9 ms"


def test_all_rows_are_one_family():
    pair = observe("a", 0.4, "x", 10.0), observe("b", 0.6, "y", 14.0)
    one = weigh(Variant(RERANK), [RERANK], pair, ["nDCG@10"])
    (single,) = judge([one], CLAIMS)
    several = list(judge([one] * 4, CLAIMS))
    p = single.differences[0].adjusted
    assert p is not None
    # Rows that move together cost one another nothing.
    assert [item.differences[0].adjusted for item in several] == pytest.approx([p] * 4)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (0, ""),
        (1, "adjusted for the 1 difference of all parts together"),
        (2, "adjusted for all 2 differences of all parts together (Westfall and Young)"),
    ],
)
@pytest.mark.parametrize("timed", [True, False])
def test_what_was_adjusted_and_what_was_timed_is_told(tmp_path, rows, words, timed):
    total = row(RERANK, 0.4, 0.6).total if timed else None
    found = make_ablation(replace(row(RERANK, 0.4, 0.6), total=total), rows)
    assert found.tests == rows
    write_blocks(found, report(found), tmp_path)
    for name in ("report.md", "report.html"):
        text = (tmp_path / name).read_text()
        assert f"randomisation test{', ' if words else ''}{words}" in text
        assert ("adjusted for" in text) == bool(words)
        assert "simultaneous" in text, "which the interval beside such a p-value is"
        assert ("pipelines were timed interleaved" in text) == (timed and rows > 0)
        assert ("Nothing was timed interleaved" in text) == (not timed or rows == 0)


def test_a_leg_costs_what_its_encoding_costs_too():
    latency = observe("a", 0.5, "x", 10.0).latency
    times = time_part(DENSE_PART, [DENSE_PART, RERANK], latency)
    assert (times.p50, times.n) == (9.0, 2)


def test_a_finding_that_a_few_large_losses_would_undo_is_warned_of():
    (line,) = caution([row(DENSE_PART, 0.5, 0.52), row(RERANK, 0.2, 0.9)])
    assert line.startswith("leg dense: the difference in nDCG@10 is fragile")


def test_how_documents_are_cut_and_put_in_context_are_parts():
    documents = {"chunker": {"type": "sections"}, "context": {"source": "opening"}}
    config = {"name": "mine", "dataset": "planned", "retriever": hybrid(), "documents": documents}
    plan = make_plan(RunConfig.model_validate(config), ("nDCG@10",), 20)
    assert [part.kind for part in plan.parts[:2]] == ["chunker", "context"]
    whole = plan.tasks["whole"].config.documents
    used = {name: task.config.documents for name, task in plan.tasks.items()}
    assert used["without chunker 1 sections"].context == whole.context
    assert used["without chunker 1 sections"].chunker != whole.chunker
    assert used["without context 1 opening"].chunker == whole.chunker
    assert used["without context 1 opening"].context != whole.context
    assert used["without leg 1 dense"] == whole


def test_parts_are_judged_by_the_claim_of_the_questions_and_the_other_is_told():
    """Ten documents of two questions each gain as much: shown by question, by few documents too."""
    pair = observe("a", 0.4, "x", 10.0), observe("b", 0.6, "y", 14.0)
    queries = list(pair[0].hits)
    for i, query in enumerate(queries):  # two documents of three gain, the others lose
        pair[1].scores["nDCG@10"][query] = pair[0].scores["nDCG@10"][query] + (
            0.3 if i // 5 != 3 else -0.1
        )
    one = weigh(Variant(RERANK), [RERANK], pair, ["nDCG@10"])
    (by_question,) = judge([one], make_claims(queries, 5))
    assert by_question.finding.startswith("adds nDCG@10 +0.200; on documents like these: nDCG@10 ")
    assert "nDCG@10 +0.200 not shown" in by_question.finding
    (alike,) = judge([one], make_claims(queries))
    assert alike.beside == ""
    assert alike.differences == by_question.differences
    found = make_ablation(by_question, 1)
    assert report(found).verdict[-1] == found.claims.sentence
