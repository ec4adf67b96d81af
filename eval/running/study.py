"""A study: its options, its search for an answer, and its presentation of the answer.

The command line, the Python API and every report are made of these three.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from assay.eval.configs.locations import reports_folder
from assay.retrievers.base import Progress

# Every command imports this module, and few need what a finding is made and shown with.
if TYPE_CHECKING:
    from assay.eval.report.blocks import Report
    from assay.eval.runs.stored import StoredRun
    from assay.eval.tracking.record import Record
    from assay.retrievers.settings import Resources


class StudyOptions(BaseModel):
    """The options of a study: each field is one, and its description is its help.

    A field annotated with `Argument` is given by its place, one with `Option` otherwise than its
    name and type say. Python gives all of them by name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Argument:
    """A mark of a field that is a positional argument; `metavar` names it in the help."""

    metavar: str = ""


@dataclass(frozen=True)
class Option:
    """A mark of a field's form on the command line.

    `names` replace its own name; `metavar` names its value in the help. If it is a `text`, the
    field parses it itself. `path` says what an existing path must be.
    """

    names: tuple[str, ...] = ()
    metavar: str = ""
    text: bool = False
    path: Literal["any", "file", "folder", "existing"] = "any"


@dataclass(frozen=True)
class Lab:
    """The environment of a study: the folder of stored runs, shared resources, and progress.

    A study adds to `records` the record for MLflow of each run that it made.
    """

    progress: Progress
    records: "list[Record]" = field(default_factory=list)

    @property
    def reports(self) -> Path:
        """The folder of stored runs and of all reports."""
        return reports_folder()

    @cached_property
    def resources(self) -> "Resources":
        """The resources that retrievers are built with: the user's cache and threads."""
        from assay.eval.configs.resources import make_resources

        return make_resources(self.progress)

    def run_all(self, references: Sequence[str]) -> "list[StoredRun]":
        """Return the runs that references mean, made where there are none; see `resolve_all`."""
        from assay.eval.running.run_references import resolve_all

        return resolve_all(references, self.progress)


@dataclass(frozen=True)
class Preview:
    """The output of a dry run: what its JSON is made of, and lines."""

    json: object
    lines: Sequence[str]


@dataclass(frozen=True)
class Written:
    """The files of a finding.

    `places` are the paths shown to the user, by kind: `output` is a config that was found, `report`
    the page to look at. `files` are the files logged to MLflow. `said` is a note on a file that was
    there before, and `next` are commands of `assay` to run with these files.
    """

    places: Mapping[str, Path | Sequence[Path] | None]
    files: Sequence[Path] = ()
    said: str = ""
    next: Sequence[str] = ()


O = TypeVar("O", bound=StudyOptions)  # noqa: E741 - of options
F = TypeVar("F")


def write_page(found: object, told: "Report", _asked: StudyOptions, lab: Lab) -> Written:
    """Write the JSON, the Markdown and the page into a folder of their own."""
    from assay.eval.report.files import write_blocks

    page = write_blocks(found, told, lab.reports / told.id)
    return Written({"report": page}, sorted(page.parent.iterdir()))


@dataclass(frozen=True)
class Study(Generic[O, F]):
    """One question that can be asked of pipelines.

    - `name`: that of its command and of its function in Python.
    - `find`: returns the finding; its docstring is the help of the command. Raises AssayError for
      invalid options.
    - `report`: the report of a finding.
    - `preview`: the output of a dry run, if one is requested, and `previewed` the form of its JSON;
      see `assay.eval.cli.schema`.
    - `write`: writes the files of the command, whose `places` it may name.
    - `log`: sends the finding and its files to MLflow, and returns the id of the run there, or the
      ids of several, which the JSON of the command has as `logged`. Raises TrackingError.
    - `shown`: the class that shows a finding as the JSON of the command, if it is not the
      finding itself; `forms` are those of several kinds of findings that are imported late.
    - `status`: the exit code of the command.
    - `titled`: true if its screen begins with the title; else it begins with the verdict, which
      names everything.
    """

    name: str
    options: type[O]
    find: Callable[[O, Lab], F]
    report: "Callable[[F], Report]"
    preview: Callable[[O, Lab], Preview | None] = lambda *_: None
    previewed: Any = None
    write: "Callable[[F, Report, O, Lab], Written]" = write_page
    places: tuple[str, ...] = ("report",)
    log: Callable[[F, Sequence[Path], Lab], str | Sequence[str] | None] | None = None
    logged: Literal["mlflow_run", "mlflow_runs", "mlflow_parent"] = "mlflow_run"
    shown: Callable[[F], Any] | None = None
    forms: tuple[Any, ...] = ()
    status: Callable[[F], int] = lambda _: 0
    titled: bool = True
