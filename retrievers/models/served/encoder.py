"""Encoders behind HTTP: batches, several at a time, each checked before it counts."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from assay.retrievers.base import AssayError, cut
from assay.retrievers.language_models.base import MARKS, USUAL_BYTES_PER_TOKEN
from assay.retrievers.models.base import EncodedPart, Encoder, Vectors
from assay.retrievers.models.choice import EncoderChoice
from assay.retrievers.models.served.messages import clean, find_billed, order
from assay.retrievers.models.served.service import ServedSettings, Service
from assay.retrievers.services import cost_meter as charges
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.services.prices import Usage
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

REVISION = 1  # raise it when the code below comes to ask for other vectors
SHORTER = 0.75  # of a text that is too long, this much is tried next

Kind = Literal["document", "query"]
Rows = Sequence[Sequence[float]]


class ServedEncoderSettings(ServedSettings, EncoderChoice):
    """An embedding model behind HTTP, in OpenAI's form unless a provider's class says otherwise."""

    route: ClassVar[str] = "embeddings"  # where texts are posted to, below the address
    texts_key: ClassVar[str] = "input"  # of a body
    dimensions_key: ClassVar[str] = "dimensions"  # of a body
    most_texts: ClassVar[int]  # that the service takes in one call
    most_tokens: ClassVar[int] = 100_000  # in one call, by estimate

    dimensions: int | None = Field(
        None, ge=1, description="of the vectors, where the model offers a choice"
    )
    query_prefix: str = Field("", description="put before each query")
    passage_prefix: str = Field("", description="put before each passage")
    truncate: bool = Field(
        True, description="a text longer than the model reads loses its end; false refuses it"
    )
    max_tokens: int | None = Field(
        None,
        ge=8,
        description="what the model reads of a text, to count what it does not; else as listed",
    )
    batch: int | None = Field(
        None, ge=1, description="texts in one call at most; the service's limit if not given"
    )

    @property
    def name(self) -> str:
        """The provider's and the model's."""
        return self.where

    def open(self, resources: Resources) -> Encoder:
        """Return the encoder. The service is not asked before a text needs it."""
        return ServedEncoder(self, resources)

    def write(self, texts: Sequence[str], kind: Kind) -> Any:
        """Return the body of a call."""
        body = {"model": self.model, self.texts_key: texts, **self.say(kind)}
        return body | ({self.dimensions_key: self.dimensions} if self.dimensions else {})

    def say(self, kind: Kind) -> Mapping[str, Any]:
        """Return the other fields of a body for texts of a `kind`."""
        return {}

    def read(self, reply: Any, wanted: int) -> tuple[Rows, int | None]:
        """Return one row per text, and the tokens counted; None if the service reports none.

        Raises ValueError if the reply is not one to `wanted` texts; a malformed reply may raise
        any error.
        """
        rows = order(reply["data"], wanted, "vectors")
        return [row["embedding"] for row in rows], find_billed(reply, self.billed)


class ServedEncoder(Encoder):
    """Asks a service. Vectors are brought to unit length here, whatever the service gives."""

    def __init__(self, settings: ServedEncoderSettings, resources: Resources) -> None:
        self.prices = settings.prices
        self._settings = settings
        self._service = Service(settings, resources)
        self._lock = threading.Lock()
        self._size = settings.dimensions

    @property
    def identity(self) -> str:
        """The digest of the address, the model, and all that is said of a passage."""
        given = self._settings
        kept = [given.provider, given.url, given.model, given.dimensions, given.passage_prefix]
        return digest("served encoder", REVISION, *kept, given.truncate)

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text."""
        parts = list(self.encode_parts(texts))
        rows = np.empty((len(texts), parts[0].vectors.shape[1] if parts else 0), np.float32)
        for part in parts:
            rows[list(part.positions)] = part.vectors
        return rows

    def encode_parts(self, texts: Sequence[str]) -> Iterator[EncodedPart]:
        """Yield the batches as they come. After an error those under way are awaited, and come."""
        prepared = [self._prepare(text, self._settings.passage_prefix) for text in texts]
        batches = self._cut(prepared)
        failed: BaseException | None = None
        with ThreadPoolExecutor(self._settings.concurrency) as pool:
            asking: dict[Future[EncodedPart], None] = {}
            while True:
                if failed is None:
                    room = self._settings.concurrency - len(asking)
                    for batch in islice(batches, room):
                        asking[pool.submit(self._encode, prepared, batch)] = None
                if not asking:
                    break
                for future in wait(asking, return_when=FIRST_COMPLETED).done:
                    del asking[future]
                    if error := future.exception():
                        failed = failed or error
                    else:
                        yield future.result()
        if failed is not None:
            raise failed

    def encode_query(self, text: str) -> Vectors:
        """Return the query's vector."""
        prepared = self._prepare(text, self._settings.query_prefix)
        vector: Vectors = self._ask([prepared], "query")[0][0]
        return vector

    def metadata(self) -> Mapping[str, Any]:
        """Return the service's address, the settings of its requests, and its price."""
        given = self._settings
        listed = given.listed
        return {
            "model": given.model,
            "backend": given.provider,
            "url": given.url or given.address,
            "dimensions": given.dimensions or "the model's own",
            "query_prefix": given.query_prefix,
            "passage_prefix": given.passage_prefix,
            "truncate": given.truncate,
            "normalised": "here",
            "max_tokens": given.max_tokens or (listed and listed.window),
            **given.price_facts(),
        }

    def _prepare(self, text: str, prefix: str) -> str:
        return prefix + clean(text)

    def _cut(self, texts: Sequence[str]) -> Iterator[Sequence[int]]:
        """Yield the positions of `texts` in batches that the service takes."""
        given = self._settings
        most = min(given.batch or given.most_texts, given.most_texts)
        batch: list[int] = []
        tokens = 0
        for i, text in enumerate(texts):
            size = _estimate(text)
            if batch and (len(batch) == most or tokens + size > given.most_tokens):
                yield batch
                batch, tokens = [], 0
            batch.append(i)
            tokens += size
        if batch:
            yield batch

    def _encode(self, texts: Sequence[str], batch: Sequence[int]) -> EncodedPart:
        start = time.perf_counter()
        with charges.watch() as watched:
            vectors, tokens = self._ask([texts[i] for i in batch], "document")
        taken = time.perf_counter() - start - watched.waited / 1e3
        retries = watched.retried.retries
        return EncodedPart(batch, vectors, taken, Usage(tokens), retries, watched.waited)

    def _ask(self, texts: Sequence[str], kind: Kind) -> tuple[Vectors, int]:
        """Return a row per text, and all tokens; calls that are too long are split."""
        given = self._settings

        def read(reply: Any) -> tuple[Vectors, Usage]:
            rows, tokens = given.read(reply, len(texts))
            counted = sum(map(_estimate, texts)) if tokens is None else tokens
            return np.array(rows, dtype=np.float32), Usage(counted)

        most = sum(len(text.encode()) + MARKS for text in texts)
        try:
            reply = self._service.post(given.route, given.write(texts, kind), most, read)
        except TooLongError as error:
            if len(texts) > 1:
                middle = len(texts) // 2
                halves = [self._ask(half, kind) for half in (texts[:middle], texts[middle:])]
                (first, some), (second, others) = halves
                return np.concatenate([first, second]), some + others
            return self._ask([self._shorten(texts[0], error)], kind)
        return self._check(reply.value), reply.usage.prompt

    def _shorten(self, text: str, error: TooLongError) -> str:
        if not self._settings.truncate or len(text) < 2:
            raise AssayError(
                f"{self._settings.name}: a text of {len(text):,} characters is longer than the"
                f" model reads ({cut(text, 40)!r}); allowed: shorter chunks, truncate: true;"
                f" {error}"
            )
        return text[: int(len(text) * SHORTER)]

    def _check(self, rows: Vectors) -> Vectors:
        """Return `rows` at unit length. Raises AssayError for invalid vectors."""
        where = self._settings.name
        if rows.ndim != 2 or not rows.shape[1]:
            raise AssayError(f"{where}: gives no vectors of numbers (shape {rows.shape})")
        with self._lock:
            self._size = self._size or rows.shape[1]
        if rows.shape[1] != self._size:
            wanted = "asked for" if self._settings.dimensions else "given before"
            raise AssayError(
                f"{where}: gives vectors of {rows.shape[1]} dimensions, {self._size} were {wanted}"
            )
        if not np.isfinite(rows).all():
            raise AssayError(f"{where}: gives a vector with a number that is not finite")
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not lengths.all():
            raise AssayError(f"{where}: gives a vector of zeros, which has no direction")
        unit: Vectors = (rows / lengths).astype(np.float32)
        return unit


def _estimate(text: str) -> int:
    """Return about how many tokens a text has."""
    return len(text.encode()) // USUAL_BYTES_PER_TOKEN + 1
