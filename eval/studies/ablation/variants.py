"""The parts of a pipeline, and which of them must go or come together.

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
# The types of the legs of a plain pipeline.
DENSE, KEYWORD = "dense", "bm25"
LISTS = {"query": "query", "stage": "stages"}


@dataclass(frozen=True, slots=True)
class PipelinePart:
    """A query step, leg or stage: the one at position `at` of its list, named as in traces; or how
    documents are cut, by the chunker's type; or what is put before each chunk, by its source.

    `plain` is the type of the plain leg that does as it does, empty where there is none.
    """

    kind: Literal["chunker", "context", "query", "leg", "stage"]
    at: int
    name: str
    type: str
    plain: str = ""

    @property
    def steps(self) -> str:
        """The kind in words."""
        return "query step" if self.kind == "query" else self.kind


@dataclass(frozen=True)
class Variant:
    """The pipeline without `part`, or the plain one with it; `refusal` says why there is none.

    `along` are other parts that had to go or come with it. `replaces` says that the part takes
    the place of a leg of the plain pipeline. `defaults` are the keys of `documents` that are left
    at their defaults.
    """

    part: PipelinePart
    along: tuple[PipelinePart, ...] = ()
    settings: Settings | None = None
    replaces: bool = False
    refusal: str = ""
    defaults: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Plain:
    """A dense and a plain keyword leg fused by RRF, as near to the pipeline as can be.

    `parts` are those of the pipeline that it consists of. Without a dense leg in the pipeline it
    is the keyword leg alone.
    """

    settings: Settings
    parts: tuple[PipelinePart, ...]


def list_parts(retriever: Settings, active: Mapping[str, str]) -> list[PipelinePart]:
    """Return the parts in the order in which they work.

    Of the legs, they are those that are `active`, given by name with their `plain` type.
    """
    return [
        *(
            PipelinePart("query", i, item["type"], item["type"])
            for i, item in _listed(retriever, "query")
        ),
        *(
            PipelinePart("leg", i, name, leg["type"], active[name])
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


def make_plain(retriever: Settings, parts: Sequence[PipelinePart]) -> Plain:
    """Return the plain pipeline: the first dense leg, and the first BM25 leg.

    Where the pipeline has no BM25 leg it is one of default settings, in the place of a BM25F leg.
    Weights stay where the pipeline's own fusion is RRF.
    """
    legs: dict[str, Any] = {}
    own = []
    for type_ in (DENSE, KEYWORD):
        if part := next((part for part in parts if _is_plain(retriever, part, type_)), None):
            legs[part.name] = retriever["legs"][part.name]
            own.append(part)
    if not any(part.plain == KEYWORD for part in own):
        legs |= _default_keyword(retriever, parts)
    return Plain(_compose(retriever, legs, ()), tuple(own))


def plan_additions(
    retriever: Settings, plain: Plain, parts: Sequence[PipelinePart], check: Check
) -> list[Variant]:
    """Return for each part that is not in the plain pipeline that pipeline with it.

    What the part needs comes with it: the fewest others, of equally few the first.
    """
    others = [part for part in parts if part not in plain.parts]
    return [_plan_addition(retriever, plain, part, others, check) for part in others]


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


def _plan_addition(
    retriever: Settings,
    plain: Plain,
    part: PipelinePart,
    parts: Sequence[PipelinePart],
    check: Check,
) -> Variant:
    replaces = part.kind == "leg" and part.name in plain.settings["legs"]
    for others in _choose(parts[: parts.index(part)]):
        settings = add(retriever, plain, [part, *others])
        if not check(settings):
            return Variant(part, others, settings, replaces)
    refusal = check(add(retriever, plain, parts)) or check(add(retriever, plain, [part]))
    return Variant(part, refusal=refusal)


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


def add(retriever: Settings, plain: Plain, added: Collection[PipelinePart]) -> Settings:
    """Return the plain pipeline with the parts `added`, in the order of the pipeline."""
    legs = dict(plain.settings["legs"])
    names = {part.name for part in added if part.kind == "leg"}
    legs |= {name: leg for name, leg in retriever["legs"].items() if name in names}
    return _compose(retriever, legs, added)


def _compose(retriever: Settings, legs: Settings, added: Collection[PipelinePart]) -> Settings:
    """Return a hybrid pipeline of `legs`, fused by RRF, with the steps and stages `added`."""
    fusion = retriever.get("fusion") or {}
    if fusion.get("type") != "rrf":
        fusion = {"type": "rrf", "boosts": fusion.get("boosts", {})}
    lists = {
        LISTS[kind]: [
            item
            for i, item in _listed(retriever, kind)
            if any((part.kind, part.at) == (kind, i) for part in added)
        ]
        for kind in LISTS
    }
    fused = _fusion({"fusion": fusion}, legs)
    return {**retriever, "mode": "hybrid", **lists, "legs": dict(legs), "fusion": fused}


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


def _is_plain(retriever: Settings, part: PipelinePart, type_: str) -> bool:
    """Return whether a part is the leg of this type, and does not search by fields."""
    found = part.type == part.plain == type_
    return found and retriever["legs"][part.name].get("weights") is None


def _default_keyword(retriever: Settings, parts: Sequence[PipelinePart]) -> dict[str, Any]:
    """Return a BM25 leg by its name: that of the BM25F leg whose place it takes, if there is."""
    fielded = next((part.name for part in parts if part.plain == KEYWORD), "")  # as none is plain
    if fielded:
        depth = retriever["legs"][fielded].get("depth")
        return {fielded: {"type": KEYWORD, **({"depth": depth} if depth else {})}}
    name = "keyword"
    while name in retriever["legs"]:
        name = f"plain_{name}"
    return {name: {"type": KEYWORD}}


def _check(settings: Settings, check: Check) -> str:
    return check(settings) if settings["legs"] else "nothing else searches"
