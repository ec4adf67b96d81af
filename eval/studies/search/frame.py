"""The result of one query in the Python API: hits and trace as DataFrames."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from assay.retrievers.base import Ranking
from assay.retrievers.base.chunk_neighborhood import ChunkNeighborhood
from assay.retrievers.base.installation import need_pandas

if TYPE_CHECKING:
    from pandas import DataFrame

AROUND = (
    "title", "source", "page", "updated_at", "language", "summary", "level", "order", "total",
    "combined", "split", "parents", "references", "outgoing", "incoming",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class SearchResult:
    """The answer of a pipeline to one query.

    Attributes:
        query: The text of the query.
        name: The name of the pipeline.
        collection: The name of the collection.
        ranking: The whole answer as objects.
        neighborhoods: The place of each hit, and its references in both directions, by chunk id.

    """

    query: str
    name: str
    collection: str
    ranking: Ranking
    neighborhoods: Mapping[str, ChunkNeighborhood] = field(default_factory=dict)

    @cached_property
    def hits(self) -> "DataFrame":
        """The hits by rank: `chunk`, `document`, span from `start` to `end`, `score`, and `text`.

        `rank.<leg>` is the rank at which a leg lists the chunk, missing if it does not. `kind`,
        `section`, `headings` and `context` are the chunk's; `level`, `order`, `total`, `combined`,
        `split`, `parents`, `references`, `outgoing` and `incoming` those of its neighborhood;
        `title`, `source`, `page`, `updated_at`, `language` and `summary` those of its document,
        missing if a retriever lists no chunks (see `ChunkNeighborhood`); `definitions` are objects
        with a term's text, exceptions and source.
        """
        need_pandas()
        from pandas import DataFrame, RangeIndex

        hits = self.ranking.hits
        legs = list(dict.fromkeys(leg for hit in hits for leg in hit.legs))
        ranks = {
            f"rank.{leg}": [hit.legs[leg].rank if leg in hit.legs else None for hit in hits]
            for leg in legs
        }
        around = [self.neighborhoods.get(hit.chunk.id) for hit in hits]
        columns = {
            "chunk": [hit.chunk.id for hit in hits],
            "document": [hit.chunk.doc_id for hit in hits],
            "start": [hit.chunk.start for hit in hits],
            "end": [hit.chunk.end for hit in hits],
            "score": [hit.score for hit in hits],
            **ranks,
            "kind": [hit.chunk.kind for hit in hits],
            "section": [hit.chunk.section_id for hit in hits],
            "headings": [hit.chunk.headings for hit in hits],
            **{name: [getattr(item, name, None) for item in around] for name in AROUND},
            "definitions": [hit.definitions for hit in hits],
            "context": [hit.chunk.context for hit in hits],
            "text": [hit.chunk.text for hit in hits],
        }
        index = RangeIndex(1, len(hits) + 1, name="rank")
        return DataFrame(columns, index=index).astype(dict.fromkeys([*ranks, "page"], "Int64"))

    @cached_property
    def trace(self) -> "DataFrame":
        """The steps by name: `kind`, `milliseconds`, number of output `candidates`, and `note`."""
        need_pandas()
        from pandas import DataFrame, Index

        steps = self.ranking.trace
        columns = {
            "kind": [step.kind for step in steps],
            "milliseconds": [step.milliseconds for step in steps],
            "candidates": [len(step.candidates) for step in steps],
            "note": [step.note for step in steps],
        }
        return DataFrame(columns, index=Index([step.name for step in steps], name="step"))

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each part of the pipeline that could not do its work."""
        return tuple(f"degraded: {line}" for line in self.ranking.degraded)

    def __repr__(self) -> str:
        lines = [f"{self.name} on {self.collection}: {self.query}", *self.warnings]
        for rank, hit in enumerate(self.ranking.hits, start=1):
            chunk = hit.chunk
            lines.append(f"{rank}. {chunk.doc_id} {chunk.start}–{chunk.end} ({hit.score:.4g})")
        return "\n".join(lines if self.ranking.hits else [*lines, "nothing is found"])

    def _repr_html_(self) -> str:
        from assay.eval.report.frames import render

        title = f"{self.name} on {self.collection}: {self.query}"
        shown = (name for name in self.hits if name not in (*AROUND, "definitions", "headings"))
        return render(title, self.warnings, self.hits[list(shown)].rename_axis(None))
