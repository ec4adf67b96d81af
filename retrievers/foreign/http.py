"""A retriever that is a user's own HTTP service."""

import json
import math
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from assay.retrievers.base import (
    STEP_KINDS,
    AssayError,
    Chunk,
    Document,
    Hit,
    IndexReport,
    LegRank,
    Ranking,
    Retriever,
    StageTrace,
)
from assay.retrievers.base.answers import NamedChunks
from assay.retrievers.documents.preparation import DocumentSettings, prepare
from assay.retrievers.services.retries import PASSING, RetrySettings, call, count_retries
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.settings.trust import ADDRESS, VARIABLE

LIMIT = 16 * 2**20  # bytes of one answer
SHOWN = 200  # characters of an answer in a message
NAME = "service"
EXPECTED = (
    'expected {"hits": [{"id": "…", "score": 1.0}, …]}, best first, where {"document", "start", '
    '"end"} or {"document", "text"} may stand for "id", and "score" may be left out'
)
EXPECTED_STEP = (
    'expected steps as {"name": "bm25", "kind": "leg", "milliseconds": 1.5, "hits": […]}, of the '
    f"kinds {', '.join(STEP_KINDS)}"
)


class HttpSettings(Settings):
    """A service that answers POST {"query", "k"} with {"hits": [{"id", "score"}, …]}, best first.

    An id is that of a chunk, as `documents:` cuts it, or of a whole document. A service with chunks
    of its own gives {"document", "start", "end", "score"} or {"document", "text", "score"} instead.
    The order of the hits is the ranking; scores may be left out. Indexing is the service's own
    affair. Its answer may tell its "steps", in their order, which reports then show and explain:
    {"name", "kind", "milliseconds", "hits"}, of the kind query, leg, fusion or stage.
    """

    type: Literal["http"]
    url: Annotated[str, ADDRESS] = Field(
        pattern=r"^https?://[^@]+$", description="address of the search endpoint, no credentials"
    )
    token_variable: Annotated[str, VARIABLE] = Field(
        "", description="environment variable that holds a bearer token, where one is needed"
    )
    timeout: float = Field(
        10.0, gt=0, description="seconds that one call may take, to the last byte of its answer"
    )
    retries: RetrySettings = Field(
        default_factory=RetrySettings, description="calls that failed for a passing reason"
    )
    version: str = Field(
        "", description="of the service: while it is the same, stored answers stand for new ones"
    )
    nondeterministic: bool = Field(
        False, description="the service may answer differently at any time: no run is used again"
    )

    def build(self, documents: DocumentSettings, resources: Resources) -> Retriever:
        """Return a client of the service."""
        return HttpRetriever(self, documents, resources)

    def headers(self) -> dict[str, str]:
        """Return the headers that identify the caller. Raises AssayError without a token."""
        if not self.token_variable:
            return {}
        token = os.environ.get(self.token_variable)
        if not token:
            raise AssayError(f"retriever.token_variable: ${self.token_variable} is not set")
        if not token.isascii():
            raise AssayError(
                f"retriever.token_variable: ${self.token_variable} holds characters that are not "
                "ASCII, which no header may"
            )
        return {"Authorization": f"Bearer {token}"}


class _CallError(Exception):
    """A call failed; `passing` is true if it may succeed when repeated."""

    def __init__(self, message: str, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class HttpRetriever(Retriever):
    """A retriever that asks an HTTP service and maps the places it returns onto chunks.

    Calls are made in a separate event loop, which can bound the total time of one: a server that
    sends a byte now and then would keep a blocking client for ever.
    """

    def __init__(
        self, settings: HttpSettings, documents: DocumentSettings, resources: Resources
    ) -> None:
        import asyncio

        import httpx

        self.nondeterministic = settings.nondeterministic
        self._settings = settings
        self._documents = documents
        self._resources = resources
        self._client = httpx.AsyncClient(timeout=None, headers=settings.headers())
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run_loop, daemon=True).start()
        self._chunks = NamedChunks(())

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Take the documents that an answer may name; nothing is sent."""
        prepared = prepare(documents, self._documents, self._resources)
        self._chunks = NamedChunks(documents, prepared.chunks)
        return IndexReport(len(prepared.chunks))

    def search(self, query: str, k: int) -> Ranking:
        """Return the answer of the service, its first `k` distinct hits in its own order.

        Raises AssayError, naming the query, if it does not answer, or not in the agreed form.
        """
        begin = time.perf_counter()
        retries = self._settings.retries
        with count_retries() as cost:
            try:
                body = call(lambda: self._ask(query, k), retries, _is_passing)
                answer = _read_answer(body)
                best = self._rank(answer.get("hits"), body, k)
                steps, others = self._read_steps(answer, body)
            except (_CallError, AssayError) as error:
                shown = query if len(query) <= 60 else f"{query[:57]}..."
                where = f"{self._settings.url}: query {shown!r}"
                raise AssayError(f"{where}: {error}{retries.tell(_is_passing(error))}") from error
        taken = (time.perf_counter() - begin) * 1e3 - cost.milliseconds
        trace = StageTrace(
            NAME,
            "stage" if steps else "leg",
            max(0.0, taken - sum(step.milliseconds for step in steps)),
            tuple((hit.chunk.id, hit.score) for hit in best),
            counts={"retries": cost.retries} if cost.retries else {},
            waited=cost.milliseconds,
        )
        placed = enumerate(best, start=1)
        return Ranking(
            tuple(
                Hit(hit.chunk, hit.score, {NAME: LegRank(rank, hit.score)}) for rank, hit in placed
            ),
            (*steps, trace),
            tuple(others[id_] for id_ in others.keys() - {hit.chunk.id for hit in best}),
        )

    def metadata(self) -> Mapping[str, Any]:
        """Return the address of the service."""
        return {"url": self._settings.url}

    @property
    def asks_server(self) -> bool:
        """True: each search does."""
        return True

    def close(self) -> None:
        """Close the connections."""
        import asyncio

        if not self._client.is_closed:
            asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _run_loop(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def _ask(self, query: str, k: int) -> bytes:
        """Return the body of one answer. Raises _CallError."""
        import asyncio

        import httpx

        try:
            posted = asyncio.run_coroutine_threadsafe(self._post(query, k), self._loop)
            status, body = posted.result()
        except TimeoutError:
            seconds = f"{self._settings.timeout:g} s"
            raise _CallError(f"no answer within {seconds}", passing=True) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            if isinstance(error, httpx.ConnectError):
                raise _CallError(f"cannot be reached: {_find_cause(error)}") from error
            passing = isinstance(error, httpx.TransportError)
            raise _CallError(str(error) or type(error).__name__, passing) from error
        if not 200 <= status < 300:
            raise _CallError(f"answered {status}{_show(body)}", status in PASSING)
        return body

    async def _post(self, query: str, k: int) -> tuple[int, bytes]:
        """Return the status and the body of the answer."""
        import asyncio

        body = bytearray()
        url, asked = self._settings.url, {"query": query, "k": k}
        async with (
            asyncio.timeout(self._settings.timeout),
            self._client.stream("POST", url, json=asked) as response,
        ):
            async for part in response.aiter_bytes():
                body += part
                if len(body) > LIMIT:
                    raise _CallError(f"answered more than {LIMIT >> 20} MiB{_show(body)}")
        return response.status_code, bytes(body)

    def _rank(self, rows: Any, body: bytes, k: int) -> tuple[Hit, ...]:
        """Return the first distinct hits of a list in an answer. Raises AssayError."""
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise AssayError(f"the answer has no list of hits; {EXPECTED}{_show(body)}")
        try:
            return self._chunks.rank(rows, k)
        except AssayError as error:
            raise AssayError(f"{error}{_show(body)}") from None

    def _read_steps(
        self, answer: Mapping[str, Any], body: bytes
    ) -> tuple[list[StageTrace], dict[str, Chunk]]:
        """Return the steps in an answer, and all their chunks. Raises AssayError."""
        steps: list[StageTrace] = []
        chunks: dict[str, Chunk] = {}
        told = answer.get("steps")
        if told is None:
            return steps, chunks
        for step in told if isinstance(told, list) else [told]:
            match step:
                case {"name": str(name), "kind": str(kind)} if kind in STEP_KINDS:
                    taken = step.get("milliseconds", 0)
                case _:
                    taken = None
            if type(taken) not in (int, float) or not 0 <= taken < math.inf:
                raise AssayError(f"{EXPECTED_STEP}{_show(body)}")
            hits = self._rank(step.get("hits", []), body, LIMIT)
            chunks |= {hit.chunk.id: hit.chunk for hit in hits}
            listed = tuple((hit.chunk.id, hit.score) for hit in hits)
            steps.append(StageTrace(name, kind, float(taken), listed))
        return steps, chunks


def _read_answer(body: bytes) -> Mapping[str, Any]:
    """Return an answer. Raises AssayError."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise AssayError(f"the answer is not JSON: {error}; {EXPECTED}{_show(body)}") from None
    return answer if isinstance(answer, dict) else {}


def _is_passing(error: Exception) -> bool:
    return isinstance(error, _CallError) and error.passing


def _find_cause(error: BaseException) -> str:
    """Return the root cause of an error."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _show(body: bytes | bytearray) -> str:
    """Return the beginning of a body in one line, for a message."""
    text = " ".join(bytes(body[: 4 * SHOWN]).decode(errors="replace").split())
    return f": {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}" if text else ""
