"""What is wrong with a collection's files, and where its readers report it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from eval.collections.formats.rows import Row, RowError
from retrievers.base import AssayError

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong at `line` of `file`, counted from 1; 0 when the whole file is meant."""

    file: str
    line: int
    severity: Severity
    message: str

    def __str__(self) -> str:
        return f"{place(self.file, self.line)}: {self.severity}: {self.message}"


class Problems:
    """Where readers report what is wrong.

    When `strict`, the first error is raised as AssayError and warnings are dropped: that is
    loading. Otherwise everything is kept in `found`: that is checking.
    """

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        self.found: list[Problem] = []

    def error(self, file: Path, line: int, message: str) -> None:
        """Report what makes the collection unusable."""
        if self.strict:
            raise AssayError(f"{place(str(file), line)}: {message}")
        self.found.append(Problem(str(file), line, "error", message))

    def warn(self, file: Path, line: int, message: str) -> None:
        """Report what is doubtful and does not stop loading."""
        if not self.strict:
            self.found.append(Problem(str(file), line, "warning", message))

    @contextmanager
    def of(self, row: Row) -> Iterator[None]:
        """Report a RowError raised within as an error of `row`, which is then left out."""
        try:
            yield
        except RowError as error:
            self.error(row.file, row.line, str(error))


def place(file: str, line: int) -> str:
    """Return `file:line`, or `file` alone for line 0."""
    return f"{file}:{line}" if line else file
