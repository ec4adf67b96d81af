"""Write a config as differences from its base."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from assay.eval.configs.config import RunConfig, load_config
from assay.eval.configs.named_configs import find_config, split_engine
from assay.retrievers.base import AssayError
from assay.retrievers.store.files import write_atomically


def render_changes(path: Path, base: Path, tuned: RunConfig) -> str:
    """Return `tuned` as YAML for the file `path`: the keys that differ from those of `base`.

    `base` is a path or a name; an engine in it counts as a difference. If a file of differences
    would not give the same config, all keys are written.
    """
    wanted = tuned.model_dump(mode="json")
    base = Path(split_engine(base)[0])
    changed = differ(load_config(base).model_dump(mode="json"), wanted)
    source = find_config(base)
    named = source.is_absolute() and not base.is_absolute()
    relative = os.path.relpath(source.resolve(), path.parent.resolve())
    reference = str(base) if named else Path(relative).as_posix()
    partial = path.with_name(f".{path.name}.{os.getpid()}.yaml")
    try:
        for values in ({"base": reference, **changed}, wanted):
            text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=90)
            write_atomically(partial, text.encode())
            if _says(partial, tuned):
                break
        return text
    finally:
        partial.unlink(missing_ok=True)


def differ(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes from `old` to `new`; lists and parts of another type as a whole."""
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
