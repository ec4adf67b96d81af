"""Queries that nothing answers, in runs whose lists are known by hand."""

from dataclasses import replace

import pytest
from samples.planned_runs import Planned, make_collection

from assay.eval.report.run_page.page import write
from assay.eval.runs.execution.execution import RunSpec, execute
from assay.eval.runs.json_form import to_json
from assay.eval.runs.latency import LatencySettings
from assay.eval.runs.summary.summary import summarise
from assay.eval.runs.summary.unanswerable_queries import examine_answering, find_unanswered
from assay.retrievers.base import Quiet, Ranking, StageTrace

# Of queries 0 to 5 the last two have texts of grade 1 alone, where 2 answers.
GRADES = [2, 3, 2, 2, 1, 1]
# Of each query the best scores of a leg; None where it finds nothing.
SCORES = [[9, 1, 2], [5, 5], [4, 4], None, [4, 1], [1, 1]]
EMPTY = {3, 5}


class Scored(Planned):
    """Tells of a leg with planned scores, and returns nothing for some queries."""

    def search(self, query, k):
        i = int(query.split()[1])
        found = super().search(query, k)
        ids = [hit.chunk.id for hit in found.hits]
        listed = tuple(zip(ids, SCORES[i] or (), strict=False))
        hits = () if i in EMPTY else found.hits
        others = () if hits else tuple(hit.chunk for hit in found.hits)
        return Ranking(hits, (StageTrace("leg", "leg", 0.0, listed),), others)

    def metadata(self):
        return {"scores": [list(scores or ()) for scores in SCORES]}


def judge(queries):
    """Return a collection of some of the queries, the grade of whose only text is planned."""
    whole = make_collection(len(GRADES))
    card = whole.card.model_copy(update={"answering_grade": 2})
    gold = {
        f"q{i}": tuple(replace(item, grade=GRADES[i]) for item in whole.gold[f"q{i}"])
        for i in queries
    }
    kept = tuple(query for query in whole.queries if query.id in gold)
    return replace(whole, queries=kept, gold=gold, card=card)


def make(folder, queries=range(6)):
    plan = RunSpec("scored", {}, 100, None, LatencySettings(queries=0))
    return execute(plan, Scored([1] * 6), judge(queries), folder, Quiet()).run


def test_shares_and_areas_by_hand(tmp_path):
    run = make(tmp_path)
    assert find_unanswered(run) == {"q4", "q5"}
    found = examine_answering(run)
    assert (found.falsely_empty.value, found.falsely_empty.n) == (0.25, 4)
    assert (found.rightly_empty.value, found.rightly_empty.n) == (0.5, 2)
    best, margin = found.signals
    assert (best.words, margin.words) == ("leg, best", "leg, best − mean of 20")
    # 9, 5, 4 and nothing against 4 and 1.
    assert best.auc.value == (2 + 2 + 1.5 + 0) / 8
    # 5, 0, 0 and nothing against 1.5 and 0.
    assert margin.auc.value == (2 + 0.5 + 0.5 + 0) / 8
    assert found.best is best


def test_the_run_says_it(tmp_path):
    summary = summarise(make(tmp_path))
    assert any(each.startswith("Nothing answers 2 of 6 queries") for each in summary.cautions)
    figures = to_json(summary)["answering"]
    assert figures["unanswered"]["value"] == 0.5
    assert [item["step"] for item in figures["auc"]] == ["leg", "leg"]
    page = write(summary)
    text = page.read_text(encoding="utf-8")
    assert "How well each score separates" in text
    told = page.with_suffix(".md").read_text(encoding="utf-8")
    assert "| leg, best | 0.688 (" in told
    assert "| nothing returned, answered | 0.250 (" in told


@pytest.mark.parametrize(("queries", "shares"), [([4, 5], 1), ([0, 1, 2, 3], None)])
def test_queries_of_one_kind(tmp_path, queries, shares):
    summary = summarise(make(tmp_path, queries))
    found = summary.answering
    assert (found and len(found.rows)) == shares
    assert not (found and found.signals)
    assert not any("Nothing answers" in line for line in summary.cautions)
    text = write(summary).read_text(encoding="utf-8")
    assert ("Queries that nothing answers" in text) == bool(found)
    assert "How well each score separates" not in text
