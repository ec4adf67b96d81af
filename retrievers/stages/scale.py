"""Which stages compare scores with numbers, and whether a pipeline gives them such scores."""

from collections.abc import Sequence

from retrievers.fusion import FusionSettings
from retrievers.legs.base import Kind
from retrievers.stages.base import StageSettings


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
        if stage.scale == "always":
            if fusion is None:
                return (
                    f"{stage.type}: needs fusion; the scores of a single leg have no known maximum"
                )
            scaled = True
        if compared := stage.comparison:
            if not scaled:
                way_out = f"{missing}{compared.way_out}"
                return f"{compared.key}: needs scores on a scale: {way_out}"
            if compared.differences and fusion and fusion.type == "rrf":
                return (
                    f"{compared.key}: rrf knows ranks, not how near two scores were, and puts the "
                    "best two of every query close together; use linear fusion"
                    f"{compared.way_out}"
                )
        if stage.scale == "never":
            scaled, missing = False, f"{stage.type} puts others in the place of calibrated ones"
    return ""
