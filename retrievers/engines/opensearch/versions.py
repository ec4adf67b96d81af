"""Which OpenSearch a server is, and whether it can do what is asked of it."""

from collections.abc import Collection, Mapping
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.engines.capabilities import Feature, LackError
from assay.retrievers.engines.opensearch.client import OpenSearchClient
from assay.retrievers.engines.opensearch.features import FAISS


def check_version(client: OpenSearchClient, features: Collection[Feature]) -> str:
    """Return the server's version. Raises AssayError where it lacks one of the features."""
    told = _read_version(client)
    if lack := _find_lack(client, told, features):
        raise LackError(f"opensearch at {client.url}: {lack}")
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
