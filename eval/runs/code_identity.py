"""What identifies somebody's function or object: its source, and all that the source refers to."""

import dis
import hashlib
import inspect
import json
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from assay.retrievers.store.digest import digest_file

# Modules of which the same call gives the same result.
PURE = {
    "bisect", "collections", "difflib", "functools", "heapq", "itertools", "json", "math",
    "operator", "re", "statistics", "string", "textwrap", "typing", "unicodedata",
}  # fmt: skip
PROJECT = {"assay"}
# Builtins that reach what is not in a source.
REACHING = {"__import__", "compile", "eval", "exec", "globals", "id", "input", "open"}
PLAIN = (str, bytes, int, float, bool, type(None))


class _UnknownError(Exception):
    """A function refers to something that cannot be told from something else."""


def name_code(code: Any) -> str:
    """Return the qualified name of a function, or of the class of an object."""
    named = _defining(code)
    return f"{named.__module__}.{named.__qualname__}"


def describe_code(code: Any) -> dict[str, str]:
    """Return what a manifest says of a function or object: its name, source and identity.

    `source` is the SHA-256, in hex, of the source of the function or of the object's class, and
    `unknown` where none is found, as of what was typed at a prompt; `identity` is that of
    `identify`, and `unknown` where there is none.
    """
    try:
        source = _digest(inspect.getsource(_defining(code)))
    except (OSError, TypeError):
        source = "unknown"
    identity = identify(code) or "unknown"
    return {"name": name_code(code), "source": source, "identity": identity}


def identify(code: Any) -> str | None:
    """Return the SHA-256, in hex, of a function or object and of all that it refers to.

    Known are functions that use plain values, other such functions and modules without state; and
    objects of plain values, with the module of their class. None stands for any other: a run of
    equal identity is not made again, so that a wrong one would show figures of old code.
    """
    try:
        if isinstance(code, FunctionType):
            parts = _spell(code, {})
        else:
            parts = [
                inspect.getsource(inspect.getmodule(type(code)) or type(code)),
                name_code(code),
            ]
            parts.append(_spell(vars(code), {}))
        return _digest(json.dumps([platform.python_version(), parts]))
    except (_UnknownError, OSError, RecursionError, TypeError, ValueError):
        return None


def describe_class(value: object) -> dict[str, str]:
    """Return the SHA-256, in hex, of the files that hold the class of `value` and its bases.

    Nothing is returned of a class of this project, whose code is identified as a whole.
    """
    files: dict[str, str] = {}
    for kind in type(value).__mro__:
        own = kind.__module__.partition(".")[0] not in PROJECT | sys.stdlib_module_names
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        if own and file:
            files[kind.__module__] = digest_file(Path(file))
    if type(value).__module__ not in files:
        return {}
    return {"class_source": _digest(json.dumps(files))}


def _defining(code: Any) -> Any:
    if isinstance(code, MethodType):
        return code.__func__
    return code if hasattr(code, "__qualname__") else type(code)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _spell(value: Any, seen: dict[int, tuple[int, Any]]) -> list[Any]:
    """Return JSON values that are equal where `value` is. Raises _UnknownError."""
    kind = type(value).__name__
    if isinstance(value, PLAIN):
        return [kind, repr(value)]
    if id(value) in seen:
        return ["again", seen[id(value)][0]]
    seen[id(value)] = (len(seen), value)  # held, so that no other value gets its id
    if type(value) in (list, tuple):
        return [kind, [_spell(item, seen) for item in value]]
    if type(value) is dict:
        return [kind, [[_spell(key, seen), _spell(value[key], seen)] for key in value]]
    if type(value) in (set, frozenset):
        return [kind, sorted(json.dumps(_spell(item, {})) for item in value)]
    module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    if str(module).lstrip("_").partition(".")[0] in PURE:
        return [kind, module, getattr(value, "__qualname__", "")]
    if isinstance(value, FunctionType):
        return _spell_function(value, seen)
    raise _UnknownError(kind)


def _spell_function(function: FunctionType, seen: dict[int, tuple[int, Any]]) -> list[Any]:
    names = sorted(set(_list_names(function.__code__)) & function.__globals__.keys())
    state = (
        {name: function.__globals__[name] for name in names},
        [cell.cell_contents for cell in function.__closure__ or ()],
        function.__defaults__,
        function.__kwdefaults__,
        vars(function),
    )
    return ["function", inspect.getsource(function), [_spell(part, seen) for part in state]]


def _list_names(code: CodeType) -> Iterator[str]:
    """Yield the names that `code`, and the functions within it, look up outside themselves."""
    if any(step.opname == "IMPORT_NAME" for step in dis.get_instructions(code)):
        raise _UnknownError("an import")
    if REACHING & set(code.co_names):
        raise _UnknownError("a builtin")
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _list_names(constant)
