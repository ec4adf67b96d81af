"""Where an OpenSearch server is, who asks it, and what goes wrong there, in one line."""

import logging
import os
import re
from collections.abc import Callable
from operator import attrgetter
from typing import Annotated, Any

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.opensearch.features import FEATURES
from assay.retrievers.services.addresses import read_address, shorten
from assay.retrievers.services.retries import PASSING, RetrySettings, call
from assay.retrievers.settings import Settings
from assay.retrievers.settings.trust import ADDRESS, PLACE, SAFEGUARD, VARIABLE
from assay.retrievers.store.paths import parse_path

CAPABILITIES = Capabilities(
    "engine",
    approximate=("hnsw",),
    extra="opensearch",
    modules=("opensearchpy",),
    packages=("opensearch-py",),
    address="OPENSEARCH_URL",
    features=FEATURES,
    met="2.19.1, 3.6.0",
    restricts=True,
)
# What a server says that lacks a plugin, by the plugin's name.
PLUGINS = {
    "opensearch-knn": r"\[knn_vector\]|\[index\.knn|\[knn\]|knn_score",
    "opensearch-neural-search": r"\[hybrid\]|processor",
}

SHARDS_SECONDS = 30


class OpenSearchConnection(Settings):
    """Address, credentials and patience."""

    endpoint: Annotated[str | None, ADDRESS] = Field(
        None,
        pattern=r"^https?://[^@\s]+$",
        description=f"address of the server, no credentials; else that of ${CAPABILITIES.address}",
    )
    username_variable: Annotated[str, VARIABLE] = Field(
        "OPENSEARCH_USERNAME", description="environment variable that holds the user's name"
    )
    password_variable: Annotated[str, VARIABLE] = Field(
        "OPENSEARCH_PASSWORD", description="environment variable that holds the password"
    )
    api_key_variable: Annotated[str, VARIABLE] = Field(
        "OPENSEARCH_API_KEY",
        description="environment variable that holds an API key, which goes before a password",
    )
    verify_certs: Annotated[bool, SAFEGUARD] = Field(
        True, description="refuse a certificate that cannot be verified"
    )
    ca_certs: Annotated[str | None, PLACE] = Field(
        None, description="file with the certificates of the authorities to trust"
    )
    timeout_seconds: int = Field(10, ge=1, le=120, description="seconds to wait for one answer")
    retries: RetrySettings = Field(
        default_factory=RetrySettings,
        description="after 429, 502, 503, 504 and an answer that took too long",
    )


class IncompleteError(Exception):
    """The server did part of what was asked of it; asked again, it may do all."""


class OpenSearchClient:
    """Asks one server; safe to use from several threads."""

    def __init__(self, settings: OpenSearchConnection) -> None:
        self._settings = settings
        self.url = (settings.endpoint or read_address("opensearch", CAPABILITIES.address)).rstrip(
            "/"
        )
        CAPABILITIES.load()
        from opensearchpy import OpenSearch

        # Without a handler the client's warnings of each failed call would go to the terminal.
        logging.getLogger("opensearch").addHandler(logging.NullHandler())
        where = "engine opensearch: ca_certs"
        certificates = settings.ca_certs and parse_path(settings.ca_certs, where)
        if certificates and not certificates.is_file():
            raise AssayError(f"{where}: {certificates}: no such file")
        trust = {"verify_certs": settings.verify_certs, "ssl_show_warn": False}
        ca_certs = certificates and str(certificates)
        self.options = {"ca_certs": ca_certs, **trust, **_find_credentials(settings)}
        self._client = OpenSearch(
            hosts=[self.url], timeout=settings.timeout_seconds, max_retries=0, **self.options
        )

    def ask(
        self, method: str, check: Callable[[Any], None] | None = None, **arguments: Any
    ) -> dict[str, Any]:
        """Return the answer to the client's `method`, asked again where a fault may pass.

        `check` raises where an answer will not do. Raises AssayError, in one line.
        """
        answer = self.find(method, check, **arguments)
        if answer is None:
            raise AssayError(f"opensearch at {self.url}: {method}: not found (404)")
        return answer

    def find(
        self, method: str, check: Callable[[Any], None] | None = None, **arguments: Any
    ) -> dict[str, Any] | None:
        """As `ask`, but return None where the server answers 404."""
        from opensearchpy.exceptions import NotFoundError, OpenSearchException

        def act() -> Any:
            answer = attrgetter(method)(self._client)(**arguments)
            if not isinstance(answer, dict):
                raise AssayError(
                    f"opensearch at {self.url}: answered no JSON object: {shorten(answer)}"
                )
            _check_shards(answer)
            if check:
                check(answer)
            return answer

        try:
            found: dict[str, Any] = call(act, self._settings.retries, _is_passing)
        except NotFoundError:
            return None
        except (OpenSearchException, IncompleteError) as error:
            raise AssayError(f"opensearch at {self.url}: {self._describe(error)}") from error
        return found

    def await_shards(self, name: str) -> None:
        """Wait until every shard of an index can be asked.

        Raises AssayError where one cannot within SHARDS_SECONDS.
        """
        health = self.ask(
            "cluster.health",
            index=name,
            wait_for_status="yellow",
            timeout=f"{SHARDS_SECONDS}s",
            request_timeout=SHARDS_SECONDS + self._settings.timeout_seconds,
            ignore=[408],  # which comes with the same answer
        )
        if self.pick(health, "timed_out"):
            raise AssayError(
                f"opensearch at {self.url}: the index {name} has shards that cannot be asked after "
                f"{SHARDS_SECONDS} s; the server's log says why"
            )

    def pick(self, answer: Any, *path: str) -> Any:
        """Return what lies in `answer` at `path`; raise AssayError where nothing does."""
        part = answer
        for step in path:
            if not isinstance(part, dict) or step not in part:
                where = ".".join(path)
                raise AssayError(f"opensearch at {self.url}: answered without {where}")
            part = part[step]
        return part

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._client.close()

    def _describe(self, error: Exception) -> str:
        """Return in words what went wrong, and what to do about it."""
        from opensearchpy import exceptions

        settings = self._settings
        after = settings.retries.tell(_is_passing(error))
        if isinstance(error, exceptions.ConnectionTimeout):
            return f"no answer within {settings.timeout_seconds} s{after}"
        if isinstance(error, exceptions.SSLError):
            return (
                f"TLS failed: {shorten(error.info)}; name its authority in ca_certs, or set "
                "verify_certs: false"
            )
        if isinstance(error, exceptions.ConnectionError):
            plain = getattr(error.info.__cause__, "strerror", None)
            return f"cannot be reached: {shorten(plain or error.info)}"
        if isinstance(error, exceptions.AuthenticationException):
            return (
                f"does not know who asks (401); set ${settings.username_variable} and "
                f"${settings.password_variable}, or ${settings.api_key_variable}"
            )
        if isinstance(error, exceptions.TransportError):
            reason = _find_reason(error)
            if error.status_code == 403:
                return f"the user may not do this (403): {reason}"
            plugin = _find_plugin(reason) if error.status_code == 400 else ""
            lacks = f"seems to lack the plugin {plugin}: " if plugin else ""
            return f"{lacks}answered {error.status_code}: {reason}{after}"
        if isinstance(error, exceptions.SerializationError):
            return f"answered no JSON: {shorten(error.args[0])}"
        return f"{shorten(error)}{after}"


def _find_credentials(settings: OpenSearchConnection) -> dict[str, Any]:
    """Return the arguments of the client that say who asks; none where no variable is set."""
    if key := os.environ.get(settings.api_key_variable):
        return {"headers": {"Authorization": f"ApiKey {key}"}}
    name = os.environ.get(settings.username_variable)
    password = os.environ.get(settings.password_variable)
    if bool(name) != bool(password):
        missing = settings.password_variable if name else settings.username_variable
        raise AssayError(f"engine opensearch: ${missing} is not set, the other of the two is")
    return {"http_auth": (name, password)} if name else {}


def _is_passing(error: Exception) -> bool:
    from opensearchpy.exceptions import ConnectionTimeout, TransportError

    if isinstance(error, ConnectionTimeout | IncompleteError):
        return True
    return isinstance(error, TransportError) and error.status_code in PASSING


def _check_shards(answer: dict[str, Any]) -> None:
    """Raise where an answer is that of some shards only."""
    shards = answer.get("_shards")
    if not isinstance(shards, dict):
        return
    asked, answered = shards.get("total", 0), shards.get("successful", 0)
    if answered < asked:
        raise IncompleteError(f"answered for {answered} of {asked} shards")


def _find_reason(error: Any) -> str:
    """Return what the server gave as its reason: the innermost is the plainest."""
    info = error.info if isinstance(error.info, dict) else {}
    cause = info.get("error")
    if not isinstance(cause, dict):
        return shorten(cause or error.error)
    roots = cause.get("root_cause")
    root = roots[0] if isinstance(roots, list) and roots else cause
    return shorten(f"{root.get('type')}: {root.get('reason')}")


def _find_plugin(reason: str) -> str:
    """Return the name of the plugin for want of which a server gives this reason."""
    unknown = re.search(r"unknown|no handler|not supported|invalid processor|not installed", reason,
                        re.IGNORECASE)  # fmt: skip
    if not unknown:
        return ""
    found = (name for name, hint in PLUGINS.items() if re.search(hint, reason, re.IGNORECASE))
    return next(found, "")
