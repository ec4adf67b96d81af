"""Indexes in OpenSearch: made under a name of their own, whole when their alias stands."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any, Literal

from pydantic import Field

from retrievers.base import AssayError
from retrievers.engines.opensearch.client import OpenSearchClient, OverloadError
from retrievers.settings import Settings

Analyzer = Literal[
    "standard", "simple", "whitespace", "stop", "arabic", "armenian", "basque", "bengali",
    "brazilian", "bulgarian", "catalan", "cjk", "czech", "danish", "dutch", "english", "estonian",
    "finnish", "french", "galician", "german", "greek", "hindi", "hungarian", "indonesian",
    "irish", "italian", "latvian", "lithuanian", "norwegian", "persian", "portuguese", "romanian",
    "russian", "sorani", "spanish", "swedish", "thai", "turkish",
]  # fmt: skip

INDEX_NAME = r"^[a-z0-9][a-z0-9_.-]*$"
NOTE = "assay"
TEXTS_PER_REQUEST = 500
BYTES_PER_REQUEST = 5_000_000
MERGE_SECONDS = 600
# A hybrid query asks for all that it fused, and each list may have 10,000.
LEAST_WINDOW = 20_000


class OpenSearchBm25Settings(Settings):
    """Lucene's BM25, with idf = ln(1 + (N - df + 0.5) / (df + 0.5))."""

    analyzer: Analyzer = Field(
        "english",
        description=(
            "how texts become terms: a language with its stop words and stemming, or standard, "
            "simple, whitespace, stop, which do not stem"
        ),
    )
    k1: float = Field(1.2, ge=0, description="how fast repetitions of a term saturate")
    b: float = Field(
        0.75, ge=0, le=1, description="how much long chunks are discounted, against their mean"
    )


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """What is to be in an index.

    `name` is that of its alias, `key` the digest of its content and `identity` that of the
    encoder; `dimensions` is 0 where there are no vectors. `body` has its settings and mappings.
    """

    name: str
    key: str
    texts: int
    identity: str
    dimensions: int
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Opened:
    """An index that is whole: seconds it took to make, bytes on disk, if it was there before."""

    seconds: float
    bytes: int
    cached: bool


def make_body(
    bm25: OpenSearchBm25Settings,
    texts: int,
    fields: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return settings and mappings for texts, and for the further `fields` and `settings`.

    One shard, so that ranks and the statistics of terms are those of the whole collection.
    """
    return {
        "settings": {
            "index": {
                "number_of_shards": 1,
                "number_of_replicas": 0,
                "refresh_interval": "-1",
                "max_result_window": max(LEAST_WINDOW, texts),
                "similarity": {"default": {"type": "BM25", "k1": bm25.k1, "b": bm25.b}},
                **(settings or {}),
            }
        },
        "mappings": {
            "dynamic": "strict",
            "properties": {
                "position": {"type": "integer"},
                "text": {"type": "text", "analyzer": bm25.analyzer},
                **(fields or {}),
            },
        },
    }


# Equal scores come in the order of documents in the index; with this it is that of positions.
SORTED = {"sort.field": "position", "sort.order": "asc"}


def open_index(
    client: OpenSearchClient, plan: IndexPlan, documents: Iterable[Mapping[str, Any]]
) -> Opened:
    """Find the index of `plan` on the server, or make it of `documents`, in order of position.

    Raises AssayError for an index of that name that this must not replace.
    """
    if opened := _find(client, plan):
        return opened
    index = f"{plan.name}_{token_hex(4)}"
    begin = time.perf_counter()
    try:
        _fill(client, index, plan, documents)
        note = _note(plan) | {"texts": plan.texts, "seconds": time.perf_counter() - begin}
        client.ask("indices.put_mapping", index=index, body={"_meta": {NOTE: note}})
        other = _find(client, plan)  # another process may have been faster
        if other is None:
            _swap(client, index, plan)
    except BaseException:
        with suppress(AssayError):
            client.find("indices.delete", index=index)
        raise
    if other:
        client.find("indices.delete", index=index)
    opened = _find(client, plan)
    if opened is None:
        raise AssayError(f"opensearch at {client.url}: the index {plan.name} is gone again")
    return Opened(opened.seconds, opened.bytes, cached=other is not None)


def _find(client: OpenSearchClient, plan: IndexPlan) -> Opened | None:
    """Return the index if it is there and whole.

    Raises AssayError where one of that name is there that must not be replaced.
    """
    found = client.find("indices.get_mapping", index=plan.name)
    if not found:
        return None
    notes = [read_note(mapping) for mapping in found.values()]
    where = f"opensearch at {client.url}: the index {plan.name}"
    for index, note in zip(found, notes, strict=True):
        if note is None or index == plan.name:
            raise AssayError(f"{where} was not made by Assay; choose another index_name")
        if note["dimensions"] != plan.dimensions:
            raise AssayError(
                f"{where} has vectors of {note['dimensions']} dimensions, these have "
                f"{plan.dimensions}; choose another index_name or remove it"
            )
        if note["identity"] != plan.identity:
            raise AssayError(
                f"{where} has the vectors of another model; choose another index_name or remove it"
            )
    if len(found) != 1 or notes[0] is None or notes[0]["key"] != plan.key:
        return None
    answer = client.ask("indices.stats", index=plan.name, metric="docs,store")
    primaries = client.pick(answer, "_all", "primaries")
    if client.pick(primaries, "docs", "count") != plan.texts:
        return None
    size = client.pick(primaries, "store", "size_in_bytes")
    return Opened(float(notes[0].get("seconds", 0)), int(size), cached=True)


def _fill(
    client: OpenSearchClient,
    index: str,
    plan: IndexPlan,
    documents: Iterable[Mapping[str, Any]],
) -> None:
    """Make the index, put all in it, and merge it into one segment."""
    mappings = {**plan.body["mappings"], "_meta": {NOTE: _note(plan)}}
    client.ask("indices.create", index=index, body={**plan.body, "mappings": mappings})
    for lines in _batch(documents):
        client.ask("bulk", check=_check_items, index=index, body=lines)
    client.ask("indices.refresh", index=index)
    client.ask("indices.forcemerge", index=index, max_num_segments=1, request_timeout=MERGE_SECONDS)
    client.ask("indices.refresh", index=index)


def _swap(client: OpenSearchClient, index: str, plan: IndexPlan) -> None:
    """Let the alias stand for `index`, and remove what it stood for before."""
    before = client.find("indices.get_alias", name=plan.name) or {}
    remove = [{"remove": {"index": old, "alias": plan.name}} for old in before]
    add = {"add": {"index": index, "alias": plan.name}}
    client.ask("indices.update_aliases", body={"actions": [add, *remove]})
    for old in before:
        client.find("indices.delete", index=old)


def _note(plan: IndexPlan) -> dict[str, Any]:
    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "key": plan.key,
        "identity": plan.identity,
        "dimensions": plan.dimensions,
        "created": created,
    }


def read_note(mapping: Any) -> dict[str, Any] | None:
    """Return the note that every index of this project bears."""
    note = (mapping.get("mappings", {}).get("_meta") or {}).get(NOTE)
    whole = isinstance(note, dict) and {"key", "identity", "dimensions"} <= set(note)
    return note if whole else None


def _batch(documents: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the bodies of bulk requests; the position of a document is its id."""
    lines: list[str] = []
    size = 0
    for document in documents:
        action = json.dumps({"index": {"_id": str(document["position"])}})
        lines.append(f"{action}\n{json.dumps(document, ensure_ascii=True)}\n")
        size += len(lines[-1])
        if len(lines) == TEXTS_PER_REQUEST or size >= BYTES_PER_REQUEST:
            yield "".join(lines)
            lines, size = [], 0
    if lines:
        yield "".join(lines)


def _check_items(answer: Any) -> None:
    """Raise where a text of a bulk request was not indexed; one turned down may be sent again."""
    if not answer.get("errors"):
        return
    failed: Sequence[Any] = [
        result
        for item in answer.get("items", [])
        for result in item.values()
        if result.get("status", 500) >= 300
    ]
    first = failed[0] if failed else {}
    cause = first.get("error") or {}
    reason = f"{cause.get('type')}: {cause.get('reason')}" if isinstance(cause, dict) else cause
    message = f"{len(failed)} texts were not indexed, the first, {first.get('_id')}, for: {reason}"
    if failed and all(result.get("status") == 429 for result in failed):
        raise OverloadError(message)
    raise AssayError(" ".join(message.split()))
