"""The parts of a pipeline, and which of them must go together.

Settings are those of a pipeline as JSON values. Whether they are valid is asked of a `Check`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

Settings = Mapping[str, Any]
# Says in words what is wrong with settings; empty if nothing is.
Check = Callable[[Settings], str]

MOST_COMPANIONS = 3
LISTS = {"query": "query", "stage": "stages"}


@dataclass(frozen=True, slots=True)
class PipelinePart:
    """A query step, leg or stage: the one at position `at` of its list, named as in traces; or how
    documents are cut, by the chunker's type; or what is put before each chunk, by its source.
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
    """The pipeline without `part`; `refusal` says why there is none.

    `along` are other parts that had to go with it. `defaults` are the keys of `documents` that are
    left at their defaults.
    """

    part: PipelinePart
    along: tuple[PipelinePart, ...] = ()
    settings: Settings | None = None
    refusal: str = ""
    defaults: frozenset[str] = frozenset()


def list_parts(retriever: Settings, active: Collection[str]) -> list[PipelinePart]:
    """Return the parts in the order in which they work.

    Of the legs, they are those that are `active`, given by name.
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
    """Return for each part the pipeline without it, and without what cannot be without it.

    A part that goes with another takes along what goes with itself: a threshold was set for
    calibrated scores, and means nothing where there are others.
    """
    found = {part: _find_dependents(retriever, part, parts, check) for part in parts}
    return [_plan_removal(retriever, part, parts, found, check) for part in parts]


def _listed(retriever: Settings, kind: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    yield from enumerate(retriever.get(LISTS[kind], ()))


def _choose(parts: Sequence[PipelinePart]) -> Iterator[tuple[PipelinePart, ...]]:
    """Yield every choice of few of `parts`, the smallest first."""
    for size in range(min(MOST_COMPANIONS, len(parts)) + 1):
        yield from combinations(parts, size)


def _find_dependents(
    retriever: Settings, part: PipelinePart, parts: Sequence[PipelinePart], check: Check
) -> tuple[PipelinePart, ...] | None:
    """Return the fewest others without which the pipeline is valid without `part`, if any.

    A part depends on what works before it.
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
    """Return the pipeline without the parts `gone`; their weights and boosts go with them.

    Where one leg is left there is no fusion.
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
    """Return the fusion with what concerns `legs`; None for a single leg."""
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
