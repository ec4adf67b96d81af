"""Leaks: what a retriever shows to a query that its principal may not read."""

from collections.abc import Iterator

from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.permissions import find_allowed, find_readable
from assay.retrievers.base import LeakError, Ranking


def check_leaks(ranking: Ranking, collection: Collection, query: Query, retriever: str) -> None:
    """Raise LeakError for the first chunk that `ranking` names and the query may not find.

    Hits, their definitions and every other chunk that the trace names are looked at: a report shows
    them all.
    """
    readable = find_readable(collection.card, query.principal)
    allowed = find_allowed(collection.card, query)
    for doc_id, what in _list_shown(ranking):
        # A document that is not there has no metadata, and so nobody may read it.
        document = collection.by_id.get(doc_id)
        metadata = document.metadata if document else {}
        if readable is not None and not readable.matches(metadata):
            raise LeakError(
                f"{retriever}: leak: query {query.id} shows {what} of document {doc_id}, which "
                f"principal {query.principal} may not read; no score is given until none is shown"
            )
        if allowed is not None and not allowed.matches(metadata):
            raise LeakError(
                f"{retriever}: query {query.id} shows {what} of document {doc_id}, which its "
                "filter leaves out; no score is given until none is shown"
            )


def _list_shown(ranking: Ranking) -> Iterator[tuple[str, str]]:
    for rank, hit in enumerate(ranking.hits, start=1):
        yield hit.chunk.doc_id, f"chunk {hit.chunk.id} at rank {rank}"
        for definition in hit.definitions:
            yield definition.doc_id, f"a definition of {definition.term}"
    for chunk in ranking.others:
        yield chunk.doc_id, f"chunk {chunk.id} in its trace"
