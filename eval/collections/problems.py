"""Problems of a collection's files, and the object to which its readers report them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from assay.eval.collections.formats.rows import Row, RowError
from assay.retrievers.base import AssayError, Progress, Quiet, cut

SHOWN = 3  # places of a fault in a summary
MOST = 1000  # characters of a message or a file: a name in it may be of any length
QUIET = Quiet()

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem at `line` of `file`, counted from 1; 0 when the whole file is meant."""

    file: str
    line: int
    severity: Severity
    message: str

    def __str__(self) -> str:
        return f"{place(self.file, self.line)}: {self.severity}: {self.message}"


class Problems:
    """The problems that readers report; they report how far they are to `progress`.

    When `strict`, the first error is raised as AssayError and warnings are dropped: that is
    loading. Otherwise everything is kept in `found`: that is checking.
    """

    def __init__(self, *, strict: bool, progress: Progress = QUIET) -> None:
        self.strict = strict
        self.progress = progress
        self.found: list[Problem] = []

    @property
    def broken(self) -> bool:
        """True if an error has been reported."""
        return any(problem.severity == "error" for problem in self.found)

    def error(self, file: Path, line: int, message: str) -> None:
        """Report a problem that makes the collection unusable."""
        if self.strict:
            raise AssayError(f"{place(cut(str(file), MOST), line)}: {cut(message, MOST)}")
        self.found.append(Problem(cut(str(file), MOST), line, "error", cut(message, MOST)))

    def warn(self, file: Path, line: int, message: str) -> None:
        """Report a doubtful point that does not stop loading."""
        if not self.strict:
            self.found.append(Problem(cut(str(file), MOST), line, "warning", cut(message, MOST)))

    def note(self, file: Path, message: str) -> None:
        """Report a fact that is as it was meant, and that a reader of figures should know."""
        if not self.strict:
            self.found.append(Problem(cut(str(file), MOST), 0, "note", cut(message, MOST)))

    def of(self, row: Row) -> "_RowContext":
        """Report a RowError raised within as an error of `row`, which is then left out."""
        return _RowContext(self, row)


@dataclass(slots=True)  # not frozen, which takes longer to make
class _RowContext:
    """The block in which a row is read; a generator's would cost as much as reading the row."""

    problems: Problems
    row: Row

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, RowError):
            return False
        self.problems.error(self.row.file, self.row.line, str(error))
        return True


def summarise(problems: Sequence[Problem]) -> list[str]:
    """Return a line for each fault: the first three of its places, and their number.

    Errors come first, then warnings, then notes, each in the order in which they were found, since
    the first may be the cause of the others.
    """
    order = get_args(Severity)
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        fault = re.sub(r'"[^"]*"|\d+', "…", problem.message)
        groups.setdefault((problem.severity, fault), []).append(problem)
    lines = []
    for (severity, _), group in sorted(groups.items(), key=lambda item: order.index(item[0][0])):
        shown, more = group[:SHOWN], len(group) - SHOWN
        if len(group) == 1:
            lines.append(str(group[0]))
            continue
        places = ", ".join(place(item.file, item.line) for item in shown)
        rest = f" and {more} more" if more > 0 else ""
        first = f"{group[0].message} ({places}{rest})"
        lines.append(f"{severity}: {len(group)} times, first: {first}")
    return lines


def place(file: str, line: int) -> str:
    """Return `file:line`, or `file` alone for line 0."""
    return f"{file}:{line}" if line else file
