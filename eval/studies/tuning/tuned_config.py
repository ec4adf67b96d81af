"""The config that a command found, as a file has it: what it changes of the one it was given."""

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
    """Return `tuned` for a file in the folder of `path`: the keys that differ from those of `base`.

    That is a path or a name; its engine, if it names one, is a difference like others. Where a file
    of differences would not say the same, all keys are written.
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
