"""The parts of a pipeline, and the pipeline without each of them.

Settings are those of a pipeline as JSON values. A `Check` says if they are valid.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

Settings = Mapping[str, Any]
# Returns the fault in settings, in words; "" if they are valid.
Check = Callable[[Settings], str]

MOST_COMPANIONS = 3
LISTS = {"query": "query", "stage": "stages"}


@dataclass(frozen=True, slots=True)
class PipelinePart:
    """A part of a pipeline: a query step, leg or stage, the chunker, or the context of chunks.

    Attributes:
        kind: The kind of part.
        at: Its position in its list; 0 for the chunker and the context.
        name: Its name in traces; for the chunker its type, for the context its source.
        type: The type in its settings; for the chunker and the context the kind.

    """

    kind: Literal["chunker", "context", "query", "leg", "stage"]
    at: int
    name: str
    type: str

    @property
    def steps(self) -> str:
        """The kind in words."""
        return "query step" if self.kind == "query" else self.kind


@dataclass(frozen=True)
class Variant:
    """The pipeline without `part`.

    Attributes:
        part: The part that is removed.
        along: The other parts that have to be removed with it.
        settings: The settings of the pipeline without them; None if there is no such pipeline.
        refusal: The reason why there is none; "" if there is one.
        defaults: The keys of `documents` that are left at their defaults.

    """

    part: PipelinePart
    along: tuple[PipelinePart, ...] = ()
    settings: Settings | None = None
    refusal: str = ""
    defaults: frozenset[str] = frozenset()


def list_parts(retriever: Settings, active: Collection[str]) -> list[PipelinePart]:
    """Return the parts in the order in which they work.

    Only the legs named in `active` are included.
    """
    return [
        *(
            PipelinePart("query", i, item["type"], item["type"])
            for i, item in _listed(retriever, "query")
        ),
        *(
            PipelinePart("leg", i, name, leg["type"])
            for i, (name, leg) in enumerate(retriever["legs"].items())
            if name in active
        ),
        *(
            PipelinePart("stage", i, item["type"], item["type"])
            for i, item in _listed(retriever, "stage")
        ),
    ]


def plan_removals(
    retriever: Settings, parts: Sequence[PipelinePart], check: Check
) -> list[Variant]:
    """Return for each part the pipeline without it and without the parts that depend on it.

    Where dependent parts are removed, the parts that depend on these are removed too: a threshold
    was set for calibrated scores, and means nothing for other scores.
    """
    found = {part: _find_dependents(retriever, part, parts, check) for part in parts}
    return [_plan_removal(retriever, part, parts, found, check) for part in parts]


def _listed(retriever: Settings, kind: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    yield from enumerate(retriever.get(LISTS[kind], ()))


def _choose(parts: Sequence[PipelinePart]) -> Iterator[tuple[PipelinePart, ...]]:
    """Yield every combination of at most `MOST_COMPANIONS` of `parts`, the smallest first."""
    for size in range(min(MOST_COMPANIONS, len(parts)) + 1):
        yield from combinations(parts, size)


def _find_dependents(
    retriever: Settings, part: PipelinePart, parts: Sequence[PipelinePart], check: Check
) -> tuple[PipelinePart, ...] | None:
    """Return the fewest other parts to remove so that the pipeline is valid without `part`.

    Only later parts can depend on `part`. None if no removal makes the pipeline valid.
    """
    later = parts[parts.index(part) + 1 :]
    return next(
        (
            others
            for others in _choose(later)
            if not _check(drop(retriever, [part, *others]), check)
        ),
        None,
    )


def _plan_removal(
    retriever: Settings,
    part: PipelinePart,
    parts: Sequence[PipelinePart],
    found: Mapping[PipelinePart, tuple[PipelinePart, ...] | None],
    check: Check,
) -> Variant:
    along = found[part]
    if along is None:
        return Variant(part, refusal=_check(drop(retriever, [part]), check))
    gone = {part, *along}
    for other in along:
        gone |= {*(found[other] or ())}
    if _check(drop(retriever, gone), check):
        gone = {part, *along}
    ordered = tuple(other for other in parts if other in gone and other != part)
    return Variant(part, ordered, drop(retriever, gone))


def drop(retriever: Settings, gone: Collection[PipelinePart]) -> Settings:
    """Return the pipeline without the parts `gone`, and without their weights and boosts.

    If only one leg is left, the fusion is removed.
    """
    names = {part.name for part in gone if part.kind == "leg"}
    legs = {name: leg for name, leg in retriever["legs"].items() if name not in names}
    lists = {
        LISTS[kind]: [
            item
            for i, item in _listed(retriever, kind)
            if not any((part.kind, part.at) == (kind, i) for part in gone)
        ]
        for kind in LISTS
    }
    return {**retriever, **lists, "legs": legs, "fusion": _fusion(retriever, legs)}


def _fusion(retriever: Settings, legs: Settings) -> dict[str, Any] | None:
    """Return the fusion with the weights and boosts of `legs` alone; None for a single leg."""
    fusion = retriever.get("fusion")
    if fusion is None or len(legs) < 2:
        return None
    kept = {
        key: {name: value for name, value in fusion.get(key, {}).items() if name in legs}
        for key in ("weights", "boosts")
    }
    return {**fusion, **kept}


def _check(settings: Settings, check: Check) -> str:
    return check(settings) if settings["legs"] else "nothing else searches"
