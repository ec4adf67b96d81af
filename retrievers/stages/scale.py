"""The stages that compare scores with numbers, and the check that their scores are on a scale."""

from collections.abc import Mapping, Sequence

from assay.retrievers.fusion.fusion import FusionSettings
from assay.retrievers.legs.base import Kind
from assay.retrievers.stages.base import Comparison, StageSettings


def find_unscaled(
    stages: Sequence[StageSettings],
    fusion: FusionSettings | None,
    legs: Mapping[str, Kind],
    ranking: str = "",
) -> str:
    """Say in words which stage compares scores that have no scale; empty if none does.

    `legs` are those that search, in order. Without `fusion` there is a single one; a semantic one
    gives cosines. Fused scores have no scale before they are calibrated, and lose it where a stage
    gives scores of its own that have none. `ranking` is the query step, if any, that makes every
    leg hand on ranks alone.
    """
    kind = next(iter(legs.values()))
    scaled = fusion is None and kind == "semantic" and not ranking
    fused = fusion is not None
    lacking = f"{ranking} leaves" if ranking else f"those of a single {kind} leg have"
    missing = "put calibrate before it" if fusion else f"{lacking} none"
    for stage in stages:
        if stage.scale == "calibrated":
            if not fused:
                return (
                    f"{stage.type}: needs fusion; the scores of a single leg have no known maximum"
                )
            scaled = True
        compared = stage.comparison
        if compared and compared.leg:
            if ranking:
                return f"{compared.key}: needs the leg's own scores; {ranking} leaves ranks alone"
            if problem := _find_wrong_leg(compared, legs):
                return problem
        elif compared:
            if not scaled:
                way_out = f"{missing}{compared.way_out}"
                return f"{compared.key}: needs scores on a scale: {way_out}"
            if compared.beyond_ranks and fused and ranking:
                return f"{compared.key}: {ranking} knows ranks, not {compared.beyond_ranks}"
            if compared.beyond_ranks and fused and fusion and fusion.type == "rrf":
                return (
                    f"{compared.key}: rrf knows ranks, not {compared.beyond_ranks}; use linear "
                    f"fusion{compared.way_out}"
                )
        if stage.scale == "own":
            scaled, fused = True, False
        if stage.scale == "never":
            scaled, missing = False, f"{stage.type} puts others in the place of calibrated ones"
    return ""


def _find_wrong_leg(compared: Comparison, legs: Mapping[str, Kind]) -> str:
    """Say why the scores of the leg have no scale; empty if they are cosines."""
    if legs.get(compared.leg) == "semantic":
        return ""
    found = f"is a {legs[compared.leg]} leg" if compared.leg in legs else "is no leg that searches"
    semantic = ", ".join(name for name, kind in legs.items() if kind == "semantic") or "none"
    return (
        f"{compared.key}: {compared.leg} {found}; needs one whose scores are cosines; allowed: "
        f"{semantic}"
    )
