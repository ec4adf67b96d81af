"""The manifest of a stored run: the pipeline, collection, code, time and cost."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from assay.eval.collections.collection import Collection
from assay.eval.collections.location import find_place
from assay.eval.runs.machine_load import MachineLoad
from assay.eval.runs.token_counts import TokenCounts
from assay.retrievers.base import AssayError, IndexReport
from assay.retrievers.base.answers import describe_rising
from assay.retrievers.settings import explain_error

FORMAT = 2
MANIFEST = "manifest.json"


def count_tokens(index: IndexReport) -> TokenCounts:
    """Return the tokens of the chunks that were cut; none if the retriever does not report them."""
    pairs = index.facts.get("tokens", ())
    return TokenCounts.of(size for size, number in pairs for _ in range(number))


def describe_unread(index: IndexReport) -> str:
    """Return a sentence on chunks longer than a pipeline's encoders read; "" if there are none."""
    unread = index.facts.get("unread")
    if not unread:
        return ""
    return (
        f"{unread:,} of {index.chunks:,} chunks are longer than the encoder's "
        f"{index.facts['window']:,} tokens; the rest is ignored. Lower `max_tokens`, or set "
        "`windows: max`"
    )


def describe_cut(cut: Mapping[str, int], searched: int) -> str:
    """Return a sentence on models that cut texts during `searched` queries; "" if none did."""
    if not cut:
        return ""
    told = ", ".join(f"{name}: {times:,}" for name, times in cut.items())
    return (
        f"Models did not read all texts to their end, over {searched:,} queries ({told}): what "
        "follows their limit of tokens counts for nothing. Make chunks smaller, or raise the "
        "model's `max_tokens`"
    )


def describe_order(rising: "RisingScores | None") -> str:
    """Return a sentence on scores that contradict the order of hits; "" if none do."""
    if rising is None:
        return ""
    told = describe_rising(rising.queries, rising.searched, rising.first)
    return told[0].upper() + told[1:]


class CollectionFacts(BaseModel):
    """The collection of a run; `digest` covers documents, queries, gold and options.

    `answers_from` is the least grade of a text that answers its query, `favours` the kind of search
    that the card says the questions favour. `place` is its folder within its git repository, which
    distinguishes collections of one name; "" if that is not known. `copies` has the original of
    each document that the card says is a copy, `documents_are` whether these are all or a sample,
    `unwanted` the number of documents that must not be returned.
    """

    name: str
    title: str
    source: str
    licence: str
    digest: str
    documents: int
    queries: int
    judgments: int
    drop_self_matches: bool
    answers_from: int = 1
    favours: str = ""
    place: str = ""
    copies: dict[str, str] = {}
    documents_are: str = ""
    unwanted: int = 0

    @classmethod
    def of(cls, collection: Collection) -> "CollectionFacts":
        """Return the facts of a collection."""
        return cls(
            name=collection.name,
            title=collection.title,
            source=collection.card.source,
            licence=collection.card.licence,
            digest=collection.digest,
            documents=len(collection.documents),
            queries=len(collection.queries),
            judgments=sum(len(items) for items in collection.gold.values()),
            drop_self_matches=collection.drop_self_matches,
            answers_from=collection.card.answers_from,
            favours=collection.card.favours,
            place=find_place(collection.card),
            copies=dict(collection.card.known_copies),
            documents_are=collection.card.documents_are,
            unwanted=len(collection.unwanted),
        )


class RisingScores(BaseModel):
    """The number of queries in which a hit has a higher score than the one before it.

    The order of hits counts nevertheless. `first` is the id of the first of these queries.
    """

    queries: int
    searched: int
    first: str


class Manifest(BaseModel):
    """The identity and provenance of a run.

    `retries` is the number of calls, in searches that are stored or timed, that failed and were
    repeated; their time is in no latency. `seconds` are those of the call that finished the run,
    indexing included. `load` is the load of the machine while queries were timed; None if none
    were. `cut` is by step the number of texts, passages or queries, that a model did not read to
    their end.
    """

    # What a retriever says of its index may be of other types than it should.
    model_config = ConfigDict(extra="forbid", revalidate_instances="always")

    format: int
    id: str
    name: str
    created: str
    identity: str
    config: dict[str, Any]
    collection: CollectionFacts
    facts: dict[str, Any]
    environment: dict[str, Any]
    index: IndexReport
    degraded: dict[str, int]
    rising_scores: RisingScores | None = None
    retries: int = 0
    cut: dict[str, int] = {}
    depth: int
    sampled: bool
    join_rule: str
    throughput: float | None
    concurrency: int
    seconds: float
    load: MachineLoad | None


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of the finished run in `folder`. Raises AssayError as `load` does."""
    path = folder / MANIFEST
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise AssayError(f"{folder}: no finished run here ({MANIFEST} is missing)") from None
    except ValidationError as error:
        reason = explain_error(error)
        raise AssayError(f"{path}: not a manifest this version reads: {reason}") from None
    if manifest.format != FORMAT:
        raise AssayError(f"{path}: format {manifest.format}; this version reads {FORMAT}")
    return manifest
