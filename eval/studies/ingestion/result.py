"""What the Python API returns for an ingestion."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from assay.eval.report.result import StudyResult
from assay.eval.studies.ingestion.summary import Ingestion

if TYPE_CHECKING:
    from pandas import DataFrame


class IngestionResult(StudyResult[Ingestion]):
    """What a pipeline made of documents; `found` is all of it as objects."""

    @property
    def figures(self) -> dict[str, Any]:
        """The figures of all documents together, by the keys of `assay ingest --json`."""
        return self.found.figures()

    @cached_property
    def documents(self) -> "DataFrame":
        """By document, the slowest first: its `chunks` and their `tokens` together, and its counts.

        `oversize` chunks exceed the chunker's maximum, `unread` ones the encoder does not read to
        the end, `combined` ones hold text of several sections, `split` ones part of one,
        `on_target` ones 800 to 1,500 tokens. `least`, `average` and `largest` are tokens of a
        chunk. `resolved` references point at something there is. `embedded` vectors were not in the
        cache. `unsearched` words of frontmatter are in no searched chunk. `note` says what is
        unusual, and why what looks like frontmatter is text.
        """
        tables = self.tables
        return tables["documents"].join(tables["found"])
