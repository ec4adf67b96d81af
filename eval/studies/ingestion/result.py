"""The result of an ingestion in the Python API."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from assay.eval.report.result import StudyResult
from assay.eval.runs.json_form import to_json
from assay.eval.studies.ingestion.summary import Ingestion

if TYPE_CHECKING:
    from pandas import DataFrame


class IngestionResult(StudyResult[Ingestion]):
    """The result of an ingestion: its tables and figures; `found` has it as objects."""

    @property
    def figures(self) -> dict[str, Any]:
        """The figures of all documents together, by the keys of `assay ingest --json`."""
        return dict(to_json(self.found.figures))

    @cached_property
    def documents(self) -> "DataFrame":
        """A row for each document, slowest first, with the counts of its chunks.

        * `chunks`: the number of chunks; `tokens`: their tokens together;
        * `oversize`: chunks over the chunker's maximum;
        * `unread`: chunks that the encoder does not read to the end;
        * `combined`: chunks with text of several sections; `split`: chunks with part of a section;
        * `on_target`: chunks of 800 to 1,500 tokens;
        * `least`, `average`, `largest`: the tokens of a chunk;
        * `references`: the references in the text; `resolved`: those whose target exists;
        * `embedded`: vectors that were not in the cache;
        * `unsearched`: words of frontmatter that are in no searched chunk;
        * `note`: remarks, such as the reason why text that looks like frontmatter is text.
        """
        tables = self.tables
        return tables["documents"].join(tables["found"])
