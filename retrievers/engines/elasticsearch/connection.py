"""Calls to an Elasticsearch server, and what goes wrong in them."""

import logging
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from operator import attrgetter
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.engines.elasticsearch.settings import LICENCE, ElasticsearchIndexSettings
from assay.retrievers.engines.servers.servers import PREFIX
from assay.retrievers.engines.servers.service import TAKEN, Fault, GoneError, ServiceConnection
from assay.retrievers.services.addresses import read_address, shorten
from assay.retrievers.services.retries import read_retry_after
from assay.retrievers.store.paths import parse_path

ADDRESS = "ELASTICSEARCH_URL"
NOTE = "assay"
# What a server says of the requests of a client whose major version is newer.
MISMATCH = "media_type_header_exception"
EXISTS = "resource_already_exists_exception"
UNLICENSED = re.compile(r"non-compliant for \[(.+?)\]")


class IncompleteError(Exception):
    """The server did part of what was asked of it; asked again, it may do all."""


class ElasticsearchConnection(ServiceConnection):
    """Asks the server at ELASTICSEARCH_URL; the note of an index is in its mapping."""

    engine = "elasticsearch"
    vendor = "Elasticsearch"
    key = "ELASTICSEARCH_API_KEY"
    needs_key = False

    def __init__(self, settings: ElasticsearchIndexSettings) -> None:
        super().__init__(settings, read_address(self.engine, ADDRESS))
        settings.capabilities.load()
        from elasticsearch import Elasticsearch

        where = f"engine {self.engine}: ca_certs"
        certificates = settings.ca_certs and parse_path(settings.ca_certs, where)
        if certificates and not certificates.is_file():
            raise AssayError(f"{where}: {certificates}: no such file")
        # Without a handler the client's warnings of each failed call would go to the terminal.
        for logger in ("elasticsearch", "elastic_transport"):
            logging.getLogger(logger).addHandler(logging.NullHandler())
        options: dict[str, Any] = {"ca_certs": str(certificates)} if certificates else {}
        if self._secret:
            options["api_key"] = self._secret
        self._client = Elasticsearch(
            self.url,
            request_timeout=self._timeout,
            max_retries=0,
            retry_on_timeout=False,
            **options,
        )
        try:
            self.version = self._read_version()
        except BaseException:
            self.close()
            raise

    def call(
        self,
        method: str,
        check: Callable[[Mapping[str, Any]], None] = lambda _: None,
        seconds: float | None = None,
        **arguments: Any,
    ) -> Mapping[str, Any]:
        """Return the answer to the client's `method`; `check` raises where it will not do."""
        client = self._client.options(request_timeout=seconds or self._timeout)

        def act() -> Mapping[str, Any]:
            answer: Mapping[str, Any] = dict(attrgetter(method)(client)(**arguments).body)
            _check_whole(answer)
            check(answer)
            return answer

        return self.ask(act)

    def list_notes(self) -> dict[str, str]:
        """Return the notes in the mappings."""
        found = self.call("indices.get_mapping", index=f"{PREFIX}*")
        return {
            name: str((told["mappings"].get("_meta") or {}).get(NOTE, ""))
            for name, told in found.items()
        }

    def write_note(self, name: str, note: str) -> None:
        """Put the note into the mapping."""
        self.call("indices.put_mapping", index=name, meta={NOTE: note})

    def count(self, name: str) -> int:
        """Return how many texts can be found."""
        return int(self.call("count", index=name)["count"])

    def drop(self, name: str) -> None:
        """Remove the index."""
        with suppress(GoneError):
            self.call("indices.delete", index=name)

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._client.close()

    @staticmethod
    def find_fault(error: Exception) -> Fault | None:
        """Return what an error of the client says."""
        import elasticsearch

        if isinstance(error, IncompleteError):
            return Fault("answered", error, 503)
        if isinstance(error, elasticsearch.ApiError):
            said = _find_reason(error.body)
            if found := UNLICENSED.search(said):
                return Fault(
                    "answered",
                    f"its licence lacks {found[1]}, which needs {LICENCE}; without one fuse "
                    "here, as the config hybrid_rrf does",
                )
            if said.startswith(MISMATCH):
                major = elasticsearch.__version__[0]
                return Fault(
                    "answered",
                    f"it is older than the client, which is of version {major}; install a client "
                    f"of the server's, as elasticsearch<{major} is",
                )
            status = TAKEN if said.startswith(EXISTS) else error.meta.status
            headers = {name.lower(): value for name, value in error.meta.headers.items()}
            return Fault("answered", said, status, read_retry_after(headers) or 0.0)
        if isinstance(error, elasticsearch.ConnectionTimeout):
            return Fault("late")
        if isinstance(
            error, (elasticsearch.SerializationError, elasticsearch.UnsupportedProductError)
        ):
            return Fault("garbled")
        if isinstance(error, elasticsearch.TransportError):
            return Fault("lost", error.message)
        return None

    def _read_version(self) -> str:
        """Return the version of the node that answers."""
        nodes = self.call("nodes.info", node_id="_local", metric="os")["nodes"]
        return str(next(iter(nodes.values()))["version"])


def _check_whole(answer: Mapping[str, Any]) -> None:
    """Raise where an answer is that of some shards only, or of a search that was cut off."""
    shards = answer.get("_shards")
    told = shards if isinstance(shards, dict) else {}
    if told.get("successful", 0) < told.get("total", 0):
        raise IncompleteError(f"answered for {told['successful']} of {told['total']} shards")
    if answer.get("timed_out"):
        raise IncompleteError("the search ran out of time on the server")


def _find_reason(body: Any) -> str:
    """Return what the server gave as its reason: the innermost is the plainest."""
    cause = body.get("error") if isinstance(body, dict) else body
    if not isinstance(cause, dict):
        return shorten(cause)
    roots = cause.get("root_cause")
    root = roots[0] if isinstance(roots, list) and roots else cause
    return shorten(f"{root.get('type')}: {root.get('reason')}")
