"""Ingestion: documents are cut, contextualised, embedded and indexed, with a report on each."""

import json
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from assay.retrievers.base import AssayError, Chunk, Document
from assay.retrievers.base.ingestion import DocumentReport, IngestReport
from assay.retrievers.base.installation import read_version
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.chunk_cache import ChunkedDocuments
from assay.retrievers.documents.chunkers.combine_split import CombineSplitChunker
from assay.retrievers.documents.chunkers.combining import Combination
from assay.retrievers.documents.definitions import find_definitions
from assay.retrievers.documents.preparation import prepare
from assay.retrievers.documents.references.references import find_references
from assay.retrievers.documents.references.targets import Targets
from assay.retrievers.documents.structure.structure import Structure, parse_document
from assay.retrievers.documents.tokens import TokenMap
from assay.retrievers.legs.truncation import count_unread, find_window, list_encoders
from assay.retrievers.models.choice import Reader
from assay.retrievers.models.tokens import Tokenizer
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

REVISION = 1  # raise it when documents come to be described otherwise
FACTS = "facts.json"


def ingest(
    documents: Sequence[Document], config: PipelineConfig, resources: Resources
) -> IngestReport:
    """Make `documents` searchable by the pipeline of `config`, one stage after the other.

    Work done before for the same text and settings is taken from the cache. Raises AssayError
    if there is nothing to search, two chunks share an id, or the retriever is no pipeline.
    """
    if not isinstance(config.retriever, PipelineSettings):
        raise AssayError(
            f"{config.name}: retriever.type: {config.retriever.type} indexes documents in its own "
            "way; only a pipeline can be watched"
        )
    documents = list(documents)  # none of them on a shelf: each is reported by itself
    with config.retriever.build(config.documents, resources) as retriever:
        begin = time.perf_counter()
        prepared = prepare(documents, config.documents, resources)
        cut = prepared.cut
        taken = time.perf_counter() - begin - sum(cut.seconds.values())
        seconds = {"chunk": cut.work, "context": taken}
        cached = ["chunk"] if cut.cached else []
        chunks: dict[str, list[Chunk]] = defaultdict(list)
        for chunk in prepared.chunks:
            chunks[chunk.doc_id].append(chunk)
        legs = list(config.retriever.legs.values())
        embedding = _DocumentEmbedder(list_encoders(legs, resources))
        if embedding.encoders:
            for document in resources.progress.track(documents, "embedding", len(documents)):
                embedding.embed(document.id, chunks[document.id])
            known = embedding.recall_seconds(prepared.chunks)
            seconds |= {} if known is None else {"embed": known}
            cached += [] if embedding.fresh.total() else ["embed"]
        report = retriever.index_prepared(prepared, Corpus(prepared.chunks, documents))
        facts = dict(retriever.metadata())
    indexes = {
        name: taken
        for name, taken in report.seconds.items()
        if name != "chunk" and not name.endswith(".embed")
    }
    window = find_window(list_encoders((leg for leg in legs if leg.cuts_short), resources))
    inspected = _inspect(documents, config, resources, window, cut, chunks)
    ids = [chunk.id for found in cut.chunks.values() for chunk in found]
    cuts = any(map(config.documents.cuts, documents))
    return IngestReport(
        documents=tuple(
            replace(
                item,
                embedded=embedding.fresh[item.id],
                seconds={
                    **({"chunk": cut.seconds[item.id]} if item.id in cut.seconds else {}),
                    **({"embed": embedding.seconds[item.id]} if embedding.fresh[item.id] else {}),
                },
            )
            for item in inspected
        ),
        seconds=seconds | indexes,
        cached=(*cached, *(name for name in report.cached if name in indexes)),
        collisions=len(ids) - len(set(ids)),
        limit=config.documents.chunker.limit if cuts else None,
        window=window,
        bytes=report.bytes,
        facts=facts,
    )


class _DocumentEmbedder:
    """Embeds document by document, so that each can be timed; the legs then find the vectors."""

    def __init__(self, encoders: Sequence[Reader]) -> None:
        self.encoders = encoders
        self.fresh: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}

    def embed(self, doc_id: str, chunks: Sequence[Chunk]) -> None:
        texts = Corpus(chunks).texts
        begin = time.perf_counter()
        self.fresh[doc_id] = sum(encoder.keep(texts) for encoder in self.encoders)
        self.seconds[doc_id] = time.perf_counter() - begin

    def recall_seconds(self, chunks: Sequence[Chunk]) -> float | None:
        """Return the seconds that embedding took, whenever it was done; None if not known."""
        texts = Corpus(chunks).texts
        taken = [encoder.recall_seconds(texts) for encoder in self.encoders]
        known = [seconds for seconds in taken if seconds is not None]
        return sum(known) if len(known) == len(taken) else None


def _inspect(
    documents: Sequence[Document],
    config: PipelineConfig,
    resources: Resources,
    window: int | None,
    cut: ChunkedDocuments,
    chunks: Mapping[str, Sequence[Chunk]],
) -> list[DocumentReport]:
    """Return what became of each document, times apart; from the cache where nothing changed."""

    def make(folder: Path) -> None:
        inspector = _Inspector(documents, config, resources, window)
        found = [inspector.inspect(item, cut, chunks[item.id]) for item in documents]
        (folder / FACTS).write_text(json.dumps([asdict(item) for item in found]))

    def read(folder: Path) -> list[DocumentReport]:
        return [
            DocumentReport(
                **values
                | {
                    "tokens": tuple(values["tokens"]),
                    "parts": tuple(map(tuple, values["parts"])),
                }
            )
            for values in json.loads((folder / FACTS).read_text())
        ]

    key = digest(
        REVISION,
        read_version("markdown-it-py"),
        config.documents,
        window,
        [(item.id, item.title, item.text) for item in documents],
        [chunk.searchable for item in documents for chunk in chunks[item.id]],
    )
    return resources.cache.load("ingestion_facts", key, make, read)[1]


class _Inspector:
    """Inspects the ingested documents, after the fact and outside of any timing."""

    def __init__(
        self,
        documents: Sequence[Document],
        config: PipelineConfig,
        resources: Resources,
        window: int | None,
    ) -> None:
        settings = config.documents
        cut = list(filter(settings.cuts, documents))
        self._structures = {item.id: parse_document(item) for item in cut}
        self._targets = Targets(self._structures)
        self._tokenizer = Tokenizer(settings.tokenizer, resources)
        self._chunker = settings.chunker
        self._reads_references = settings.references
        self._fields = settings.frontmatter == "text"
        self._window = window
        self._limit = self._chunker.limit if cut else None

    def inspect(
        self,
        document: Document,
        cut: ChunkedDocuments,
        chunks: Sequence[Chunk],
    ) -> DocumentReport:
        structure = self._structures.get(document.id)
        known, count = cut.tokens, self._tokenizer.count
        tokens = tuple(known[chunk.id] if structure else count(chunk.text) for chunk in chunks)
        read = structure if self._reads_references else None
        references = find_references(read) if read else []
        combination = self._combine(structure) if structure else None
        return DocumentReport(
            id=document.id,
            tokens=tokens,
            oversize=sum(size > self._limit for size in tokens) if self._limit else 0,
            unread=count_unread(
                [chunk.searchable for chunk in chunks], self._window, self._tokenizer
            ),
            intact=document.id not in cut.lossy if structure else None,
            decisions=dict(combination.decisions) if combination else {},
            definitions=len(find_definitions(structure)) if structure else 0,
            references=len(references),
            resolved=sum(self._targets.find(item, document.id) is not None for item in references),
            embedded=0,
            seconds={},
            note=structure.frontmatter.note if structure else "",
            unsearched=self._count_unsearched(structure, chunks) if structure else 0,
            combined=sum(_is_combined(chunk, structure) for chunk in chunks) if structure else 0,
            split=sum(_is_split(chunk, structure) for chunk in chunks) if structure else 0,
            parts=_group(combination, chunks, tokens) if combination else (),
        )

    def _count_unsearched(self, structure: Structure, chunks: Sequence[Chunk]) -> int:
        """Return the words of frontmatter that no searched chunk has; none where some fields do."""
        searched = self._fields or any(chunk.kind == "frontmatter" for chunk in chunks)
        return 0 if searched else len(structure.text[: structure.frontmatter.end].split())

    def _combine(self, structure: Structure) -> Combination | None:
        if not isinstance(self._chunker, CombineSplitChunker):
            return None
        tokens = TokenMap(structure.text, self._tokenizer.offsets)
        return self._chunker.combine(structure, tokens)


def _group(
    combination: Combination, chunks: Sequence[Chunk], tokens: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    """Return the tokens of the chunks of each part."""
    begins = [part[0].span[0] for part in combination.parts]
    found: list[list[int]] = [[] for _ in begins]
    for chunk, size in zip(chunks, tokens, strict=True):
        if begins and chunk.kind != "frontmatter":
            found[max(bisect_right(begins, chunk.start) - 1, 0)].append(size)
    return tuple(map(tuple, found))


def _is_combined(chunk: Chunk, structure: Structure) -> bool:
    """Return True if a chunk holds text of several sections, bare headings apart."""
    texts = (
        structure.text[max(section.body, chunk.start) : min(section.end, chunk.end)]
        for section in structure.sections_within(chunk.start, chunk.end)
    )
    return chunk.kind != "frontmatter" and sum(bool(text.strip()) for text in texts) > 1


def _is_split(chunk: Chunk, structure: Structure) -> bool:
    """Return True if a chunk begins or ends within a section."""
    if chunk.kind == "frontmatter":
        return False
    within = structure.sections_within(chunk.start, chunk.end)
    return chunk.start > within[0].start or chunk.end < within[-1].end
