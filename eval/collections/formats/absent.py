"""Judgments of documents that a collection lacks."""

from collections.abc import Mapping

from assay.eval.collections.collection import Span
from assay.eval.collections.formats.rows import Row, RowError, describe_unknown, find_alike
from assay.eval.collections.problems import Problems


class AbsentDocuments:
    """Judged documents, or passages, that a collection lacks; `judged` counts all judgments."""

    def __init__(self, known: Mapping[str, object], problems: Problems) -> None:
        self.judged = 0
        self._known = known
        self._problems = problems
        self._rows: dict[str, Row] = {}
        self._times = 0

    def note(self, row: Row, name: str) -> Span:
        """Return the place of a document that is not there.

        Raises RowError where the collection has none at all, or one by another way of writing.
        """
        if not self._known or find_alike(name, self._known):
            raise RowError(describe_unknown("document", name, self._known))
        self._rows.setdefault(name, row)
        self._times += 1
        return name, 0, 0

    def tell(self) -> None:
        """Warn of them once; where no judgment is of a document there is, that is an error."""
        if not self._rows:
            return
        name, row = next(iter(self._rows.items()))
        if self._times == self.judged:
            message = describe_unknown("document", name, self._known)
            self._problems.error(row.file, row.line, f"{message}; no judged document is there")
            return
        self._problems.warn(
            row.file,
            row.line,
            f"judgments of documents that the collection lacks: {self._times:,}, of "
            f'{len(self._rows):,} documents (first: "{name}"); nothing can find these',
        )
