"""What this project keeps on an OpenSearch server."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.engines.capabilities import Feature
from assay.retrievers.engines.opensearch.client import OpenSearchClient
from assay.retrievers.engines.opensearch.features import FAISS
from assay.retrievers.engines.opensearch.index import INDEX_NAME, NOTE, read_note
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


def check_version(client: OpenSearchClient, features: Collection[Feature]) -> str:
    """Return the server's version. Raises AssayError where it lacks one of the features."""
    told = _read_version(client)
    if lack := _find_lack(client, told, features):
        raise AssayError(f"opensearch at {client.url}: {lack}")
    return str(told["number"])


def find_lack(client: OpenSearchClient, features: Collection[Feature]) -> str:
    """Return in words what of the features the server lacks, empty where it has all.

    Raises AssayError where it is no OpenSearch.
    """
    return _find_lack(client, _read_version(client), features)


def _find_lack(
    client: OpenSearchClient, told: Mapping[str, Any], features: Collection[Feature]
) -> str:
    lacks = (feature.find_lack(str(told["number"])) for feature in features)
    if lack := next(filter(None, lacks), ""):
        return lack
    if FAISS in features and _is_bare(client, told):
        return (
            f"{FAISS.what} needs {FAISS.beside}, which the plain zip that this server is lacks: it "
            "would end; take knn.engine: lucene"
        )
    return ""


def _read_version(client: OpenSearchClient) -> Mapping[str, Any]:
    told = client.pick(client.ask("info"), "version")
    number = client.pick(told, "number")
    if told.get("distribution") != "opensearch":
        raise AssayError(
            f"opensearch at {client.url}: is no OpenSearch; it tells the version {number} of "
            f"{told.get('distribution') or 'another server'}"
        )
    found: Mapping[str, Any] = told
    return found


def _is_bare(client: OpenSearchClient, told: Mapping[str, Any]) -> bool:
    """Say whether a server was made of the zip without libraries; that for Windows has them."""
    if told.get("build_type") != "zip":
        return False
    nodes = client.pick(client.ask("nodes.info", node_id="_local", metric="os"), "nodes")
    return all(client.pick(node, "os", "name") == "Linux" for node in nodes.values())
