"""Scores of joined rankings: those that ir-measures computes, and those that it cannot.

ir-measures sees a TREC run and qrels, made of the joined rankings by `run` and `qrels`, with one
gold item a place. Ours is what gdeval computes, which ir-measures hands to a Perl script that knows
numbered queries only.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring.join import JoinedHit, fill_places
from assay.retrievers.base import AssayError, Chunk

Joined = Mapping[str, Sequence[JoinedHit]]
Gold = Mapping[str, Sequence[GoldItem]]
ByQuery = dict[str, float]
Scores = dict[str, ByQuery]
Run = Mapping[str, dict[str, float]]
Qrels = Mapping[str, dict[str, int]]

TOKEN = re.compile(r"\w+|[^\w\s]")
HIGHEST = 4  # the highest grade gdeval knows
MOST = 1_000_000  # the highest grade for which trec_eval, which lists all below it, is fast


@lru_cache(maxsize=2**15)
def count_tokens(chunk: Chunk) -> int:
    """Return the words and punctuation marks of a chunk with its title.

    It is what BERT's tokenizer splits before it splits words; sub-word tokenizers count about a
    third more. One rule for every pipeline, so that budgets compare.
    """
    return len(TOKEN.findall(chunk.title)) + len(TOKEN.findall(chunk.text))


def count_fitting(hits: Sequence[JoinedHit], budget: int) -> int:
    """Return the number of first hits that together fit into `budget` tokens."""
    total = 0
    for number, hit in enumerate(hits):
        total += count_tokens(hit.chunk)
        if total > budget:
            return number
    return len(hits)


def run(joined: Joined) -> Run:
    """Return the joined rankings as a run: {query id: {id: score}}, scores falling by 1 a place.

    Scores are made from places, because evaluators break ties differently.
    """
    return {
        query: score_places(place.id for place in fill_places(hits))
        for query, hits in joined.items()
    }


def run_of_hits(joined: Joined) -> Run:
    """Return the joined rankings as a run in which each hit counts once.

    At each rank stands the best gold item that counts there, else the chunk itself.
    """
    return {query: score_places(map(_name, hits)) for query, hits in joined.items()}


def score_places(ids: Iterable[str]) -> dict[str, float]:
    """Return {id: score} with scores that fall by 1 a place, to 1 at the last."""
    listed = list(ids)
    return {id_: float(len(listed) - i) for i, id_ in enumerate(listed)}


def qrels(joined: Joined, gold: Gold) -> Qrels:
    """Return the qrels for both runs: the gold items, and 0 for chunks judged but not counted."""
    judged = {
        query: {_name(hit): 0 for hit in joined[query] if hit.judged and not hit.found}
        for query in gold
    }
    return {
        query: judged[query] | {item.id: item.grade for item in items}
        for query, items in gold.items()
    }


def _name(hit: JoinedHit) -> str:
    return hit.found[0].id if hit.found else hit.name


def count_found(stem: str, qrels: Qrels, found: Run) -> ByQuery:
    """Return the recall that ir-measures calls `stem`, without its cutoff, of a whole run."""
    deepest = max(map(len, found.values()), default=1) or 1
    return compute_alone(f"{stem}@{deepest}", qrels, found)


def expected_reciprocal_rank(cutoff: int | None, qrels: Qrels, run: Run) -> ByQuery:
    """Return the expected reciprocal rank, as gdeval computes it.

    It is the mean of 1 / rank at which a reader stops, who is satisfied by a hit of grade g with
    the chance (2^g - 1) / 2^4. Raises AssayError for grades above 4.
    """
    _refuse_grades_above(HIGHEST, "ERR", qrels)
    scores = dict.fromkeys(qrels, 0.0)
    for query, grades in qrels.items():
        unsatisfied = 1.0
        ranking = run.get(query, {})
        ordered = sorted(ranking, key=lambda id_: -ranking[id_])
        for rank, id_ in enumerate(ordered[:cutoff], start=1):
            satisfied = (2 ** max(grades.get(id_, 0), 0) - 1) / 2**HIGHEST
            scores[query] += unsatisfied * satisfied / rank
            unsatisfied *= 1 - satisfied
    return scores


def exponential_ndcg(name: str, qrels: Qrels, run: Run) -> ByQuery:
    """Return the nDCG that ir-measures calls `name`, with gains of 2^g - 1 for a grade g.

    Raises AssayError for grades above 16, whose gains trec_eval has no room for.
    """
    _refuse_grades_above(16, "nDCG(dcg='exp-log2')", qrels)
    raised = {
        query: {id_: 2 ** max(grade, 0) - 1 for id_, grade in grades.items()}
        for query, grades in qrels.items()
    }
    return calculate([name], raised, run)[name]


def _refuse_grades_above(highest: int, name: str, qrels: Qrels) -> None:
    for query, grades in qrels.items():
        if above := [grade for grade in grades.values() if grade > highest]:
            raise AssayError(
                f"measures: {name}: query {query} has a judgment of grade {above[0]:,}; "
                f"allowed: up to {highest:,}"
            )


def compute_alone(name: str, qrels: Qrels, run: Run) -> ByQuery:
    """Return the scores that ir-measures computes for `name`, in a separate call.

    With several measures in a call it mixes up their grades or options.
    """
    return calculate([name], qrels, run)[name]


def calculate(names: Sequence[str], qrels: Qrels, run: Run) -> Scores:
    """Return the scores that ir-measures computes; a query whose ranking is empty scores 0.

    Raises AssayError for a grade above 1,000,000.
    """
    import ir_measures

    _refuse_grades_above(MOST, ", ".join(names), qrels)
    deepest = max([1, *map(len, run.values()), *map(len, qrels.values())])
    by_measure: dict[Any, str] = {}
    for name in names:
        measure: Any = ir_measures.parse_measure(name)
        # The time that trec_eval takes for nDCG grows with the square of the grade, but not with a
        # cutoff.
        whole = measure.NAME == "nDCG" and "cutoff" not in measure.params
        by_measure[measure(cutoff=deepest) if whole else measure] = name
    scores: Scores = {name: dict.fromkeys(qrels, 0.0) for name in names}
    # Some providers divide by the length of a ranking, so an empty one must not reach them.
    answered = {query: ranking for query, ranking in run.items() if ranking}
    if by_measure and answered:
        safe = _make_safe(qrels, answered)
        for row in ir_measures.iter_calc(list(by_measure), safe, answered):
            scores[by_measure[row.measure]][row.query_id] = float(row.value)
    return scores


def _make_safe(qrels: Qrels, run: Run) -> Qrels:
    """Return the qrels; a query with only negative grades gets one more, of 0, that is not ranked.

    pytrec_eval counts the grades of a query in an array from 0 to the highest grade, and ends the
    process if that is below 0. An item that is neither relevant nor found changes no measure.
    """
    return {
        query: {**grades, max([*grades, *run.get(query, ())]) + "+": 0}
        if grades and max(grades.values()) < 0
        else grades
        for query, grades in qrels.items()
    }
