"""Legs in the stores that a config names for them."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from assay.retrievers.engines.capabilities import Search
from assay.retrievers.engines.registry import ENGINES, EngineSettings, expand_name
from assay.retrievers.legs.registry import LEGS
from assay.retrievers.legs.windows import Windows
from assay.retrievers.models.registry import AnyEncoder
from assay.retrievers.settings import Settings

# The type of each leg that can search in an engine, what it is there, and its search.
MOVES: tuple[tuple[str, str, Search], ...] = (
    ("dense", "engine_dense", "dense"),
    ("bm25", "engine_keyword", "keyword"),
    ("native_hybrid", "native_hybrid", "hybrid"),
    ("engine_dense", "engine_dense", "dense"),
    ("engine_keyword", "engine_keyword", "keyword"),
)
IN_ENGINE = {type_: moved for type_, moved, _ in MOVES}
SEARCHES = {moved: search for _, moved, search in MOVES}
# The type of a leg in an engine, by the name of a leg that states none.
BY_NAME: dict[str, str] = {search: moved for type_, moved, search in MOVES if type_ == moved}


class PlacedLeg(Settings):
    """A leg in the store that `engine` names; what it is its name says, or its type."""

    type: Literal["dense", "bm25"] | None = Field(
        None, description="what it is; not needed of legs named dense, keyword or hybrid"
    )
    engine: EngineSettings = Field(description="the store that indexes and searches, or its name")
    depth: int = Field(100, ge=1, description="candidates handed on")
    encoder: AnyEncoder | None = Field(None, description="the embedding model, or its name")
    windows: Windows | None = Field(None, description="dense: how long chunks are read")
    analyzer: str | None = Field(None, description="keyword: the language, where the store has it")


def place_leg(leg: Mapping[str, Any], type_: str, engine: Mapping[str, Any]) -> dict[str, Any]:
    """Return a leg, as a config has it, that searches in `engine` as one of `type_` does there.

    The store analyses texts as the leg says, where that is the name of a language and the store
    knows languages by name.
    """
    placed = {**leg, "type": type_, "engine": dict(engine)}
    found = ENGINES.types.get(str(engine.get("type")))
    path = found.language_key if found else ""
    if path and isinstance(placed.get("analyzer"), str):
        *parents, last = path.split(".")
        place = placed["engine"]
        for key in parents:
            place[key] = dict(place.get(key) or {})
            place = place[key]
        place.setdefault(last, placed.pop("analyzer"))
    return placed


def place_legs(legs: Any) -> Any:
    """Return the legs of a config, those with an `engine` in that store; others as they are.

    Raises ValueError for a key that means nothing there.
    """
    if not isinstance(legs, Mapping):
        return legs
    return {name: _place(str(name), leg) for name, leg in legs.items()}


def _place(name: str, leg: Any) -> Any:
    if not isinstance(leg, Mapping) or "engine" not in leg:
        return leg
    type_, engine = leg.get("type", BY_NAME.get(name)), expand_name(leg["engine"])
    stated = leg.get("type") in SEARCHES  # as what it is there
    if stated or type_ not in IN_ENGINE or not isinstance(engine, Mapping):
        return leg
    placed = place_leg(leg, IN_ENGINE[type_], engine)
    found, search = ENGINES.types.get(str(engine.get("type"))), SEARCHES[placed["type"]]
    if found and search not in found.capabilities.searches:
        lack = found.capabilities.describe_lack(str(engine["type"]), search)
        raise ValueError(f"{name}: {lack}")
    allowed = LEGS.types[placed["type"]].model_fields
    if unknown := sorted(set(placed) - set(allowed)):
        raise ValueError(
            f"{name}: not allowed in the engine {engine.get('type')}: {', '.join(unknown)}; "
            f"allowed: {', '.join(allowed)}"
        )
    return placed
