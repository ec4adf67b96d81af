"""What ragas is shown of a stored run: the first k hits of a query, and its gold."""

from dataclasses import dataclass
from typing import Any

from eval.runs.execution import sample
from eval.runs.stored import StoredRun
from eval.scoring import calculation


@dataclass(frozen=True, slots=True)
class Sample:
    """One query as ragas sees it.

    `ids` are those the rank measures are computed on: at each of the first k places the gold item
    that counts there, else the chunk. `contexts` are the chunks as they stand in their documents,
    `passages` the same below their titles. `answer` is the reference answer, empty where the
    collection has none.
    """

    query: str
    text: str
    ids: tuple[str, ...]
    contexts: tuple[str, ...]
    passages: tuple[str, ...]
    gold_ids: tuple[str, ...]
    gold_contexts: tuple[str, ...]
    answer: str


def make_samples(run: StoredRun, k: int, limit: int | None = None) -> list[Sample]:
    """Return a sample of the first `k` hits for each query, or for `limit` evenly spaced ones."""
    queries = sample(tuple(run.queries.values()), limit)
    joined = {query.id: run.joined[query.id][:k] for query in queries}
    ids = calculation.run(joined)
    samples = []
    for query in queries:
        hits = joined[query.id]
        gold = [item.id for item in run.gold[query.id] if item.grade > 0]
        samples.append(
            Sample(
                query=query.id,
                text=query.text,
                ids=tuple(ids[query.id])[:k],
                contexts=tuple(hit.chunk.text for hit in hits),
                passages=tuple(
                    f"{hit.chunk.title}\n{hit.chunk.text}" if hit.chunk.title else hit.chunk.text
                    for hit in hits
                ),
                gold_ids=tuple(gold),
                gold_contexts=tuple(run.gold_texts[id_] for id_ in gold),
                answer=_text(query.metadata.get("answer")),
            )
        )
    return samples


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
