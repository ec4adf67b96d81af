"""What this project keeps on an OpenSearch server."""

import re
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.engines.opensearch.client import OpenSearchClient
from assay.retrievers.engines.opensearch.index import INDEX_NAME, NOTE, read_note
from assay.retrievers.engines.opensearch.versions import check_version
from assay.retrievers.engines.servers.servers import PREFIX, ConnectedServer, StoredIndex


class OpenSearchServer(ConnectedServer[OpenSearchClient]):
    """The indexes in OpenSearch that bear this project's note."""

    def read_version(self) -> str:
        """Return the server's version."""
        return check_version(self._connection, ())

    def list_stored(self) -> list[StoredIndex]:
        """Return them by alias, and by their own name where no alias stands."""
        client = self._connection
        noted = client.ask("indices.get_mapping", filter_path=f"*.mappings._meta.{NOTE}")
        if not noted:
            return []
        aliases = client.ask("indices.get_alias")
        # Of others' indexes, and of one that is not there yet, a size may be missing.
        stored = "indices.*.primaries.store.size_in_bytes"
        sizes = client.ask("indices.stats", metric="store", filter_path=stored).get("indices", {})
        return sorted(
            (
                self._describe(index, mapping, aliases, sizes)
                for index, mapping in noted.items()
                if read_note(mapping)
            ),
            key=lambda stored: stored.name,
        )

    def read_memory(self) -> int | None:
        """Return what the Java processes of all nodes use, heap and other; not the file cache."""
        told = self._connection.ask("nodes.stats", metric="jvm")
        nodes = self._connection.pick(told, "nodes").values()
        kinds = ("heap_used_in_bytes", "non_heap_used_in_bytes")
        pick = self._connection.pick
        return sum(int(pick(node, "jvm", "mem", kind)) for node in nodes for kind in kinds)

    def drop(self, name: str) -> None:
        """Remove the index, or that for which the alias stands."""
        if not re.match(INDEX_NAME, name):
            raise self._refuse(name)
        found = self._connection.find("indices.get_mapping", index=name)
        if found is None and not name.startswith(PREFIX):
            raise self._refuse(name)
        if not all(read_note(mapping) for mapping in (found or {}).values()):
            raise self._refuse(name)
        for index in found or {}:
            self._connection.find("indices.delete", index=index)

    def _describe(self, index: str, mapping: Any, aliases: Any, sizes: Any) -> StoredIndex:
        note = read_note(mapping) or {}
        names = sorted(aliases.get(index, {}).get("aliases", {}))
        size = sizes.get(index, {}).get("primaries", {}).get("store", {}).get("size_in_bytes")
        whole = bool(names)
        return StoredIndex(
            names[0] if whole else index,
            int(note.get("texts", 0)) if whole else 0,
            size,
            str(note.get("created", "")),
        )

    def _refuse(self, name: str) -> AssayError:
        return AssayError(f"opensearch at {self.url}: {name}: no index that Assay made")
