"""Which stages compare scores with numbers, and whether a pipeline gives them such scores."""

from collections.abc import Sequence

from retrievers.fusion import FusionSettings, RrfSettings
from retrievers.legs.base import Kind
from retrievers.stages.calibrate import CalibrateSettings
from retrievers.stages.mmr import MmrSettings
from retrievers.stages.neighbours import NeighboursSettings
from retrievers.stages.registry import StageSettings
from retrievers.stages.rerank import RerankSettings
from retrievers.stages.threshold import ThresholdSettings


def find_unscaled(
    stages: Sequence[StageSettings], fusion: FusionSettings | None, kind: Kind
) -> str:
    """Say in words which stage compares scores that have no scale; empty if none does.

    Without `fusion` there is a single leg of `kind`; a semantic one gives cosines. Fused scores
    have no scale before they are calibrated, and lose it where a stage gives scores of its own.
    """
    scaled = fusion is None and kind == "semantic"
    missing = "put calibrate before it" if fusion else f"those of a single {kind} leg have none"
    for stage in stages:
        if isinstance(stage, CalibrateSettings):
            if fusion is None:
                return "calibrate: needs fusion; the scores of a single leg have no known maximum"
            scaled = True
        key, way_out = _compares(stage)
        if key and not scaled:
            return f"{key}: needs scores on a scale: {missing}{way_out}"
        if isinstance(stage, NeighboursSettings) and key and isinstance(fusion, RrfSettings):
            return (
                f"{key}: rrf knows ranks, not how near two scores were, and puts the best two of "
                f"every query close together; use linear fusion{way_out}"
            )
        if isinstance(stage, MmrSettings | RerankSettings):
            scaled, missing = False, f"{stage.type} puts others in the place of calibrated ones"
    return ""


def _compares(stage: StageSettings) -> tuple[str, str]:
    """Return the key by which a stage compares scores, with the other way out, if it does."""
    if isinstance(stage, ThresholdSettings):
        return "threshold.minimum", ""
    if isinstance(stage, MmrSettings) and stage.relevance == "score":
        return "mmr.relevance", ", or set it to min-max"
    if isinstance(stage, NeighboursSettings) and stage.score_delta is not None:
        return "neighbours.score_delta", ", or set it to null"
    return "", ""
