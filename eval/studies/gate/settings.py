"""The settings of the gate: measures, minimum effects, guarded queries and latency limits."""

from pathlib import Path

from pydantic import Field, field_validator

from assay.eval.runs.machine_load import BUSY
from assay.eval.scoring.measure import SHARE
from assay.eval.scoring.measures import find
from assay.retrievers.base import AssayError
from assay.retrievers.base.yaml_text import parse_yaml
from assay.retrievers.settings import Settings, validate
from assay.retrievers.settings.files import read_text

DEFAULT_SETTINGS = Path("configs/gate.yaml")


class MustNotBreak(Settings):
    """Queries that must not score lower than in the baseline, whatever the means do."""

    measure: str = Field("Hit@10", description="what they are scored by")
    queries: dict[str, list[str]] = Field(
        default_factory=dict, description="ids of queries, by the name of their collection"
    )

    @field_validator("measure")
    @classmethod
    def _is_known(cls, measure: str) -> str:
        return find(measure).name


class LatencyLimits(Settings):
    """The largest ratio of latency, head / base, that passes; and when none is judged."""

    p50: float = Field(1.2, gt=1, description="of the median")
    p95: float = Field(1.3, gt=1, description="of the 95th percentile")
    busy: float = Field(
        BUSY,
        gt=0,
        le=1,
        description="share of the cores from which on other processes make latency unjudgeable",
    )


class GateSettings(Settings):
    """The settings of `configs/gate.yaml`."""

    measures: dict[str, float] = Field(
        default_factory=lambda: {"nDCG@10": 0.02, "MRR@10": 0.02, "Recall@20": 0.02},
        min_length=1,
        description="the gated measures, each with its minimum effect: the loss that matters",
    )
    false_alarms: float = Field(
        0.005, ge=0.001, le=0.1, description="chance of a regression when nothing changed"
    )
    assumed_moves: float = Field(
        0.2,
        ge=0,
        le=1,
        description="share of queries assumed to get the scores of another in a run that did not "
        "change on average; the margin of a pass follows from it; 0 for the minimum effect",
    )
    must_not_break: MustNotBreak = Field(default_factory=MustNotBreak)
    latency: LatencyLimits = Field(default_factory=LatencyLimits)

    @field_validator("measures")
    @classmethod
    def _can_be_gated(cls, measures: dict[str, float]) -> dict[str, float]:
        for name, effect in measures.items():
            measure = find(name)
            if not measure.is_ranked:
                raise ValueError(f"{name} cannot be gated: neither more nor less of it is better")
            if measure.sign < 0 and measure.within != SHARE:
                raise ValueError(f"{name} cannot be gated: lower is better, and it is no share")
            if not 0 < effect < 1:
                raise ValueError(f"{name}: the minimum effect must lie between 0 and 1")
        known = {find(name).name: effect for name, effect in measures.items()}
        if len(known) < len(measures):
            raise ValueError(f"one measure stands twice among {', '.join(measures)}")
        return known

    @property
    def scored(self) -> list[str]:
        """The measures that the gate needs for each query."""
        return list(dict.fromkeys([*self.measures, self.must_not_break.measure]))


def load_settings(path: Path | None) -> GateSettings:
    """Read the settings at `path`; by default `configs/gate.yaml`, or defaults without that file.

    Raises AssayError naming the file, the key and the fault.
    """
    if path is None and not DEFAULT_SETTINGS.exists():
        return GateSettings()
    path = path or DEFAULT_SETTINGS
    values = parse_yaml(read_text(path), str(path)) or {}
    try:
        return validate(GateSettings, values, str(path))
    except AssayError as error:
        raise AssayError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
