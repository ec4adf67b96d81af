"""The query cache: answers given before, for as long as nothing they depend on has changed.

The key of an answer consists of the pipeline (settings, models, code), the request (query, k) and
the epoch of the corpus, a digest of the contents of all documents: any edit may change any ranking,
since the weight of a term depends on how many chunks hold it. A document's epoch is the digest of
its own content; an answer also stores the epochs of its documents, and is not used if they differ.
So no process needs to inform another of what it has indexed.
"""

import os
import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from assay.retrievers.base import AssayError, Progress, Ranking
from assay.retrievers.base.installation import hint_extra
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.store.digest import digest

URL = "REDIS_URL"
PREFIX = "assay:answer:"
TIMEOUT = 1.0  # seconds to wait for Redis
PAUSE = 30.0  # seconds for which a Redis that did not answer is left alone


class MemoryCacheSettings(Settings):
    """Answers are kept in the process that gave them."""

    type: Literal["memory"]
    size: int = Field(1000, ge=1, description="how many answers; the least used go first")

    def build(self, resources: Resources) -> "Store":
        """Return the store, with nothing in it."""
        return MemoryStore(self.size)


class RedisCacheSettings(Settings):
    """Answers are kept in the Redis that the environment variable REDIS_URL names."""

    type: Literal["redis"]
    ttl: int = Field(3600, ge=1, le=10**9, description="seconds for which an answer is kept")

    def build(self, resources: Resources) -> "Store":
        """Return the store. Raises AssayError without the URL or the library."""
        return RedisStore(self.ttl, resources.progress)


CacheSettings = Annotated[MemoryCacheSettings | RedisCacheSettings, Field(discriminator="type")]


@dataclass(frozen=True, slots=True)
class Answer:
    """A ranking, and the epochs of the documents it names, by their ids."""

    ranking: Ranking
    epochs: Mapping[str, str]


class Store(ABC):
    """Answers by key. Safe to call from several threads."""

    @abstractmethod
    def get(self, key: str) -> Answer | None:
        """Return the answer stored under `key`, if there is one that can be read."""

    @abstractmethod
    def put(self, key: str, answer: Answer) -> None:
        """Store `answer` under `key` in place of any before."""

    def close(self) -> None:
        """Release connections."""


class Answers:
    """The answers of one pipeline about one corpus."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._identity = ""
        self._epochs: Mapping[str, str] = {}

    def index(self, corpus: Corpus, identity: Any) -> None:
        """Answer about `corpus` from now on, for a pipeline of this `identity` (JSON values)."""
        self._epochs = _find_epochs(corpus)
        self._identity = digest(identity, self._epochs)

    def key(self, query: str, k: int, allowed: str = "") -> str:
        """Return the key of an answer about the corpus, or about the `allowed` part of it."""
        asked = ascii(query)  # a query may hold what has no encoding
        return digest(self._identity, asked, k, allowed)

    def find(self, key: str) -> Ranking | None:
        """Return the answer stored under `key`, unless a document has another epoch by now."""
        answer = self._store.get(key)
        if answer is None or any(
            self._epochs.get(id_) != epoch for id_, epoch in answer.epochs.items()
        ):
            return None
        return answer.ranking

    def keep(self, key: str, ranking: Ranking) -> None:
        """Store `ranking`, unless something failed that may work the next time."""
        if ranking.degraded:
            return
        chunks = [*(hit.chunk for hit in ranking.hits), *ranking.others]
        epochs = {chunk.doc_id: self._epochs.get(chunk.doc_id, "") for chunk in chunks}
        self._store.put(key, Answer(ranking, epochs))

    def close(self) -> None:
        """Release connections."""
        self._store.close()


class MemoryStore(Store):
    """The answers used last."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Answer | None:
        """Return the answer stored under `key`, now the one used last."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def put(self, key: str, answer: Answer) -> None:
        """Store `answer` and drop the one not used for longest."""
        with self._lock:
            self._answers[key] = answer
            self._answers.move_to_end(key)
            if len(self._answers) > self._size:
                self._answers.popitem(last=False)


class RedisStore(Store):
    """Answers in Redis, as JSON. Where Redis does not answer there are none, with one warning."""

    def __init__(self, ttl: int, progress: Progress) -> None:
        self._client = _connect()
        self._ttl = ttl
        self._progress = progress
        self._adapter = TypeAdapter(Answer)
        self._lock = threading.Lock()
        self._warned = False
        self._paused_until = 0.0

    def get(self, key: str) -> Answer | None:
        """Return the answer stored under `key`; what is no answer counts as none."""
        stored = self._ask(lambda: self._client.get(PREFIX + key))
        if stored is None:
            return None
        try:
            return self._adapter.validate_json(stored)
        except ValidationError:
            return None

    def put(self, key: str, answer: Answer) -> None:
        """Store `answer` for the time to live."""
        try:
            value = self._adapter.dump_json(answer)
        except ValueError:  # a note repeats a query that has no encoding
            return
        self._ask(lambda: self._client.set(PREFIX + key, value, ex=self._ttl))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(self, ask: Callable[[], Any]) -> Any:
        """Return Redis's answer, or None if there is none."""
        from redis.exceptions import RedisError

        if time.monotonic() < self._paused_until:
            return None
        try:
            return ask()
        except (RedisError, OSError) as error:
            self._pause(error)
            return None

    def _pause(self, error: Exception) -> None:
        with self._lock:
            self._paused_until = time.monotonic() + PAUSE
            warned, self._warned = self._warned, True
        if not warned:
            reason = " ".join(str(error).split()) or type(error).__name__
            self._progress.say(f"warning: Redis does not answer: {reason}; searching uncached")


def _connect() -> Any:
    url = os.environ.get(URL)
    if not url:
        raise AssayError(
            f"cache.type: redis needs the environment variable {URL}, as redis://localhost:6379/0"
        )
    try:
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError:
        raise AssayError(f"cache.type: redis {hint_extra('redis')}") from None
    # Once again, in case that the server has closed an idle connection.
    again = Retry(NoBackoff(), 1)
    try:
        return Redis.from_url(
            url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT, retry=again
        )
    except ValueError:  # its message may repeat a part of the password
        raise AssayError(
            f"{URL}: no address of a Redis; allowed: redis://host:6379/0, rediss://…, unix://…"
        ) from None


def _find_epochs(corpus: Corpus) -> dict[str, str]:
    """Return a digest of each document with all that its collection says of it, and its chunks."""
    chunks = corpus.chunks
    return {
        id_: digest(repr(document), [repr(chunks[i]) for i in corpus.by_document.get(id_, ())])
        for id_, document in corpus.documents.items()
    }
