"""Documents cut by a chunker, each only once for the same text and settings."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import fsum
from typing import TYPE_CHECKING, Any

from assay.retrievers.base import Chunk, Document, Progress
from assay.retrievers.documents.chunkers import Chunker, is_intact
from assay.retrievers.documents.tokens import Tokenize, TokenMap, WhitespaceTokenizer
from assay.retrievers.settings import Resources
from assay.retrievers.settings.parts import find_source
from assay.retrievers.store.cache import BatchedWrites
from assay.retrievers.store.chunk_store import make_row, read_row
from assay.retrievers.store.digest import digest

if TYPE_CHECKING:
    from assay.retrievers.models.tokens import Tokenizer


REVISION = 1  # raise it when a chunker cuts differently, or the contents of rows change


@dataclass(frozen=True, slots=True)
class ChunkedDocuments:
    """All chunks of each document by its id, and the tokens of each chunk by its own.

    `lossy` names the documents that cannot be rebuilt from their chunks, `seconds` is the time for
    those not in the cache, `work` the time for all when they were cut.
    """

    chunks: Mapping[str, Sequence[Chunk]]
    tokens: Mapping[str, int]
    lossy: Sequence[str]
    seconds: Mapping[str, float]
    work: float

    @property
    def cached(self) -> bool:
        """True if there are chunks, and all came from the cache."""
        return bool(self.chunks) and not self.seconds


NOTHING = ChunkedDocuments({}, {}, (), {}, 0.0)


class ChunkCache:
    """A cache of documents cut by a chunker, which counts the tokens of a tokenizer."""

    def __init__(self, chunker: Chunker, tokenizer: str, resources: Resources) -> None:
        self._chunker = chunker
        self._name = tokenizer
        self._resources = resources

    @cached_property
    def recipe(self) -> str:
        """The digest of all that determines chunks, except the document."""
        return digest(
            REVISION,
            find_source(self._chunker),
            self._tokenizer.identity,
            self._chunker,
        )

    def cut(self, documents: Sequence[Document], progress: Progress) -> ChunkedDocuments:
        """Return the chunks of `documents`."""
        if not documents:
            return NOTHING
        store, recipe = self._resources.cache, self.recipe
        keys = {item.id: digest("timed cut", recipe, item.id, item.text) for item in documents}
        known = store.get_many("chunks", keys.values())
        missing = [item for item in documents if keys[item.id] not in known]
        fresh, seconds = dict[str, bytes](), dict[str, float]()
        with BatchedWrites(store) as gathered:
            for document in progress.track(missing, "chunking", len(missing)):
                value = self._cut(document)
                seconds[document.id] = value["seconds"]
                row = {keys[document.id]: json.dumps(value, ensure_ascii=False).encode()}
                gathered.add("chunks", row)
                gathered.store_in_time()
                fresh |= row
        known |= fresh
        values = {item.id: json.loads(known[keys[item.id]]) for item in documents}
        chunks = {item.id: _read_chunks(values[item.id]["rows"], item) for item in documents}
        tokens = {
            chunk.id: size
            for name, made in chunks.items()
            for chunk, size in zip(made, values[name]["tokens"], strict=True)
        }
        lossy = [name for name, value in values.items() if not value["intact"]]
        work = fsum(value["seconds"] for value in values.values())
        return ChunkedDocuments(chunks, tokens, lossy, seconds, work)

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from assay.retrievers.models.tokens import Tokenizer

        return Tokenizer(self._name, self._resources)

    def _cut(self, document: Document) -> dict[str, Any]:
        """Return the row of a document that is kept."""
        begin = time.perf_counter()
        tokenize: Tokenize = cache(self._tokenizer.offsets)  # chunkers read pieces more than once
        if self._tokenizer.splits_at_blanks:
            tokenize = WhitespaceTokenizer(tokenize)
        made = self._chunker.chunk(document, tokenize)
        token_map = TokenMap(document.text, tokenize)
        return {
            "rows": [{**make_row(chunk), "text": ""} for chunk in made],
            "tokens": [token_map.count(chunk.start, chunk.end) for chunk in made],
            "intact": is_intact(document, made),
            "seconds": time.perf_counter() - begin,
        }


def _read_chunks(rows: Sequence[Mapping[str, Any]], document: Document) -> list[Chunk]:
    return [read_row({**row, "text": document.text[row["start"] : row["end"]]}) for row in rows]
