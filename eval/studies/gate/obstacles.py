"""Reasons why a run cannot be judged against a baseline, in words."""

from collections.abc import Sequence

from assay.eval.runs import generated_answers
from assay.eval.runs.stored import StoredRun
from assay.eval.scoring.measures import find
from assay.eval.studies.gate.baseline import Baseline
from assay.eval.studies.gate.kept_rankings import Kept, keep_rankings


def list_obstacles(baseline: Baseline, head: StoredRun, base: StoredRun | None = None) -> list[str]:
    """Return the reasons why `head` cannot be judged against `baseline`; empty if it can.

    `base` is the run of the baseline's pipeline on the collection of `head`, if that changed.
    """
    obstacles = _list_faults(head, "the run")
    if base is not None:
        return obstacles + _list_faults(base, "the run of the baseline's pipeline")
    manifest = head.manifest
    if manifest.join_rule != baseline.join_rule:
        obstacles.append("the join rule differs from the baseline's")
    if manifest.collection.digest != baseline.collection.digest:
        obstacles.append("the collection's documents, queries or judgments changed")
    elif not manifest.sampled and head.queries.keys() != baseline.scores.keys():
        obstacles.append("the baseline's file lacks queries or has others; accept a new one")
    return obstacles + _list_misfits(baseline, head)


def list_mismatches(baseline: Baseline, head: StoredRun, names: Sequence[str]) -> list[str]:
    """Return the reasons why a run cannot be paired with a baseline of another collection version.

    The list is empty if the baseline's pipeline can be run for comparison. `names` are the gated
    measures.
    """
    mismatches = _list_faults(head, "the run")
    then = baseline.rankings
    if not (before := _list_units(then)) & (after := _list_units(keep_rankings(head))):
        mismatches.append(
            f"its judgments are of {_name(after)}, the baseline's of {_name(before)}; accept a "
            "new baseline"
        )
    if answers := [name for name in names if find(name).of_answers]:
        mismatches.append(
            f"{', '.join(answers)}: of generated answers, which the baseline's pipeline has not "
            "given on today's collection; answer a run anew and accept it"
        )
    return mismatches


def _list_faults(run: StoredRun, called: str) -> list[str]:
    faults = [
        f"{called} is degraded on {count} of its queries ({line})"
        for line, count in run.manifest.degraded.items()
    ]
    return (
        [*faults, f"{called} searched a sample of the queries"] if run.manifest.sampled else faults
    )


def _list_misfits(baseline: Baseline, head: StoredRun) -> list[str]:
    """Return the reason if answers to `head` are by another model or prompt; else empty."""
    found = generated_answers.read(head.folder) if baseline.answered_by else None
    if baseline.answered_by is None or found is None or found.recipe.fits(baseline.answered_by):
        return []
    return [
        f"it was answered by {found.recipe.words}, the baseline by {baseline.answered_by.words};"
        " answer it alike, or accept a new one"
    ]


def _list_units(kept: Kept) -> set[str]:
    return {gold.unit for item in kept.values() for gold in item.gold}


def _name(units: set[str]) -> str:
    return " and ".join(f"{unit}s" for unit in sorted(units)) or "nothing"
