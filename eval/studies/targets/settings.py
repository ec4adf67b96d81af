"""The settings of `configs/targets.yaml`: targets, their measurements and their limits."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, field_validator, model_validator

from assay.eval.collections.catalog import find
from assay.eval.configs.overrides import read_override
from assay.eval.scoring.measures import check_ranking
from assay.eval.studies.targets.first_results import Documents, Duplicates, Similarity
from assay.eval.studies.targets.ingests import Ingest, Stale
from assay.eval.studies.targets.lab import PipelineReference, TargetLab
from assay.eval.studies.targets.limits import LARGEST
from assay.eval.studies.targets.scores import Change, Score, ScoredMeasurement
from assay.eval.studies.targets.times import Latency, LatencyRatio, SlowestStage
from assay.eval.studies.targets.traced import TraceFlow, TraceMeasurement
from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.settings import Settings, validate
from assay.retrievers.settings.errors import naming_place
from assay.retrievers.settings.files import read_mapping
from assay.retrievers.settings.trust import check_values

Measurement = (
    Score
    | Change
    | Latency
    | SlowestStage
    | LatencyRatio
    | Ingest
    | Stale
    | Documents
    | Similarity
    | Duplicates
    | TraceFlow
    | TraceMeasurement
)


class Target(Settings):
    """One criterion: how it is measured, or the reason why that is not possible yet."""

    largest: ClassVar[float] = LARGEST

    criterion: str = Field(min_length=1, description="what it is about, in words")
    as_written: str = Field(min_length=1, description="the words of the design it comes from")
    measurements: list[Annotated[Measurement, Field(discriminator="type")]] = Field(
        default_factory=list, description="each with its own limits"
    )
    reason: str = Field("", description="why it cannot be measured yet")
    remark: str = Field("", description="what explains the verdict, for who reads it")

    @model_validator(mode="after")
    def _is_measured_or_not(self) -> "Target":
        if not self.measurements and not self.reason:
            raise ValueError("measurements: missing; or give the reason why there are none yet")
        if self.measurements and not any(item.bounds for item in self.measurements):
            raise ValueError("measurements: one of them needs a limit, such as at_least")
        labels = [item.label for item in self.measurements]
        if twice := [label for label in labels if labels.count(label) > 1]:
            raise ValueError(f"measurements: the label {twice[0]!r} stands twice")
        return self


class TargetsSettings(Settings):
    """All targets, by id."""

    largest: ClassVar[float] = LARGEST

    pipelines: dict[str, PipelineReference] = Field(
        default_factory=dict, description="pipelines that are no config of their own, by name"
    )
    targets: dict[str, Target] = Field(min_length=1, description="the criteria, by id")

    @field_validator("targets")
    @classmethod
    def _ids_are_plain(cls, targets: dict[str, Target]) -> dict[str, Target]:
        for name in targets:
            if not name.replace("-", "").isalnum():
                raise ValueError(f"{name!r}: an id is made of letters, digits and hyphens")
        return targets


def load_settings(path: Path) -> TargetsSettings:
    """Read the targets at `path`. Raises AssayError naming the file, the id and the key."""
    settings = validate(TargetsSettings, read_mapping(path), str(path))
    for name, pipeline in settings.pipelines.items():
        changes = dict(map(read_override, pipeline.overrides))
        check_values(path, {"pipelines": {name: {"overrides": changes}}})
    return settings


def check(settings: TargetsSettings, lab: TargetLab, path: Path) -> None:
    """Raise AssayError unless all named configs, collections and measures exist.

    Targets that can never be measured are thus refused before any work starts. Missing data of a
    collection or a missing model is no error of the file.
    """
    for name, target in settings.targets.items():
        for i, measurement in enumerate(target.measurements):
            place = f"{path}: {name}: measurements.{i}"
            with naming_place(f"{place}.dataset"):
                find(measurement.dataset)
            for key, pipeline in measurement.pipelines.items():
                with naming_place(f"{place}.{key}"):
                    lab.config(pipeline, measurement.dataset)
            if isinstance(measurement, ScoredMeasurement):
                with naming_place(f"{place}.measure"):
                    check_ranking([measurement.plain_measure])


def choose(settings: TargetsSettings, ids: Sequence[str], path: Path) -> Mapping[str, Target]:
    """Return the targets with these ids, in the order of the file; all if none is given."""
    if unknown := [name for name in ids if name not in settings.targets]:
        there = ", ".join(settings.targets)
        near = suggest(unknown[0], settings.targets)
        raise AssayError(f"{path}: there is no target {unknown[0]}; there are: {there}{near}")
    return {name: item for name, item in settings.targets.items() if not ids or name in ids}
