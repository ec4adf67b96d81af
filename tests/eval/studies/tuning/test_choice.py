"""Choosing a pipeline: who chooses, who judges, and what is said of it."""

import json
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples.choices import make_choice, make_pipeline
from samples.claims import make_claims
from samples.planned_runs import make_collection

from assay.eval.configs.config import load_config
from assay.eval.configs.resources import make_resources
from assay.eval.report.renderers.frames import tabulate
from assay.eval.report.scatter import draw_scatter
from assay.eval.running.runner import PointTask, Runner
from assay.eval.running.study import Lab
from assay.eval.studies.comparison.query_groups import group
from assay.eval.studies.tuning.candidate_search import CandidateSearch, SplitCollection
from assay.eval.studies.tuning.candidates import (
    CHUNKER,
    CONTEXT,
    KEYWORD,
    MODE,
    SEMANTIC,
    Candidate,
    TextFacts,
    embeds,
    lay,
    list_stages,
    merge,
)
from assay.eval.studies.tuning.choice import Trial
from assay.eval.studies.tuning.choice_study import STUDY, report
from assay.eval.studies.tuning.choosing import ChoiceOptions, split_queries
from assay.retrievers.base import Quiet

HEADED = Candidate({CONTEXT: "headings", MODE: "hybrid"}, "context headings")


def share(collection, documents):
    """Return the collection with query i answered by the document at place `documents[i]`."""
    gold = {
        f"q{i}": tuple(
            replace(item, id=f"d{to}", doc_id=f"d{to}") for item in collection.gold[f"q{i}"]
        )
        for i, to in enumerate(documents)
    }
    return replace(collection, gold=gold)


@given(st.lists(st.integers(0, 11), min_size=30, max_size=90))
@settings(max_examples=60, deadline=None)
def test_halves_are_even_and_part_no_document_where_that_can_be(documents):
    collection = share(make_collection(len(documents)), documents)
    first, held, by = split_queries(collection.queries, collection)
    ids = [query.id for query in collection.queries]
    chosen, judged = ({query.id for query in half} for half in (first, held))
    assert chosen | judged == {*ids}
    assert not chosen & judged
    assert min(len(first), len(held)) >= len(documents) / 3
    groups = dict(zip(ids, group(collection.queries, collection, by), strict=True))
    assert not {groups[query] for query in chosen} & {groups[query] for query in judged}
    largest = max(map(documents.count, documents))
    assert by == "document" or largest > len(documents) / 3


def test_only_what_the_documents_allow_is_tried():
    bare = TextFacts(cut=False, parted=False, headed=False, shipped=False, unread=0)
    assert [name for name, tried in list_stages(bare, rerank=False) if tried] == [
        "look-ups",
        "fusion",
    ]
    full = TextFacts(cut=True, parted=True, headed=True, shipped=True, unread=3)
    stages = dict(list_stages(full, rerank=True))
    assert all(stages.values())
    sources = [item.point[CONTEXT] for item in stages["contexts"]]
    assert sources[::2] == ["collection", "headings", "opening", "opening+headings"]


def test_a_candidate_is_laid_on_others_in_place_of_that_of_its_stage():
    weighed = {"retriever.fusion.weights": {"dense": 2.0}}
    laid = lay({"contexts": HEADED}, "fusion", Candidate(weighed, "dense weight 2"))
    assert merge(laid) == {CONTEXT: "headings", **weighed}
    again = lay(laid, "contexts", Candidate({CONTEXT: "opening", MODE: "hybrid"}, "opening"))
    assert merge(again) == {CONTEXT: "opening", **weighed}
    assert [item.words for item in again.values()] == ["dense weight 2", "opening"]
    alone = lay({"legs": Candidate(KEYWORD, "BM25 alone")}, "contexts", HEADED)
    assert merge(alone) == {CONTEXT: "headings"}
    mode = {CONTEXT: "headings", MODE: "keyword"}
    assert merge(lay(laid, "contexts", Candidate(mode, "context headings of BM25 alone"))) == mode


def test_a_later_stage_has_the_last_word_whenever_it_was_laid():
    fusion = "fusion", Candidate({"retriever.fusion": {"type": "rrf"}}, "reciprocal rank fusion")
    boosts = "look-ups", Candidate({"retriever.fusion.boosts": {"exact": 10}}, "exact leg")
    for first, second in ((fusion, boosts), (boosts, fusion)):
        layers = lay(lay({}, *first), *second)
        assert list(merge(layers)) == ["retriever.fusion.boosts", "retriever.fusion"]


class TableRunner(Runner):
    """Scores every query alike, by a table of points."""

    def __init__(self, table):
        self.table = table

    def score_first(self, tasks, queries, what):
        means = [
            next((mean for point, mean in self.table if point == task.point), 0.1) for task in tasks
        ]
        return [{query.id: mean for query in queries} for mean in means]


def search(table, seconds=3600):
    """Search documents with headings, cut into chunks; points not in the table score .1."""
    collection, config = make_collection(30), load_config("hybrid")
    split = SplitCollection(
        config, lambda point: PointTask(point, config), collection, collection.queries, [], ""
    )
    runner, resources = TableRunner(table), make_resources()
    found = CandidateSearch([split], runner, "nDCG@10", seconds, None, resources)
    text = TextFacts(cut=True, parted=False, headed=True, shipped=False, unread=0)
    found.run(text)
    return found


CHUNKS = {CHUNKER: {"type": "structure", "overlap_tokens": 50, "max_tokens": 400}}
WEIGHED = {"retriever.fusion.weights": {"dense": 3.0}}


@pytest.mark.parametrize(
    ("leads", "best"), [(SEMANTIC, WEIGHED), (KEYWORD, {**KEYWORD, **CHUNKS})], ids=["both", "own"]
)
def test_where_a_leg_alone_leads_both_and_smaller_chunks_are_tried_on(leads, best):
    assert search([({}, 0.5), (leads, 0.6), (best, 0.7)]).best.point == best


def test_stages_are_gone_through_again_on_the_best():
    both = {CONTEXT: "headings", **WEIGHED}
    found = search([({}, 0.5), ({CONTEXT: "headings"}, 0.4), (WEIGHED, 0.6), (both, 0.7)])
    assert found.best.point == both
    assert found.best.steps == ("dense weight 3", "context headings")
    points = [item.point for item in found.trials]
    assert all(point not in points[:i] for i, point in enumerate(points))


def test_what_costs_nothing_is_tried_though_the_budget_is_used_up():
    found = search([({}, 0.5), ({CONTEXT: "headings"}, 0.9), (WEIGHED, 0.6)], seconds=0)
    assert found.best.point == WEIGHED
    left_out = [item for item in found.trials if item.left_out]
    assert {item.stage.split()[0] for item in left_out} == {"contexts", "chunks"}
    assert all(embeds(item.point) == bool(item.left_out) for item in found.trials)


@pytest.mark.parametrize(
    ("gain", "given", "ships", "told"),
    [
        (0.2, {}, True, "Ship hybrid with context headings: nDCG@10 is 0.500 against 0.400 for "
         "hybrid and 0.300 for BM25 alone; over hybrid +0.100, likely between "),
        (0.2, {}, True, "on 60 questions that had no part in the choice"),
        (0.2, {"bm25_below": -0.1}, True, "It is not shown to be better than BM25 alone, which "
         "costs least: 0.000, likely "),
        (0.2, {"bm25_below": -0.2}, True, "It is worse than BM25 alone, which costs least: −0.100"),
        (0.0, {}, False, "Keep hybrid: nothing is shown to be better. The best "),
        (0.0, {"point": {}}, False, "no candidate was better on the 60 questions of the choice"),
        (0.0, {"point": {}}, False, "for BM25 alone, +0.100"),
        (0.0, {"judged": 0, "point": {}}, False, "Keep hybrid. You have 20 questions; choosing "
         "needs 30. "),
        (0.0, {"judged": 0, "point": {}}, False, "That is hybrid, as given, with nDCG@10 0.600."),
    ],
)  # fmt: skip
def test_the_conclusion_of_a_choice(gain, given, ships, told):
    choice = make_choice(gain, **given)
    assert choice.ships == ships
    assert told in choice.conclusion
    assert choice.shipped == (choice.chosen if ships else choice.config)
    assert ("It is" in choice.conclusion) == ("bm25_below" in given)


def test_the_files_of_a_choice(tmp_path):
    path = tmp_path / "chosen.yaml"
    choice = make_choice(0.2)
    told = report(choice)
    asked = ChoiceOptions(config="hybrid", output=path)
    written = STUDY.write(choice, told, asked, Lab(Quiet()))
    files = list(written.files)
    assert [file.suffix for file in files] == [".yaml", ".json", ".html", ".md"]
    assert written.said == ""
    assert load_config(path).documents.context.source == "headings"
    assert load_config(path).description.startswith("Ship hybrid with context headings")
    page = files[2].read_text()
    assert choice.conclusion in unescape(page)
    assert "context headings" in page
    found = json.loads(files[1].read_text())
    assert found["means"] == {"best": 0.5, "base": 0.4, "bm25": 0.3}
    assert found["latency_p50_ms"] == {"best": 4.0, "base": 3.5, "bm25": 0.7}
    assert [item["mean"] for item in found["trials"]] == [0.5, 0.6]


def test_a_report_says_of_each_pipeline_how_good_and_how_fast_it_is():
    told = report(make_choice(0.2))
    assert told.verdict[0].startswith("Ship hybrid with context headings: ")
    assert told.verdict[1].startswith("Median time of a query, timed by turns: 4.00 ms ")
    judged = told.tables["judged"]
    assert judged.title == "On the 60 questions that had no part in the choice"
    frame = tabulate(judged)
    names = ["hybrid with context headings", "hybrid, as given", "BM25 alone"]
    assert frame.index.tolist() == names
    assert frame["mean_low"].tolist() == pytest.approx([0.45, 0.35, 0.25])
    assert frame["p50_ms"].tolist() == [4.0, 3.5, 0.7]
    assert frame["tokens"].tolist() == [800.0] * 3
    assert frame["ships"].tolist() == ["to ship", "", ""]
    assert frame["lead"].tolist()[1:] == pytest.approx([0.1, 0.2])
    assert "their intervals are simultaneous at 95 %" in judged.note
    drawn = draw_scatter(judged, judged.scatters[0])
    assert sorted(mark.number for mark in drawn.marks) == [1, 2, 3]
    tried = told.tables["tried"]
    assert tried.title == "What was tried, on the 60 questions of the choice"
    assert tabulate(tried)["led"].tolist() == ["led", "led"]
    assert not told.warnings


def test_unequal_texts_are_a_warning_and_what_was_left_out_stands_below_its_reason():
    choice = make_choice(0.2)
    long = {**choice.pipelines, "best": make_pipeline(0.5, 4.0, tokens=1600.0)}
    reason = "not tried: the budget was used up"
    more = [
        Trial("chunks", (f"chunks of {size} tokens",), {}, None, reason) for size in (400, 200, 400)
    ]
    told = report(replace(choice, pipelines=long, trials=(*choice.trials, *more)))
    (warning,) = told.warnings
    assert "1,600 tokens (hybrid with context headings), 800 (hybrid, as given) and" in warning
    (left_out,) = [block for block in told.blocks if block.title == "Left out"]
    texts = "chunks of 400 tokens, chunks of 200 tokens"
    assert left_out.pairs == [("Not tried: the budget was used up", texts)]
    assert len(told.tables["tried"].rows) == 2


def test_a_choice_is_judged_by_documents_that_had_no_part_in_it():
    """Half the documents judge what the other half chose: they are a share of the collection's."""
    whole = make_claims([f"q{i}" for i in range(120)], 3)
    held = whole.hold_out([f"q{i}" for i in range(60)])
    assert (held.leading, held.count, held.sampling.share) == ("documents", 20, 0.5)
    assert "This holds for documents like these" in held.sentence
    few = make_claims([f"q{i}" for i in range(120)], 20).hold_out([f"q{i}" for i in range(60)])
    assert few.sentence.startswith("Cannot tell beyond these documents: 60 questions on 3 doc")
    parted = make_claims([f"q{i}" for i in range(120)], 3, 0.1).hold_out(
        [f"q{i}" for i in range(0, 120, 2)], bound=True
    )
    assert parted.leading == "questions"
    assert "settings were chosen by questions on the same ones" in parted.sentence
    told = replace(make_choice(0.2), claims=few).conclusion
    assert few.sentence in told


def test_where_the_claims_differ_a_choice_says_both():
    shown, hidden = make_choice(0.2), make_choice(0.0)
    claims = make_claims([f"q{i}" for i in range(60)], 3)
    both = replace(shown, claims=claims, opposite=hidden.differences)
    assert both.conclusion.endswith("On documents like these that is not shown.")
    assert "not shown" not in shown.conclusion
