"""The project file: defaults of commands in its folder."""

import json
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field, PrivateAttr, field_validator

from assay.eval.configs.named_configs import find_config, split_engine
from assay.eval.scoring.measures import check_names
from assay.retrievers.base import AssayError
from assay.retrievers.settings import Settings, validate
from assay.retrievers.settings.errors import naming_place

FILE, SHARED = "assay.toml", "pyproject.toml"
TEXT = """\
# What assay takes in this folder where the command line names nothing.
collection = {collection}
pipelines = [{pipeline}]
baseline = "bm25"  # what `assay compare` holds the pipelines against
# measures = ["nDCG@10", "Hit@5"]
# reports = "reports"
# To keep questions apart for verdicts (`assay compare --held-out`), and develop on the others:
# collection = {development}
# held_out = {held_out}
"""


class Project(Settings):
    """The settings of `assay.toml`, or of the table `tool.assay` of `pyproject.toml`."""

    collection: str | None = Field(
        None, min_length=1, description="judged on where neither command line nor config names one"
    )
    pipelines: list[str] = Field(
        default_factory=list, description="configs by path or name, CONFIG@ENGINE too"
    )
    baseline: str | None = Field(
        None, min_length=1, description="the config that they are compared with"
    )
    measures: list[str] = Field(
        default_factory=list, description="what is reported where a config names none"
    )
    reports: str | None = Field(None, min_length=1, description="the folder of runs and reports")
    held_out: str | None = Field(
        None,
        min_length=1,
        description="the questions kept apart: `assay compare --held-out` counts each look at them",
    )
    _source: str = PrivateAttr("")

    @field_validator("measures")
    @classmethod
    def _are_known(cls, measures: list[str]) -> list[str]:
        try:
            return check_names(measures)
        except AssayError as error:
            raise ValueError(str(error)) from None

    @property
    def source(self) -> str:
        """The file, as people call it."""
        return self._source

    def list_pipelines(self) -> list[str]:
        """Return the pipelines. Raises AssayError if there is none, or no such config."""
        if not self.pipelines:
            raise AssayError(
                f"{self.source}: pipelines: missing; name one there or on the command line"
            )
        for pipeline in self.pipelines:
            self._check(pipeline, "pipelines")
        return self.pipelines

    def complete(
        self, references: tuple[str, ...], base: str | None
    ) -> tuple[list[str], str | None]:
        """Return the references to compare and the base, with defaults for what is not given.

        Without references these are the pipelines; a single one is compared with the baseline.
        Overrides among the references stay. Raises AssayError as `list_pipelines` does.
        """
        named = [reference for reference in references if "=" not in reference]
        given = list(references) if named else [*self.list_pipelines(), *references]
        if base is None and len(named) < 2 and self.baseline not in (None, *named):
            self._check(str(self.baseline), "baseline")
            base = self.baseline
        return given, base

    def _check(self, config: str, key: str) -> None:
        with naming_place(f"{self.source}: {key}"):
            find_config(split_engine(config)[0])


def read_project() -> Project | None:
    """Return the project of the working folder, from `assay.toml` before `pyproject.toml`.

    None where it has none. Raises AssayError naming the file, the key, what is wrong and what is
    allowed.
    """
    for name in (FILE, SHARED):
        path = Path(name).absolute()
        if path.is_file() and (found := _read(path, path.stat().st_mtime_ns)) is not None:
            return found
    return None


@lru_cache(maxsize=8)
def _read(path: Path, _changed: int) -> Project | None:
    try:
        values: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise AssayError(f"{path.name}: no TOML: {error}") from None
    source = path.name
    if path.name == SHARED:
        tools = values.get("tool")
        if not isinstance(tools, dict) or "assay" not in tools:
            return None
        values, source = tools["assay"], f"{SHARED}, [tool.assay]"
    project = validate(Project, values, source)
    project._source = source
    return project


def write_project(collection: str, pipeline: str) -> Path | None:
    """Write `assay.toml` into the working folder; return None if it has a project file already."""
    if read_project() is not None:
        return None
    values = {"collection": collection, "pipeline": pipeline}
    values |= {"development": f"{collection}:development", "held_out": f"{collection}:held-out"}
    # A string of JSON is one of TOML too.
    text = TEXT.format(**{key: json.dumps(value) for key, value in values.items()})
    path = Path(FILE)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return None
    return path
