"""The axis `engine` of a sweep: the engines that its values stand for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.eval.configs.config import load_config
from assay.eval.configs.engine_choice import StayingKeysError
from assay.eval.configs.engine_settings import is_usable, list_engines
from assay.eval.studies.sweep.settings import EVERY
from assay.retrievers.base import AssayError


def list_engines_of(config: Path, given: Sequence[str], named: Any) -> list[str | None]:
    """Return the engines that a value of the axis `engine` stands for; None: the config as it is.

    EVERY stands for those that can be used here, and to which the config, with the overrides
    `given`, can move. Raises AssayError where there is none, or where one is kept out by nothing
    but a key that is not allowed in an engine.
    """
    if named is not None and not isinstance(named, str):
        raise AssayError(f"axes.engine: {named!r} is no engine; allowed: names, null and {EVERY!r}")
    if named != EVERY:
        return [named]
    found: list[str | None] = []
    for engine in filter(is_usable, list_engines()):
        try:
            load_config(config, given, engine.type)
        except StayingKeysError:
            raise
        except AssayError:
            continue
        found.append(engine.type)
    if not found:
        raise AssayError(
            f"axes.engine: {EVERY!r}: {config} can move to no engine that can be used here; "
            "allowed: null, which is the config as it is, and names of engines that take it"
        )
    return found
