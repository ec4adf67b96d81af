"""Leaks: texts that a retriever shows to a query though its principal may not read them."""

from collections.abc import Collection as Names
from collections.abc import Iterator

from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.permissions import find_allowed, find_readable
from assay.eval.collections.word_readers import find_words
from assay.eval.runs.contract import name_retriever
from assay.retrievers.base import Chunk, LeakError, Ranking, Retriever


def check_leaks(
    ranking: Ranking, collection: Collection, query: Query, retriever: Retriever
) -> None:
    """Raise LeakError for the first thing in `ranking` that the query may not find.

    Hits, their definitions and every other chunk that the trace names are checked: a report shows
    them all. Texts that plugged-in parts generate must not have a word that is only in documents
    which the principal may not read. The error does not repeat it.
    """
    name = name_retriever(retriever)
    readable = find_readable(collection.card, query.principal)
    allowed = find_allowed(collection.card, query)
    for doc_id, what in list_shown(ranking):
        # A document that is not there has no metadata, and so nobody may read it.
        document = collection.by_id.get(doc_id)
        metadata = document.metadata if document else {}
        if readable is not None and not readable.matches(metadata):
            raise LeakError(
                f"{name}: leak: query {query.id} shows {what} of document {doc_id}, which "
                f"principal {query.principal} may not read; no score is given until none is shown"
            )
        if allowed is not None and not allowed.matches(metadata):
            raise LeakError(
                f"{name}: query {query.id} shows {what} of document {doc_id}, which its "
                "filter leaves out; no score is given until none is shown"
            )
    foreign = retriever.list_foreign()
    if readable is None or (foreign is not None and not foreign):
        return
    groups, said = collection.card.principals[query.principal], find_words(query.text)
    for text, where in _list_words(ranking, foreign):
        if collection.word_readers.hides(text, groups, said):
            raise LeakError(
                f"{name}: leak: query {query.id} shows a word in {where} that only documents hold "
                f"which principal {query.principal} may not read; no score is given until none is "
                "shown"
            )


def list_shown(ranking: Ranking) -> Iterator[tuple[str, str]]:
    """Yield the document of everything that a report shows of a ranking, and its description."""
    for rank, hit in enumerate(ranking.hits, start=1):
        yield hit.chunk.doc_id, f"chunk {hit.chunk.id} at rank {rank}"
        for definition in hit.definitions:
            yield definition.doc_id, f"a definition of {definition.term}"
    for chunk in ranking.others:
        yield chunk.doc_id, f"chunk {chunk.id} in its trace"


def _list_words(ranking: Ranking, foreign: Names[str] | None) -> Iterator[tuple[str, str]]:
    """Yield the texts of `foreign` entries of the trace, or of all, each with its place."""
    for number, step in enumerate(ranking.trace, start=1):
        if foreign is None or step.name in foreign:
            yield step.name, f"the name of step {number}"
            yield step.note, f"the note of step {number}"
            yield " ".join(step.counts), f"the counts of step {number}"
    for line in ranking.degraded:
        yield line, "what it says of its faults"
    for rank, hit in enumerate(ranking.hits, start=1):
        yield from _list_fields(hit.chunk, f"rank {rank}")
        yield " ".join(hit.legs), f"the legs of rank {rank}"
        for definition in hit.definitions:
            texts = (definition.term, definition.text, *definition.exceptions)
            yield " ".join(texts), f"a definition at rank {rank}"
    for chunk in ranking.others:
        yield from _list_fields(chunk, "a chunk in its trace")
        yield chunk.text, "the text of a chunk in its trace"


def _list_fields(chunk: Chunk, where: str) -> Iterator[tuple[str, str]]:
    yield " ".join((chunk.title, *chunk.headings)), f"the title or the headings of {where}"
    yield chunk.context, f"the context of {where}"
    yield " ".join((chunk.id, chunk.section_id, *chunk.anchors)), f"the ids of {where}"
