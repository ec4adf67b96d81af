"""Judgments whose text is no longer where their offsets say: what is reported of them."""

from collections import Counter
from dataclasses import dataclass, field

from assay.eval.collections.formats.rows import Row
from assay.eval.collections.living.findings import Finding, Status
from assay.eval.collections.living.selectors import STATUS
from assay.eval.collections.problems import Problems
from assay.retrievers.base import Progress


@dataclass(slots=True)
class Drift:
    """How many judgments are where, of those that are not in place."""

    found: Counter[Status] = field(default_factory=Counter)

    def note(self, problems: Problems, row: Row, finding: Finding) -> bool:
        """Count and report a judgment; return whether its place is certain."""
        if finding.status is Status.IN_PLACE:
            return True
        self.found[finding.status] += 1
        query = f'query "{row.values["query_id"]}": ' if row.has("query_id") else ""
        where = f'from {row.values.get("start")} of "{row.values.get("path")}"'
        if place := finding.place:
            problems.warn(
                row.file,
                row.line,
                f'{query}the judged text {where} is at {place.start} of "{place.doc_id}" now; '
                "`assay dataset sync` writes its new place",
            )
            return True
        if not problems.strict:  # it keeps no collection from loading
            problems.error(
                row.file,
                row.line,
                f"{query}the judged text {where} is {finding.status} now and does not count; "
                "`assay dataset sync` says what to do",
            )
        return False

    def set_aside(self, problems: Problems, row: Row) -> None:
        """Report a judgment that a sync has set aside."""
        query = f'query "{row.values.get("query_id")}": ' if row.has("query_id") else ""
        problems.note(row.file, f"{query}a judgment is {row.values[STATUS]} and does not count")

    def say(self, name: str, progress: Progress) -> None:
        """Say in one line how many judgments moved, and how many are left out."""
        moved = {i: self.found[i] for i in (Status.MOVED, Status.ELSEWHERE) if self.found[i]}
        left = {i: n for i, n in self.found.items() if i not in moved}
        parts = []
        if moved:
            told = ", ".join(f"{n} {status}" for status, n in moved.items())
            parts.append(f"{told} (used where their text is now)")
        if left:
            told = ", ".join(f"{n} {status}" for status, n in sorted(left.items()))
            parts.append(f"{told} (LEFT OUT of every measure)")
        if parts:
            progress.say(
                f"warning: {name}: documents have changed under judgments: {'; '.join(parts)}. "
                f"`assay dataset sync {name}` brings the collection up to date"
            )
