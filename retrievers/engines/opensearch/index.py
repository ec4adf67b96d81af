"""Indexes in OpenSearch: whole when their alias stands."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from assay.retrievers.base import AssayError, Progress
from assay.retrievers.engines.opensearch.client import IncompleteError, OpenSearchClient
from assay.retrievers.engines.servers.collection_store import (
    Collection,
    CollectionPlan,
    CollectionStore,
    batch,
    send,
)

INDEX_NAME = r"^[a-z0-9][a-z0-9_.-]*$"
NOTE = "assay"
# Of an alias it is where texts go that are put in through it, which none are.
SECONDS = "index_routing"
TEXTS_PER_REQUEST = 500
BYTES_PER_REQUEST = 5_000_000
MERGE_SECONDS = 600


class OpenSearchIndexStore(CollectionStore[OpenSearchClient]):
    """An index of `documents`, in order of position; `body` has its settings and mappings."""

    engine = "opensearch"
    way_out = "choose another index_name or remove it"

    def __init__(
        self,
        connection: OpenSearchClient,
        plan: CollectionPlan,
        body: Mapping[str, Any],
        documents: Iterable[Mapping[str, Any]],
        progress: Progress,
    ) -> None:
        super().__init__(connection, plan, progress)
        self._body = body
        self._documents = documents

    def describe(self, name: str) -> str:
        """Return how an index is named in messages."""
        return f"opensearch at {self.connection.url}: the index {name}"

    def find(self) -> Collection | None:
        """Return the index for which the alias stands, if it is whole."""
        client, name = self.connection, self.plan.name
        found = client.find("indices.get", index=name)
        if not found:
            return None
        notes = [read_note(described) for described in found.values()]
        for index, note in zip(found, notes, strict=True):
            if note is None or index == name:
                where = self.describe(name)
                raise AssayError(f"{where} was not made by Assay; choose another index_name")
            self.check_note(name, note, replaceable=True)
        if len(found) != 1 or notes[0] is None or notes[0]["key"] != self.plan.key:
            return None
        client.await_shards(name)
        answer = client.ask("indices.stats", index=name, metric="docs,store")
        primaries = client.pick(answer, "_all", "primaries")
        if client.pick(primaries, "docs", "count") != self.plan.texts:
            return None
        (described,) = found.values()
        note = {**notes[0], "seconds": _read_seconds(described, name)}
        return Collection(name, note, int(client.pick(primaries, "store", "size_in_bytes")))

    def fill(self, name: str) -> dict[str, Any]:
        """Make the index, put all in it, and merge it into one segment."""
        client = self.connection
        note = self.plan.describe() | {"texts": self.plan.texts}
        mappings = {**self._body["mappings"], "_meta": {NOTE: note}}
        client.ask("indices.create", index=name, body={**self._body, "mappings": mappings})
        client.await_shards(name)
        lines = map(_write_lines, self.track(self._documents))
        send(
            batch(lines, TEXTS_PER_REQUEST, len, BYTES_PER_REQUEST),
            lambda part: client.ask("bulk", check=_check_items, index=name, body="".join(part)),
        )
        client.ask("indices.refresh", index=name)
        client.ask(
            "indices.forcemerge", index=name, max_num_segments=1, request_timeout=MERGE_SECONDS
        )
        client.ask("indices.refresh", index=name)
        return {}

    def mark_whole(self, name: str, note: dict[str, Any]) -> None:
        """Let the alias stand for the index, and drop the one before.

        The seconds go with the alias: to note them in the mapping, once there are texts and
        vectors, can make the k-NN plugin fail the shard.
        """
        client, alias = self.connection, self.plan.name
        before = client.find("indices.get_alias", name=alias) or {}
        remove = [{"remove": {"index": old, "alias": alias}} for old in before]
        add = {"add": {"index": name, "alias": alias, SECONDS: str(note["seconds"])}}
        client.ask("indices.update_aliases", body={"actions": [add, *remove]})
        for old in before:
            self.drop(old)

    def drop(self, name: str) -> None:
        """Remove it."""
        self.connection.find("indices.delete", index=name)


def read_note(described: Any) -> dict[str, Any] | None:
    """Return the note that every index of this project bears in its mapping."""
    note = (described.get("mappings", {}).get("_meta") or {}).get(NOTE)
    whole = isinstance(note, dict) and {"key", "identity", "dimensions"} <= set(note)
    return note if whole else None


def _read_seconds(described: Any, alias: str) -> float:
    """Return the seconds that an index took to make; 0 where its alias does not tell."""
    told = described.get("aliases", {}).get(alias, {}).get(SECONDS, "0")
    with suppress(ValueError):
        return float(told)
    return 0.0


def _write_lines(document: Mapping[str, Any]) -> str:
    """Return a document's part of a bulk request; its position is its id."""
    action = json.dumps({"index": {"_id": str(document["position"])}})
    return f"{action}\n{json.dumps(document, ensure_ascii=True)}\n"


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
        raise IncompleteError(message)
    raise AssayError(" ".join(message.split()))
