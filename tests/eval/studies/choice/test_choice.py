"""Choosing a pipeline: who chooses, who judges, and what is said of it."""

from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples.planned_runs import make_collection

from assay.eval.collections.collection import Collection
from assay.eval.configs.config import load_config
from assay.eval.studies.choice.candidates import (
    CONTEXT,
    KEYWORD,
    MODE,
    Candidate,
    TextFacts,
    list_stages,
)
from assay.eval.studies.choice.choice import Choice, Trial
from assay.eval.studies.choice.page import write
from assay.eval.studies.choice.running import split_queries
from assay.eval.studies.comparison.differences import Contrast, judge_family
from assay.eval.studies.comparison.query_groups import group

HEADED = Candidate({CONTEXT: "headings", MODE: "hybrid"}, "context headings")


def share(collection: Collection, documents: list[int]) -> Collection:
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
def test_halves_are_even_and_part_no_document_where_that_can_be(documents: list[int]) -> None:
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


def test_few_questions_all_choose() -> None:
    collection = make_collection(29)
    assert split_queries(collection.queries, collection) == ([*collection.queries], [], "")


def test_only_what_the_documents_allow_is_tried() -> None:
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


def test_a_candidate_is_laid_on_the_best_before() -> None:
    laid = Candidate({"retriever.fusion.weights": {"dense": 2.0}}, "dense weight 2").lay_on(
        {CONTEXT: "headings"}, ("context headings",)
    )
    assert laid.point == {CONTEXT: "headings", "retriever.fusion.weights": {"dense": 2.0}}
    assert laid.steps == ("context headings", "dense weight 2")
    assert HEADED.lay_on(KEYWORD, ("BM25 alone",)).point == {CONTEXT: "headings"}
    assert HEADED.lay_on(KEYWORD, ("BM25 alone",)).steps == ("context headings",)


def make_choice(
    gain: float, judged: int = 60, point: dict[str, Any] | None = None, bm25_below: float = 0.1
) -> Choice:
    """Return a choice whose best gains `gain` on every second query, and more over BM25."""
    config = load_config("hybrid")
    point = {CONTEXT: "headings"} if point is None else point
    best = Trial("contexts", ("context headings",) if point else (), point, 0.6)
    before = {f"q{i}": 0.4 + 0.001 * i for i in range(judged)}
    after = {query: score + gain * (i % 2) for i, (query, score) in enumerate(before.items())}
    bm25 = {query: score - bm25_below for query, score in before.items()}
    contrasts = {
        name: Contrast("nDCG@10", "", other, after)
        for name, other in (("base", before), ("bm25", bm25))
        if judged and (name == "bm25" or point)
    }
    found = judge_family([*contrasts.values()]) if contrasts else []
    return Choice(
        config=config,
        chosen=load_config("hybrid", [f"{key}={value}" for key, value in point.items()]),
        measure="nDCG@10",
        trials=(Trial("legs", (), {}, 0.5), best),
        best=best,
        chosen_on=60 if judged else 20,
        judged=judged,
        grouped_by="document",
        means={"best": 0.5, "base": 0.4, "bm25": 0.3},
        differences=dict(zip(contrasts, found, strict=True)),
        latency={"best": 4.0, "base": 3.5, "bm25": 0.7},
    )


def test_a_winner_is_shown_on_questions_that_did_not_choose_it() -> None:
    shown = make_choice(0.2)
    assert shown.ships
    assert shown.conclusion.startswith(
        "Ship hybrid with context headings: nDCG@10 is 0.500 against 0.400 for hybrid and 0.300 "
        "for BM25 alone, +0.100 (95 % simultaneous interval "
    )
    assert "on 60 questions that had no part in the choice" in shown.conclusion
    assert shown.shipped.documents.context.source == "headings"


@pytest.mark.parametrize(
    ("bm25_below", "told"),
    [
        (-0.1, "It is not shown to be better than BM25 alone, which costs least: 0.000 (95 % "),
        (-0.2, "It is worse than BM25 alone, which costs least: −0.100 (95 % simultaneous "),
    ],
)
def test_a_winner_that_does_not_beat_bm25_says_so(bm25_below: float, told: str) -> None:
    shown = make_choice(0.2, bm25_below=bm25_below)
    assert shown.ships
    assert told in shown.conclusion
    assert "It is" not in make_choice(0.2).conclusion


def test_without_a_shown_gain_the_config_is_kept() -> None:
    kept = make_choice(0.0004)
    assert kept.conclusion.startswith("Keep hybrid: nothing is shown to be better. ") or kept.ships
    kept = make_choice(0.0)
    assert not kept.ships
    assert kept.conclusion.startswith("Keep hybrid: nothing is shown to be better. The best ")
    assert kept.shipped == kept.config
    same = make_choice(0.0, point={})
    assert "no candidate was better on the 60 questions of the choice" in same.conclusion
    assert "for BM25 alone, +0.100" in same.conclusion


def test_nothing_is_shipped_without_held_out_questions() -> None:
    few = make_choice(0.2, judged=0)
    assert not few.ships
    assert few.conclusion.startswith("Keep hybrid: 20 questions are too few to choose by and ")


def test_the_files_of_a_choice(tmp_path: Path) -> None:
    path = tmp_path / "chosen.yaml"
    choice = make_choice(0.2)
    files, word = write(choice, "hybrid", "0" * 32, path, named=True, force=False)
    assert [file.suffix for file in files] == [".yaml", ".json", ".html"]
    assert word == ""
    assert load_config(path).documents.context.source == "headings"
    assert load_config(path).description.startswith("Ship hybrid with context headings")
    page = files[2].read_text()
    assert choice.conclusion in unescape(page)
    assert "context headings" in page


@pytest.mark.parametrize("steps", [("BM25 alone",), ("dense alone",)])
def test_a_leg_alone_is_called_by_its_name(steps: tuple[str, ...]) -> None:
    choice = make_choice(0.2)
    alone = Trial("legs", steps, KEYWORD, 0.7)
    named = Choice(
        **{**{k: getattr(choice, k) for k in choice.__dataclass_fields__}, "best": alone}
    )
    assert named.name == steps[0]
