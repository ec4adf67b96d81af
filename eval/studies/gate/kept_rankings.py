"""The rankings in a baseline, reduced to the ranks at which each judged text was found.

Measures of rankings need no more, so that the same rankings can be scored again by other judgments,
years after the run and its documents are gone.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from assay.eval.collections.collection import GoldItem
from assay.eval.runs.stored import StoredRun
from assay.eval.scoring import measures
from assay.eval.scoring.join import JoinedHit, RetrievedChunk, count_hit, covers
from assay.eval.scoring.kinds import Recall
from assay.eval.scoring.standard import TrecMeasure
from assay.retrievers.base import Chunk
from assay.retrievers.store.digest import digest

Unit = Literal["span", "document", "passage"]
SHORT = 12  # hexadecimal digits of a text's digest
Scores = dict[str, dict[str, float]]  # by query id and measure


class KeptGold(NamedTuple):
    """A judgment: its item, grade, the digest of its text, and the ranks of hits that cover it.

    The digest is "" for an item that is not relevant, as its text is not stored with a run.
    """

    id: str
    unit: Unit
    grade: int
    text: str
    ranks: tuple[int, ...]


class KeptRanking(BaseModel):
    """The ranking of one query: the digest of its text, the number of hits, its judgments."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    query: str
    hits: int
    gold: tuple[KeptGold, ...]


Kept = Mapping[str, KeptRanking]
Pairs = Sequence[tuple[int, int]]  # places of the same judgment in two rankings of a query


def keep_rankings(run: StoredRun) -> dict[str, KeptRanking]:
    """Return the rankings of `run` in the kept form, by query id."""
    return {id_: _keep(run, id_) for id_ in run.queries}


def _keep(run: StoredRun, query: str) -> KeptRanking:
    numbers = run.joined.list_numbers(query)
    by_document: dict[str, list[tuple[int, RetrievedChunk]]] = {}
    for rank, chunk in enumerate(map(run.lists.chunks.__getitem__, numbers), start=1):
        retrieved = RetrievedChunk(chunk, chunk.id in run.prescribed)
        by_document.setdefault(chunk.doc_id, []).append((rank, retrieved))
    gold = []
    for item in run.gold[query]:
        text = run.gold_texts.get(item.id)
        ranks = (rank for rank, hit in by_document.get(item.doc_id, ()) if covers(hit, item))
        short = "" if text is None or item.grade <= 0 else digest(text)[:SHORT]
        gold.append(KeptGold(item.id, _find_unit(item), item.grade, short, tuple(ranks)))
    text = digest(run.queries[query].text)[:SHORT]
    return KeptRanking(query=text, hits=len(numbers), gold=tuple(gold))


def _find_unit(item: GoldItem) -> Unit:
    if item.passage_id:
        return "passage"
    return "document" if item.id == item.doc_id else "span"


def list_common(before: Kept, after: Kept) -> list[str]:
    """Return the ids of the queries that both have with the same text."""
    return [id_ for id_ in after if id_ in before and before[id_].query == after[id_].query]


def pair_judgments(before: KeptRanking, after: KeptRanking) -> list[tuple[int, int]]:
    """Return the places, before and after, of the judgments that both have.

    Spans are the same if their texts are, at any place of any document. Documents, and prescribed
    passages, are the same if their ids are, else if their texts are.
    """
    pairs = []
    left = dict(enumerate(after.gold))
    waiting = []
    for i, item in enumerate(before.gold):
        same = (
            j
            for j, other in left.items()
            if other.id == item.id
            and other.unit == item.unit
            and (item.unit != "span" or other.text == item.text)
        )
        if (j := next(same, None)) is None:
            waiting.append((i, item))
        else:
            pairs.append((i, j))
            del left[j]
    for i, item in waiting:
        same = (
            j
            for j, other in left.items()
            if item.text and other.text == item.text and other.unit == item.unit
        )
        if (j := next(same, None)) is not None:
            pairs.append((i, j))
            del left[j]
    return pairs


def can_rescore(measure: str) -> bool:
    """Return True if a measure needs only kept rankings: no texts of hits, no answers."""
    found = measures.find(measure)
    within_tokens = found.budget is not None
    return isinstance(found, TrecMeasure) or (isinstance(found, Recall) and not within_tokens)


def rescore(kept: Kept, grades: Mapping[str, Mapping[int, int]], names: Sequence[str]) -> Scores:
    """Return the scores of rankings by some of their judgments.

    Args:
        kept: The rankings by query id.
        grades: By query id, the grade of each judgment that counts, by its place among the kept.
        names: Measures for which `can_rescore` holds.

    Returns:
        The scores of every query of `grades`; 0 if no judgment counts.
    """
    joined: dict[str, list[JoinedHit]] = {}
    gold: dict[str, tuple[GoldItem, ...]] = {}
    for query, counting in grades.items():
        if counting:
            items = {i: GoldItem(query, str(i), "", 0, 0, grade) for i, grade in counting.items()}
            gold[query] = tuple(items.values())
            joined[query] = _join(kept[query], items)
    found = measures.score(names, joined, gold) if gold else {}
    return {
        query: {name: found[name][query] if query in gold else 0.0 for name in names}
        for query in grades
    }


def _join(kept: KeptRanking, items: Mapping[int, GoldItem]) -> list[JoinedHit]:
    covered: dict[int, list[GoldItem]] = {}
    for i, item in items.items():
        for rank in kept.gold[i].ranks:
            covered.setdefault(rank, []).append(item)
    counted: set[str] = set()
    return [
        count_hit(Chunk(f"rank {rank}", "", 0, 0, ""), covered.get(rank, ()), counted)
        for rank in range(1, kept.hits + 1)
    ]
