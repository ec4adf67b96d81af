"""CONFIG@ENGINE: the same pipeline with its lists, or one of them, from another engine."""

from typing import Any

from assay.eval.configs.engine_settings import read_engine
from assay.retrievers.base import AssayError
from assay.retrievers.legs.placement import IN_ENGINE, MOVES, place_leg
from assay.retrievers.legs.registry import LEGS


class StayingKeysError(AssayError):
    """A leg was moved to an engine in which some of its keys have no meaning."""


def choose_engine(values: dict[str, Any], type_: str) -> None:
    """Let a config, as read, search in the engine `type_` with its default settings.

    Legs on an engine move to that one, if it has their search. If there is none, a dense leg keeps
    its encoder and depth and moves there: the store is searched by vectors alone, and its list is
    fused here with the other legs. The name says so. Raises AssayError if nothing can move, if the
    engine does not fuse and should, or if there is no such engine.
    """
    can = read_engine(type_).settings.capabilities
    legs = _find_legs(values)
    types = {name: str(leg.get("type")) for name, leg in legs.items() if isinstance(leg, dict)}
    if "native_hybrid" in types.values() and "hybrid" not in can.searches:
        raise AssayError(f"engine {type_}: {can.describe_lack(type_, 'hybrid')}")
    there = [kind for kind, moved, search in MOVES if kind == moved and search in can.searches]
    # If the store does not fuse, each of its lists is fused here as a leg.
    others = [
        kind
        for kind, moved, search in MOVES
        if kind != moved and (search == "dense" or (can.fuses == "here" and search in can.lists))
    ]
    moving = [name for name, kind in types.items() if kind in there] or [
        name for name, kind in types.items() if kind in others
    ]
    if not moving:
        found = ", ".join(f"{name} ({kind})" for name, kind in types.items()) or "none"
        raise AssayError(
            f"engine {type_}: no leg can move there: it takes legs of type "
            f"{', '.join(there)} or {', '.join(others)}; there are: {found}"
        )
    for name in moving:
        legs[name] = place_leg(legs[name], IN_ENGINE[types[name]], {"type": type_})
    values["name"] = f"{values.get('name', 'pipeline')}-{type_}"


def check_keys(values: dict[str, Any], type_: str) -> None:
    """Check that legs, moved to the engine `type_`, have no keys that only others have here.

    Raises StayingKeysError, for a search by smaller vectors is not the engine's own.
    """
    for name, leg in _find_legs(values).items():
        moved = str(leg.get("type")) if isinstance(leg, dict) else ""
        if staying := sorted(_list_staying(moved) & set(leg)):
            raise StayingKeysError(
                f"engine {type_}: retriever.legs.{name}: not allowed in an engine: "
                f"{', '.join(staying)}; allowed: {', '.join(LEGS.types[moved].model_fields)}"
            )


def _list_staying(moved: str) -> set[str]:
    """Return the keys that a `moved` leg lacks, of the legs that become one in an engine."""
    here = (LEGS.types[type_].model_fields for type_, to, _ in MOVES if to == moved)
    return {key for fields in here for key in fields if key not in LEGS.types[moved].model_fields}


def _find_legs(values: dict[str, Any]) -> dict[str, Any]:
    """Return the legs of a config, as read; none if it has no such mapping."""
    retriever = values.get("retriever")
    legs = retriever.get("legs") if isinstance(retriever, dict) else None
    return legs if isinstance(legs, dict) else {}
