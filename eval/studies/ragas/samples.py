"""Samples of a stored run for ragas: the first k hits of a query, and its gold."""

from dataclasses import dataclass

from assay.eval.runs import generated_answers
from assay.eval.runs.execution.searching import sample
from assay.eval.runs.stored import StoredRun
from assay.eval.scoring import calculation


@dataclass(frozen=True, slots=True)
class Sample:
    """The sample of one query for ragas.

    Attributes:
        query: The id of the query.
        text: The text of the query.
        ids: The ids that rank measures are computed on: at each of the first k ranks the gold item
            that counts there, else the chunk.
        contexts: The texts of the chunks.
        passages: The texts of the chunks below their titles.
        gold_ids: The ids of the relevant gold items.
        gold_contexts: The texts of the relevant gold items.
        answer: The reference answer; empty if the collection has none.
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
                answer=next(iter(generated_answers.list_references(query.metadata)), ""),
            )
        )
    return samples
