"""The options of tuning."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from assay.eval.running.study import Option
from assay.eval.running.study_options import (
    FORCE_HELP,
    LARGEST,
    EngineOptions,
    WorkerOptions,
)
from assay.eval.scoring.measures import HEADLINE
from assay.eval.studies.tuning.nested_cv import FOLDS, REPEATS, Design


class TuningOptions(WorkerOptions, EngineOptions):
    """What is tuned, how its gain is held out, and where the best config goes.

    The space is read from the file `space` or from `over`; with neither, it is made for the config.
    `group_by` is as in `assay.eval.studies.comparison.query_groups`; None lets the questions
    decide.
    """

    space: Path | None = Field(None, description="A YAML file of values to try.")
    over: Annotated[tuple[str, ...], Option(metavar="KEY=V1,V2")] = Field(
        (), description="Values to try; repeatable."
    )
    trials: int | None = Field(
        None, ge=1, le=LARGEST, description="Try so many points, drawn at random."
    )
    measure: str = Field(HEADLINE, description="What is to rise.")
    folds: int = Field(FOLDS, ge=2, le=LARGEST, description="Parts the queries are dealt into.")
    repeats: int = Field(REPEATS, ge=1, le=LARGEST, description="How often they are dealt.")
    seed: int = Field(0, ge=0, le=LARGEST, description="What folds and trials are drawn by.")
    group_by: Literal["text", "document"] | None = Field(
        None,
        description="Queries that no fold may part: those of the same words, or also of the same "
        "documents.  [default: document where the verdict is for other documents]",
    )
    output: Path | None = Field(
        None,
        description="The config to write.  [default: tuned/NAME-COLLECTION-SPACE.yaml below the "
        "reports]",
    )
    force: bool = Field(False, description=FORCE_HELP)

    @property
    def design(self) -> Design:
        """The design of the cross-validation."""
        return Design(self.folds, self.repeats, self.seed)
