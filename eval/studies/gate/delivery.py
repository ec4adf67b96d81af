"""Where a verdict of the gate goes besides standard output: files, and GitHub's own channels."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.eval.studies.gate import output
from assay.eval.studies.gate.report import GateReport
from assay.retrievers.store.files import append, write_atomically


@dataclass(frozen=True)
class Outputs:
    """The files wanted, and whether to talk to GitHub; `strict` makes doubt a failure."""

    junit: Path | None
    markdown: Path | None
    github: bool
    strict: bool

    def deliver(self, report: GateReport) -> None:
        """Write the verdict wherever it is wanted."""
        self._write(
            output.render_markdown(report),
            output.render_junit(report, self.strict),
            output.annotate(report, self.strict),
            report.verdict,
        )

    def deliver_failure(self, title: str, message: str) -> None:
        """Write why there is no verdict wherever one is wanted."""
        self._write(
            output.render_failure(title, message),
            output.render_junit_failure(title, message),
            [output.annotation("error", f"Gate: {title}", message)],
            "none",
        )

    def _write(self, markdown: str, junit: bytes, annotations: Sequence[str], verdict: str) -> None:
        for path, content in ((self.markdown, markdown.encode()), (self.junit, junit)):
            if path:
                write_atomically(path, content)
        if self.github:
            # Runners read commands on standard error too, and standard output stays clean.
            for line in annotations:
                print(line, file=getattr(sys.stderr, "commands", sys.stderr), flush=True)
            _append("GITHUB_STEP_SUMMARY", markdown)
            _append("GITHUB_OUTPUT", f"verdict={verdict}\n")


def _append(variable: str, text: str) -> None:
    """Append to the file that the runner names by an environment variable."""
    if name := os.environ.get(variable):
        append(Path(name), text)
