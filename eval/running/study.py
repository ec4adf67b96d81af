"""A study: what can be asked of it, how it finds an answer, and what it says of that.

The command line, the Python API and every report are made of these three.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from assay.eval.configs.locations import reports_folder
from assay.eval.report.blocks import Report
from assay.eval.report.files import Finding
from assay.eval.runs.stored import StoredRun
from assay.retrievers.base import Progress


class StudyOptions(BaseModel):
    """What a study is asked: each field is an option, its description is its help.

    A field annotated with `Argument` is given by its place.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Argument:
    """Marks a field that is given by its place; `metavar` names it in the help."""

    metavar: str = ""


@dataclass(frozen=True)
class Lab:
    """What a study works with: where stored runs are, and who is told of its progress."""

    progress: Progress

    @property
    def reports(self) -> Path:
        """The folder of stored runs and of all reports."""
        return reports_folder()

    def run_all(self, references: Sequence[str]) -> list[StoredRun]:
        """Return the runs that references mean, made where there are none; see `resolve_all`."""
        from assay.eval.running.run_references import resolve_all

        return resolve_all(references, self.progress)


O = TypeVar("O", bound=StudyOptions)  # noqa: E741 - of options
F = TypeVar("F", bound=Finding)


class Study(ABC, Generic[O, F]):
    """One question that can be asked of pipelines.

    `name` is that of its command and of its function in Python.
    """

    name: ClassVar[str]
    options: type[O]

    @abstractmethod
    def find(self, asked: O, lab: Lab) -> F:
        """Return what was found. Raises AssayError for what cannot be asked."""

    @abstractmethod
    def report(self, found: F) -> Report:
        """Return what is said of it."""
