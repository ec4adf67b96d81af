"""Samples of a stored run for ragas: the first k hits of a query, and its gold."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.eval.runs import generated_answers
from assay.eval.runs.execution.searching import sample
from assay.eval.runs.stored import StoredRun
from assay.eval.scoring import calculation
from assay.retrievers.base import AssayError, Chunk


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
        response: The stored answer, empty if none was given; None if the judge writes one.
    """

    query: str
    text: str
    ids: tuple[str, ...]
    contexts: tuple[str, ...]
    passages: tuple[str, ...]
    gold_ids: tuple[str, ...]
    gold_contexts: tuple[str, ...]
    answer: str
    response: str | None = None


def make_answered_samples(run: StoredRun, limit: int | None = None) -> list[Sample]:
    """Return a sample of the stored answer and its context for each query, or for `limit` queries.

    Raises AssayError if the run has no answers.
    """
    id_ = run.manifest.id
    answers = generated_answers.read(run.folder)
    if answers is None:
        raise AssayError(f"--answers: {id_} has none; `assay answer {id_}` makes them")
    known = [query for query in run.queries.values() if query.id in answers.answers]
    samples = []
    for query in sample(tuple(known), limit):
        given = answers.answers[query.id]
        chunks = [hit.chunk for hit in run.rankings[query.id].hits]
        try:
            shown = [_find_text(chunks, span) for span in given.context]
        except ValueError:
            raise AssayError(
                f"{run.folder / generated_answers.FILE}: query {query.id}: its context is not of "
                f"this run's hits; `assay answer {id_}` makes answers again"
            ) from None
        references = generated_answers.list_references(query.metadata)
        samples.append(
            Sample(
                query=query.id,
                text=query.text,
                ids=(),
                contexts=tuple(text for _, text in shown),
                passages=tuple(f"{title}\n{text}" if title else text for title, text in shown),
                gold_ids=(),
                gold_contexts=(),
                answer=references[0] if references else "",
                response=given.answer,
            )
        )
    return samples


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


def _find_text(chunks: Sequence[Chunk], span: generated_answers.Span) -> tuple[str, str]:
    """Return the title and the text of a span of a prompt: a chunk, or its beginning.

    Raises ValueError if no chunk begins there.
    """
    _, document, start, end = span
    there = (item for item in chunks if (item.doc_id, item.start) == (document, start))
    chunk = max(there, key=lambda item: item.end)
    return chunk.title, chunk.text if chunk.end == end else chunk.text[: end - start]
