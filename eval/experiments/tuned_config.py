"""The config that tuning writes."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from eval.experiments.config import RunConfig, load_config
from eval.runs.stored import write_atomically
from retrievers.base import AssayError


def write_tuned(path: Path, base: Path, tuned: RunConfig) -> None:
    """Write `tuned` to `path`: the keys in which it differs from the config at `base`.

    Where a file of differences would not say the same, all keys are written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    wanted = tuned.model_dump(mode="json")
    changed = differ(load_config(base).model_dump(mode="json"), wanted)
    relative = Path(os.path.relpath(base.resolve(), path.parent.resolve())).as_posix()
    partial = path.with_name(f".{path.name}.{os.getpid()}.yaml")
    for values in ({"base": relative, **changed}, wanted):
        text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=90)
        write_atomically(partial, text.encode())
        if _says(partial, tuned):
            break
    partial.replace(path)


def differ(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be laid on `old` to make it `new`; lists and other kinds as a whole."""
    changed = {}
    for key, value in new.items():
        before = old.get(key)
        if (
            isinstance(before, Mapping)
            and isinstance(value, Mapping)
            and before.get("type") == value.get("type")
        ):
            value = differ(before, value)
            if not value:
                continue
        elif value == before:
            continue
        changed[key] = value
    return changed


def _says(path: Path, wanted: RunConfig) -> bool:
    try:
        return load_config(path) == wanted
    except AssayError:
        return False
