"""What the Python API returns for an ingestion: its figures, and a DataFrame of documents."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from assay.eval.studies.ingestion.summary import Ingestion
from assay.retrievers.base.installation import need_pandas

if TYPE_CHECKING:
    from pandas import DataFrame

COUNTS = (
    "words", "oversize", "unread", "combined", "split", "on_target", "least", "average",
    "definitions", "references", "resolved", "embedded", "unsearched",
    "note",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class IngestionResult:
    """What a pipeline made of documents.

    Attributes:
        ingestion: All of it as objects.

    """

    ingestion: Ingestion

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The figures of all documents together, by the keys of `assay ingest --json`."""
        return self.ingestion.figures()

    @cached_property
    def documents(self) -> "DataFrame":
        """By document: its `chunks` and their `tokens` together, then its counts.

        `oversize` chunks exceed the chunker's maximum, `unread` ones the encoder does not read to
        the end, `combined` ones hold text of several sections, `split` ones part of one,
        `on_target` ones 800 to 1,500 tokens. `least` and `average` are tokens of a chunk.
        `resolved` references point at something there is. `embedded` vectors were not in the
        cache. `unsearched` words of frontmatter are in no searched chunk, and `note` says why what
        looks like frontmatter is text.
        """
        need_pandas()
        from pandas import DataFrame, Index

        found = self.ingestion.documents
        columns = {
            "chunks": [len(item.tokens) for item in found],
            "tokens": [sum(item.tokens) for item in found],
            **{name: [getattr(item, name) for item in found] for name in COUNTS},
        }
        return DataFrame(columns, index=Index([item.id for item in found], name="document"))

    def __repr__(self) -> str:
        figures = self.figures
        size = f"{figures['documents']:,} documents, {figures['chunks']:,} chunks"
        return f"<{self.ingestion.source} by {self.ingestion.pipeline}: {size}>"
