"""Measures per query, computed by ir-measures on joined rankings.

Names are ir-measures' (`nDCG@10`, `Success@3`, `RR@10`, `R@20`, `P@5`, `Judged@10`). Three more are
ours: because chunks differ in length, `Tokens@k`, the tokens of the first k chunks, and
`R@<n>tok`, recall within the chunks that fit into n tokens of a prompt; and `Empty`, 1 where
nothing is returned, which is right for a query that nothing answers.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eval.collections.collection import GoldItem
from eval.scoring.join import JoinedHit
from retrievers.base import AssayError, Chunk

DEFAULT = (
    "Success@1",
    "Success@3",
    "Success@5",
    "Success@10",
    "RR@10",
    "nDCG@10",
    "R@1",
    "R@5",
    "R@10",
    "R@20",
    "P@5",
    "Judged@10",
    "R@2000tok",
    "Tokens@10",
)
# Reports print the names people say beside those of ir-measures.
SPOKEN = {"Success": "Hit", "RR": "MRR", "R": "Recall", "P": "Precision"}

Joined = Mapping[str, Sequence[JoinedHit]]
Gold = Mapping[str, Sequence[GoldItem]]
Scores = dict[str, dict[str, float]]

BUDGETED_RECALL = re.compile(r"R@(\d+)tok")
TOKENS = re.compile(r"Tokens@(\d+)")
RECALL = re.compile(r"R@(\d+)")
EMPTY = "Empty"
TOKEN = re.compile(r"\w+|[^\w\s]")


def spoken(measure: str) -> str:
    """Return the name a report prints: Hit@k for Success@k, MRR@k for RR@k, and so on."""
    name, at, cutoff = measure.partition("@")
    return f"{SPOKEN.get(name, name)}{at}{cutoff}"


def find_name(measure: str) -> str:
    """Return ir-measures' name of a measure that is given by either: Success@k for Hit@k."""
    name, at, cutoff = measure.partition("@")
    names = {said: written for written, said in SPOKEN.items()}
    return f"{names.get(name, name)}{at}{cutoff}"


def count_tokens(chunk: Chunk) -> int:
    """Return the words and punctuation marks of a chunk with its title.

    It is what BERT's tokenizer splits before it splits words; sub-word tokenizers count about a
    third more. One rule for every pipeline, so that budgets compare.
    """
    return len(TOKEN.findall(chunk.title)) + len(TOKEN.findall(chunk.text))


def check_names(measures: Iterable[str]) -> None:
    """Raise AssayError unless every name is a measure that can be computed."""
    for name in measures:
        if name == EMPTY or BUDGETED_RECALL.fullmatch(name) or TOKENS.fullmatch(name):
            continue
        if not _is_supported(name):
            raise AssayError(
                f"measures: {name!r} is not a measure that can be computed here; allowed: what "
                "ir-measures names and supports, such as nDCG@10, Success@3, RR@10, R@20, P@5, AP, "
                "Judged@10; and R@2000tok, Tokens@10, Empty"
            )


def _is_supported(name: str) -> bool:
    import ir_measures

    providers: Any = ir_measures.DefaultPipeline
    try:
        return bool(providers.supports(ir_measures.parse_measure(name)))
    except (AssertionError, NameError, SyntaxError, ValueError):
        return False


def score(measures: Sequence[str], joined: Joined, gold: Gold) -> Scores:
    """Return {measure: {query id: score}} for every query of `gold`.

    A query whose ranking is empty scores 0 in every measure but `Empty`.
    """
    scores: Scores = {}
    plain = []
    for name in measures:
        if match := BUDGETED_RECALL.fullmatch(name):
            limits = {query: count_fitting(joined[query], int(match[1])) for query in gold}
            scores[name] = _recall(joined, gold, limits)
        elif match := TOKENS.fullmatch(name):
            scores[name] = {
                query: float(sum(count_tokens(hit.chunk) for hit in joined[query][: int(match[1])]))
                for query in gold
            }
        elif name == EMPTY:
            scores[name] = {query: float(not joined[query]) for query in gold}
        elif match := RECALL.fullmatch(name):
            scores[name] = _recall(joined, gold, dict.fromkeys(gold, int(match[1])))
        else:
            plain.append(name)
    scores |= _calculate(plain, qrels(joined, gold), run(joined))
    return {name: scores[name] for name in measures}


def run(joined: Joined) -> dict[str, dict[str, float]]:
    """Return the joined rankings as a run: {query id: {id: score}}, scores falling by 1 a rank.

    At each rank stands the id of the gold item that counts there, else the chunk's own. Scores
    are made from ranks, because evaluators break ties differently.
    """
    return {
        query: {_name(hit): float(len(hits) - at) for at, hit in enumerate(hits)}
        for query, hits in joined.items()
    }


def qrels(joined: Joined, gold: Gold) -> dict[str, dict[str, int]]:
    """Return the qrels for `run`: the gold items, and grade 0 for chunks judged but not counted."""
    judged = {
        query: {_name(hit): 0 for hit in joined[query] if hit.judged and not hit.found}
        for query in gold
    }
    return {
        query: judged[query] | {item.id: item.grade for item in items}
        for query, items in gold.items()
    }


def _name(hit: JoinedHit) -> str:
    return hit.found[0].id if hit.found else hit.chunk.id


def _recall(joined: Joined, gold: Gold, limits: Mapping[str, int]) -> dict[str, float]:
    """Return recall over the first `limits[query]` ranks, all items found at a rank counted."""
    found = {
        query: {item.id: 1.0 for hit in joined[query][:limit] for item in hit.found}
        for query, limit in limits.items()
    }
    deepest = max(map(len, found.values()), default=1) or 1
    grades = {query: {item.id: item.grade for item in items} for query, items in gold.items()}
    return _calculate([f"R@{deepest}"], grades, found)[f"R@{deepest}"]


def count_fitting(hits: Sequence[JoinedHit], budget: int) -> int:
    """Return how many of the first hits fit into `budget` tokens together."""
    total = 0
    for number, hit in enumerate(hits):
        total += count_tokens(hit.chunk)
        if total > budget:
            return number
    return len(hits)


def _calculate(
    names: Sequence[str], qrels: Mapping[str, dict[str, int]], run: Mapping[str, dict[str, float]]
) -> Scores:
    import ir_measures

    by_measure = {ir_measures.parse_measure(name): name for name in names}
    scores: Scores = {name: dict.fromkeys(qrels, 0.0) for name in names}
    # Some providers divide by the length of a ranking, so an empty one must not reach them.
    answered = {query: ranking for query, ranking in run.items() if ranking}
    if by_measure and answered:
        for row in ir_measures.iter_calc(list(by_measure), qrels, answered):
            scores[by_measure[row.measure]][row.query_id] = float(row.value)
    return scores
