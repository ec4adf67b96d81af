"""The contract of a retriever, checked on every ranking: one that breaks it is not scored.

`assay.retrievers.conformance` tests a retriever on all rules; this module has those that a single
ranking can break, and that would make its scores meaningless.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from assay.retrievers.base import AssayError, Chunk, Hit, IndexReport, Ranking, Retriever
from assay.retrievers.store.lazy_sequence import ById

MOST_VALIDATED = 1 << 16  # chunks


@contextmanager
def naming(what: str, always: bool = False) -> Iterator[None]:
    """Turn any error of a user's code into an AssayError that says where it happened.

    An AssayError is left as it is, unless `always`.
    """
    try:
        yield
    except AssayError as error:
        if not always:
            raise
        raise AssayError(f"{what}: {error}") from error
    except Exception as error:
        reason = " ".join(str(error).split())
        raise AssayError(f"{what}: {type(error).__name__}: {reason}") from error


def check_index(report: object, retriever: Retriever) -> IndexReport:
    """Return the report of indexing. Raises AssayError if it is no IndexReport."""
    if not isinstance(report, IndexReport):
        raise AssayError(
            f"{name_retriever(retriever)}: index returned {_kind(report)}; "
            "it must return assay.retrievers.base.IndexReport(chunks=…): how many chunks it indexed"
        )
    return report


def check_ranking(
    found: object,
    retriever: Retriever,
    query_id: str,
    k: int,
    texts: Mapping[str, str],
    validated: dict[int, Chunk],
) -> Ranking:
    """Return the checked ranking of a search for `k` hits; `texts` are the documents' by id.

    `validated` has the chunks that were found to match their documents, by Python's `id`; new ones
    are added to it.

    The order of its hits is kept, whatever their scores. Raises AssayError naming the query, the
    rank and the fault: more than k hits, a score that is no number, a chunk that is repeated, is of
    an unknown document, ends past its document, or differs from its document's text.
    """
    where = f"{name_retriever(retriever)}: query {query_id}"
    if not isinstance(found, Ranking):
        raise AssayError(
            f"{where}: search returned {_kind(found)}, not an assay.retrievers.base.Ranking"
        )
    if len(found.hits) > k:
        raise AssayError(f"{where}: {len(found.hits)} hits were returned, {k} were asked for")
    plain, ranks = _are_plain(found.hits), dict[str, int]()
    for rank, hit in enumerate(found.hits, start=1):
        fault = "" if plain else _find_fault(hit, rank, ranks)
        if not fault and id(hit.chunk) not in validated:
            fault = _find_fault_in(hit.chunk, texts, validated)
        if fault:
            raise AssayError(f"{where}: rank {rank}: {fault}")
    return found


def _are_plain(hits: Sequence[Hit]) -> bool:
    """Return True if all hits are usual and break no rule, apart from the content of their chunks.

    Checking hit by hit takes four times as long.
    """
    if not set(map(type, hits)) <= {Hit}:
        return False
    scores = [hit.score for hit in hits]
    return (
        {type(hit.chunk) for hit in hits} <= {Chunk}
        and len({hit.chunk.id for hit in hits}) == len(hits)
        and set(map(type, scores)) <= {float}
        and all(map(math.isfinite, scores))
    )


def _find_fault(hit: object, rank: int, ranks: dict[str, int]) -> str:
    """Return the fault of a hit in words; its chunk is added to `ranks`, those of earlier hits."""
    if not isinstance(hit, Hit) or not isinstance(hit.chunk, Chunk):
        return f"{_kind(hit)}, not a Hit with a Chunk"
    told: object = hit.score
    if not isinstance(told, float | int):
        return f"the score {told!r} is {_kind(told)}, not a float"
    if not math.isfinite(hit.score):
        return f"the score {hit.score} is not finite"
    first = ranks.setdefault(hit.chunk.id, rank)
    return "" if first == rank else f"the chunk {hit.chunk.id} stands at rank {first} already"


def _find_fault_in(chunk: Chunk, texts: Mapping[str, str], validated: dict[int, Chunk]) -> str:
    """Return how a chunk differs from its document, in words; add a valid one to `validated`."""
    text = texts.get(chunk.doc_id)
    span = f"the span {chunk.start}–{chunk.end} of {chunk.doc_id}"
    if text is None:
        return f"{chunk.doc_id!r} is no document of the collection"
    if not 0 <= chunk.start <= chunk.end <= len(text):
        return f"{span} does not lie within its {len(text)} characters"
    if chunk.text != text[chunk.start : chunk.end]:
        return f"the text is not that of {span}"
    # Chunks from a shelf are never the same object twice, nor are some retrievers' own.
    if len(validated) < MOST_VALIDATED and not isinstance(texts, ById):
        validated[id(chunk)] = chunk
    return ""


def name_retriever(retriever: Retriever) -> str:
    """Return the name of a retriever in messages: its `name`, or else that of its class."""
    return str(getattr(retriever, "name", "") or type(retriever).__name__)


def _kind(value: object) -> str:
    return f"a {type(value).__name__}" if value is not None else "nothing"
