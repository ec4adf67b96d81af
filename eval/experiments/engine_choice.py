"""`--engine NAME`: the same pipeline with its vectors in another engine."""

from typing import Any

from eval.experiments.engine_settings import read_engine
from retrievers.base import AssayError
from retrievers.legs.base import LegSettings
from retrievers.legs.registry import LEGS

# By the type of a leg that can search in an engine, the type of the leg that does.
IN_ENGINE = {
    type_: leg.in_engine
    for type_, leg in LEGS.types.items()
    if issubclass(leg, LegSettings) and leg.in_engine
}
ON_ENGINES = tuple(type_ for type_, moved in IN_ENGINE.items() if moved == type_)
OTHERS = tuple(type_ for type_ in IN_ENGINE if type_ not in ON_ENGINES)


def choose_engine(values: dict[str, Any], type_: str) -> None:
    """Let a config, as read, search in the engine `type_` with its default settings.

    Legs on an engine move to that one. Where there is none, a dense leg keeps its encoder and
    depth and moves there: the store is searched by vectors alone, and fused here with the other
    legs. The name says so. Raises AssayError where nothing can move, or there is no such engine.
    """
    read_engine(type_)
    retriever = values.get("retriever")
    legs = retriever.get("legs") if isinstance(retriever, dict) else None
    legs = legs if isinstance(legs, dict) else {}
    types = {name: str(leg.get("type")) for name, leg in legs.items() if isinstance(leg, dict)}
    moving = [name for name, kind in types.items() if kind in ON_ENGINES] or [
        name for name, kind in types.items() if kind in OTHERS
    ]
    if not moving:
        there = ", ".join(f"{name} ({kind})" for name, kind in types.items()) or "none"
        raise AssayError(
            f"--engine {type_}: no leg can move there: it takes legs of type "
            f"{', '.join(ON_ENGINES)} or {', '.join(OTHERS)}; there are: {there}"
        )
    for name in moving:
        legs[name] = {**legs[name], "type": IN_ENGINE[types[name]], "engine": {"type": type_}}
    values["name"] = f"{values.get('name', 'pipeline')}-{type_}"
