"""Measurements of an ingestion, and of stale search results after documents were edited."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar, Literal

from pydantic import Field

from assay.eval.collections.collection import Collection, GoldItem
from assay.eval.statistics.estimates import Estimate, estimate_mean_ratio
from assay.eval.studies.ingestion.summary import ON_TARGET, Ingestion, count_on_target
from assay.eval.studies.targets.lab import TargetLab
from assay.eval.studies.targets.limits import Unit
from assay.eval.studies.targets.measurement import BaseMeasurement, exact
from assay.eval.studies.targets.results import MeasuredValue
from assay.retrievers.base import AssayError, Chunk, Document, Retriever

STALE_DEPTH = 10  # results of a search that are checked
INGEST = {
    "seconds_per_100_pages": "seconds per 100 pages of 500 words",
    "seconds_of_slowest_document": "seconds of the document that took longest",
    "oversize": "chunks over the chunker's maximum",
    "integrity_failures": "documents whose SHA-256 their chunks do not give back",
    "collisions": "chunk ids given twice",
    "on_target": "share of chunks of 800 to 1,500 tokens, in documents of 800 or more",
    "on_target_parts": "share of chunks of 800 to 1,500 tokens, in parts of 800 or more between "
    "headings that no chunk crosses",
}


class Ingest(BaseMeasurement):
    """A figure of an ingestion. Times are of one that finds nothing in the cache but models."""

    experimental: ClassVar[bool] = True
    type: Literal["ingest"]
    figure: Literal[
        "seconds_per_100_pages",
        "seconds_of_slowest_document",
        "oversize",
        "integrity_failures",
        "collisions",
        "on_target",
        "on_target_parts",
    ] = Field(description="; ".join(f"{name}: {text}" for name, text in INGEST.items()))
    contexts: bool = Field(False, description="count the time that contexts take (per 100 pages)")

    @property
    def timed(self) -> bool:
        """True if the figure is a time."""
        return self.figure.startswith("seconds")

    @property
    def unit(self) -> Unit:
        """The unit of the limits, and of the value unless that is a share."""
        return "s" if self.timed else "count"

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        contexts = ", contexts included" if self.contexts else ""
        return f"{INGEST[self.figure]}{contexts}, {self.pipeline} on {self.dataset}"

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Ingest the collection and return the figure."""
        made = lab.ingest(self.pipeline, self.dataset, self.timed)
        if self.figure == "seconds_per_100_pages":
            return self._find_pace(made)
        if self.figure == "seconds_of_slowest_document":
            times = {item.id: sum(item.seconds.values()) for item in made.documents}
            slowest = max(times, key=lambda name: times[name])
            note = f"{slowest}, of {len(times)} documents"
            return self.tell(exact(times[slowest], len(times)), note)
        cut = [item for item in made.documents if item.intact is not None]
        if not cut:
            raise AssayError(f"{self.dataset}: prescribes its passages, so that nothing is cut")
        if self.figure in ("on_target", "on_target_parts"):
            return self._find_share_on_target(made)
        if self.figure == "integrity_failures":
            return self.tell(exact(len(made.failures), len(cut)), f"of {len(cut):,} documents")
        number = made.collisions if self.figure == "collisions" else made.count("oversize")
        of = len(made.tokens.sizes)
        return self.tell(exact(number, of), f"of {of:,} chunks")

    def _find_share_on_target(self, made: Ingestion) -> MeasuredValue:
        """Return the share of chunks on target, with a bootstrap interval over documents.

        Only chunks of documents, or of parts, with enough text for a chunk on target are counted.
        """
        parts = self.figure == "on_target_parts"
        if parts:
            by_document = [[*chain(*item.long_parts)] for item in made.documents]
        else:
            by_document = [[*item.tokens] for item in made.long_documents]
        counted = [sizes for sizes in by_document if sizes]
        if not counted:
            noun = "part of a document" if parts else "document"
            raise AssayError(f"{made.source}: no {noun} has {ON_TARGET[0]} tokens")
        share = estimate_mean_ratio(list(map(len, counted)), list(map(count_on_target, counted)))
        return self.tell(share, f"of {sum(map(len, counted)):,} chunks", unit="share")

    def _find_pace(self, made: Ingestion) -> MeasuredValue:
        """Return the seconds per 100 pages, with a bootstrap interval over documents.

        Time that was not spent on single documents is distributed over them by their pages.
        """
        left_out = set() if self.contexts else {"context"}
        total = sum(taken for name, taken in made.seconds.items() if name not in left_out)
        single = [sum(item.seconds.values()) for item in made.documents]
        shared = (total - sum(single)) / made.pages
        pages = [made.pages * item.words / made.words for item in made.documents]
        times = [own + shared * size for own, size in zip(single, pages, strict=True)]
        pace = estimate_mean_ratio(pages, times)
        scaled = Estimate(100 * pace.value, 100 * pace.low, 100 * pace.high, pace.n)
        slowest = max(made.seconds, key=lambda name: made.seconds[name])
        share = made.seconds[slowest] / total
        return self.tell(scaled, f"{made.pages:.0f} pages", f"{slowest} {share:.0%} of the time")


class Stale(BaseMeasurement):
    """The results of a search after an edit that show what the documents no longer hold."""

    experimental: ClassVar[bool] = True
    usual_unit: ClassVar[Unit] = "count"
    type: Literal["stale"]

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        return f"stale results after re-ingestion, {self.pipeline} on {self.dataset}"

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Return the number of stale results, with a note on the results that could be stale."""
        collection = lab.collection(self.dataset)
        found = count_stale(lambda: lab.build(self.pipeline, self.dataset), collection, STALE_DEPTH)
        return self.tell(
            exact(found.stale, found.searches),
            f"{found.results} results of {found.searches} searches",
            f"{found.found} of {found.cuts} pieces taken out had been found before",
        )


@dataclass(frozen=True, slots=True)
class Staleness:
    """The number of stale results.

    Attributes:
        stale: The number of stale results.
        results: The number of all results.
        searches: The number of searches.
        found: The number of cut pieces that were found before the edit; only these can be stale.
        cuts: The number of cut pieces.
    """

    stale: int
    results: int
    searches: int
    found: int
    cuts: int


def count_stale(
    build: Callable[[], AbstractContextManager[Retriever]], collection: Collection, depth: int
) -> Staleness:
    """Edit the documents of `collection`, ingest them again, and count stale results.

    Each document with a judged part loses that piece of text; the last is withdrawn. The searches
    are for the pieces and for the queries that they answer, in the retriever that indexed the
    documents before, and in a new one that finds their caches. A result is stale if its document
    does not contain its text at its place. Raises AssayError if the collection prescribes passages,
    or judges no part of a document.
    """
    if collection.passages:
        raise AssayError(f"{collection.name}: prescribes its passages, so that no text can change")
    texts = collection.texts
    cuts = _choose(collection.gold, texts)
    if not cuts:
        raise AssayError(f"{collection.name}: judges no part of a document that could be cut out")
    edited = _edit(collection.documents, cuts)
    present = {document.id: document.text for document in edited}
    queries = {query.id: query.text for query in collection.queries}
    pieces = [texts[cut.doc_id][cut.start : cut.end] for cut in cuts]
    asked = [queries[cut.query_id] for cut in cuts] + pieces
    with build() as retriever:
        retriever.index(collection.documents)
        before = {text: _search(retriever, [text], depth) for text in asked}
        retriever.index(edited)
        results = [_search(retriever, asked, depth)]
    with build() as retriever:
        retriever.index(edited)
        results.append(_search(retriever, asked, depth))
    shown = [chunk for chunks in results for chunk in chunks]
    stale = sum(
        present.get(chunk.doc_id, "")[chunk.start : chunk.end] != chunk.text for chunk in shown
    )
    found = sum(
        any(
            chunk.doc_id == cut.doc_id and chunk.start < cut.end and cut.start < chunk.end
            for chunk in before[piece]
        )
        for cut, piece in zip(cuts, pieces, strict=True)
    )
    return Staleness(stale, len(shown), 2 * len(asked), found, len(cuts))


def _choose(gold: Mapping[str, Sequence[GoldItem]], texts: Mapping[str, str]) -> list[GoldItem]:
    """Return the piece to cut out of each document: its first relevant part."""
    cuts: dict[str, GoldItem] = {}
    for items in gold.values():
        for item in items:
            text = texts.get(item.doc_id, "")
            if item.grade > 0 and 0 < len(text[item.start : item.end]) < len(text):
                cuts.setdefault(item.doc_id, item)
    return list(cuts.values())


def _edit(documents: Sequence[Document], cuts: Sequence[GoldItem]) -> list[Document]:
    by_document = {cut.doc_id: cut for cut in cuts}
    edited = []
    for document in documents:
        cut = by_document.get(document.id)
        if cut:
            text = document.text[: cut.start] + document.text[cut.end :]
            document = replace(document, text=text, contexts=())
        edited.append(document)
    withdrawn = cuts[-1].doc_id
    return [document for document in edited if document.id != withdrawn]


def _search(retriever: Retriever, asked: Sequence[str], depth: int) -> list[Chunk]:
    return [hit.chunk for text in asked for hit in retriever.search(text, depth).hits]
