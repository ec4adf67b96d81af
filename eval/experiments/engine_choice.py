"""`--engine NAME`: the same pipeline with its vectors in another engine."""

from typing import Any, get_args

from eval.experiments.engine_settings import read_engine
from retrievers.base import AssayError
from retrievers.legs.dense import DenseLegSettings
from retrievers.legs.native import EngineDenseSettings, EngineLegSettings
from retrievers.legs.registry import LegSettings
from retrievers.settings import name_type

ON_ENGINES = [name_type(leg) for leg in get_args(LegSettings) if issubclass(leg, EngineLegSettings)]
DENSE = name_type(DenseLegSettings)


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
    types = {name: leg.get("type") for name, leg in legs.items() if isinstance(leg, dict)}
    moving = [name for name, kind in types.items() if kind in ON_ENGINES] or [
        name for name, kind in types.items() if kind == DENSE
    ]
    if not moving:
        there = ", ".join(f"{name} ({kind})" for name, kind in types.items()) or "none"
        raise AssayError(
            f"--engine {type_}: no leg can move there: it takes legs of type "
            f"{', '.join(ON_ENGINES)} or {DENSE}; there are: {there}"
        )
    for name in moving:
        kind = name_type(EngineDenseSettings) if types[name] == DENSE else types[name]
        legs[name] = {**legs[name], "type": kind, "engine": {"type": type_}}
    values["name"] = f"{values.get('name', 'pipeline')}-{type_}"
