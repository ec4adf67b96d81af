"""Leaks: what a retriever shows to a query that its principal may not read."""

from collections.abc import Iterator

from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.permissions import find_allowed, find_readable
from assay.eval.runs.contract import name_retriever
from assay.retrievers.base import LeakError, Ranking, Retriever


def check_leaks(
    ranking: Ranking, collection: Collection, query: Query, retriever: Retriever
) -> None:
    """Raise LeakError for the first thing in `ranking` that the query may not find.

    Hits, their definitions and every other chunk that the trace names are looked at: a report
    shows them all.
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


def list_shown(ranking: Ranking) -> Iterator[tuple[str, str]]:
    """Yield the document of everything that a report shows of a ranking, and what it is."""
    for rank, hit in enumerate(ranking.hits, start=1):
        yield hit.chunk.doc_id, f"chunk {hit.chunk.id} at rank {rank}"
        for definition in hit.definitions:
            yield definition.doc_id, f"a definition of {definition.term}"
    for chunk in ranking.others:
        yield chunk.doc_id, f"chunk {chunk.id} in its trace"
