"""Parts that others plug in: classes known by a path, or by the name that a package gives them."""

import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import isabstract
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field

from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest

T = TypeVar("T")

FORM = "must be package.module:name"


def _check_form(path: Any) -> Any:
    if isinstance(path, str) and not re.fullmatch(r"[\w.]+:[\w.]+", path):
        raise ValueError(FORM)
    return path


# Where a class or an object stands, as a setting.
ObjectPath = Annotated[str, Field(pattern=r"^[\w.]+:[\w.]+$"), BeforeValidator(_check_form)]


def find_parts(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of `group`, such as `assay.legs`, by name, in its order.

    Raises AssayError if two installed packages give the same name to different classes.
    """
    found: dict[str, EntryPoint] = {}
    for point in sorted(_read_points(_see_path()).get(group, ()), key=lambda point: point.name):
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise AssayError(
                f"{group}: two packages call a part {point.name}: {other.value} and {point.value}"
            )
    return found


@lru_cache(maxsize=1)
def _read_points(_path: tuple[tuple[str, int], ...]) -> dict[str, list[EntryPoint]]:
    """Return the entry points of our groups; a file of every installed package is read for them."""
    points = entry_points()
    ours = (group for group in points.groups if group.startswith("assay."))
    return {group: list(points.select(group=group)) for group in ours}


def _see_path() -> tuple[tuple[str, int], ...]:
    """Return the folders of `sys.path`, each with the time when something was last installed."""
    seen = []
    for folder in sys.path:
        changed = 0
        with suppress(OSError):
            changed = Path(folder).stat().st_mtime_ns
        seen.append((folder, changed))
    return tuple(seen)


def load_part(group: str, name: str, base: type[T]) -> type[T]:
    """Return the class that an installed package gives the `name` in `group`; it is not called.

    Raises AssayError if there is none, or it is no subclass of `base` that can be made.
    """
    found = find_parts(group)
    if name not in found:
        there = f"{', '.join(found) or 'none'}{suggest(name, found)}"
        raise AssayError(f"{group}: {name}: not installed; there are: {there}")
    return load_class(found[name].value, base, f"{group}: {name}")


def import_named(name: Any) -> None:
    """Import every part that an installed package gives the `name`, whatever it is a part of."""
    for group in _read_points(_see_path()) if isinstance(name, str) else ():
        if name in find_parts(group):
            load_object(find_parts(group)[name].value, f"{group}: {name}")


def load_object(path: str, key: str) -> Any:
    """Return the object at `path`, "package.module:name", without calling it.

    The module is searched for in the environment, then in the working directory. Raises AssayError
    naming `key`, the source of the path, if there is no such object.
    """
    where = f"{key}: {path}"
    module_name, _, name = path.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), *name.split("."))):
        raise AssayError(f"{where}: {FORM}")
    look_here()
    try:
        module = import_module(module_name)
    except SyntaxError as error:
        raise AssayError(
            f"{where}: a syntax error in {error.filename}, line {error.lineno}: {error.msg}"
        ) from error
    except (Exception, SystemExit) as error:  # whatever the module does while it is imported
        reason = " ".join(str(error).split())
        if not isinstance(error, ImportError):
            reason = f"{type(error).__name__}: {reason}"
        raise AssayError(f"{where}: {module_name} cannot be imported: {reason}") from error
    try:
        return attrgetter(name)(module)
    except AttributeError as error:
        near = suggest(name, vars(module))
        raise AssayError(f"{where}: {module_name} has no {name}{near}") from error


def look_here() -> None:
    """Let modules be found in the working directory too, after all other places."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))


def load_class(path: str, base: type[T], key: str) -> type[T]:
    """Return the class at `path`, "package.module:Class"; it is not called.

    Raises AssayError as `load_object` does, and where it is no subclass of `base` that can be made.
    """
    where = f"{key}: {path}"
    found = load_object(path, key)
    if not isinstance(found, type):
        raise AssayError(f"{where}: a {type(found).__name__}, no class")
    if not issubclass(found, base):
        raise AssayError(f"{where}: no subclass of {base.__module__}.{base.__qualname__}")
    if isabstract(found):
        missing = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
        raise AssayError(f"{where}: does not define {missing}")
    return found
