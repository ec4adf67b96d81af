"""What `configs/targets.yaml` may say: each target, how it is measured, and its limits."""

from typing import Annotated, ClassVar

from pydantic import Field, field_validator, model_validator

from assay.eval.studies.targets.measurement_base import LARGEST
from assay.eval.studies.targets.measurements import Measurement
from assay.retrievers.settings import Settings


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
        if self.measurements and not any(item.limits for item in self.measurements):
            raise ValueError("measurements: one of them needs a limit, such as at_least")
        labels = [item.label for item in self.measurements]
        if twice := [label for label in labels if labels.count(label) > 1]:
            raise ValueError(f"measurements: the label {twice[0]!r} stands twice")
        return self


class PipelineReference(Settings):
    """A config, and what is changed in it."""

    config: str = Field(min_length=1, description="a YAML file beside this one")
    overrides: list[str] = Field(default_factory=list, description="as in retriever.fusion.k=10")


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

    def locate(self, name: str) -> PipelineReference:
        """Return the config that a pipeline's name means."""
        return self.pipelines.get(name) or PipelineReference(config=f"{name}.yaml")
