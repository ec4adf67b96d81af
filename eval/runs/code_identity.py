"""What identifies somebody's function or object: its source, and all that the source refers to."""

import dis
import functools
import hashlib
import inspect
import json
import platform
import sys
from abc import ABCMeta
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, MethodType, ModuleType
from typing import Any

from assay.retrievers.store.user_code import digest_module, find_file, is_own

UNKNOWN = "unknown"
# Modules of which the same call gives the same result.
PURE = {
    "bisect", "collections", "difflib", "functools", "heapq", "itertools", "json", "math",
    "operator", "re", "statistics", "string", "textwrap", "typing", "unicodedata",
}  # fmt: skip
PROJECT = {"assay"}
# Builtins that reach what is not in the code, or differ from process to process.
REACHING = {
    "__import__", "compile", "eval", "exec", "globals", "hash", "id", "input", "locals", "open",
    "vars",
}  # fmt: skip
# Bases of a class whose instances hold nothing but their attributes.
BARE = {"abc", "typing"}
PLAIN = (str, bytes, int, float, complex, bool, type(None), EllipsisType)
# Members of a class that decide nothing of what its methods do.
ABOUT = {
    "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__",
    "__annotate__", "__annotate_func__", "__annotations_cache__", "__firstlineno__",
    "__static_attributes__", "__abstractmethods__", "_abc_impl", "__orig_bases__",
    "__parameters__", "__slots__",
}  # fmt: skip


# What is called, and can be known.
CACHED = type(functools.lru_cache(lambda: None))
CALLABLE = (FunctionType, BuiltinFunctionType, MethodType, functools.partial, CACHED, type)


class _UnknownError(Exception):
    """A function refers to what cannot be known to the last bit; the message names that."""


def name_code(code: Any) -> str:
    """Return the qualified name of a function, or of the class of an object."""
    named = _defining(code)
    return f"{named.__module__}.{named.__qualname__}"


def describe_code(code: Any) -> dict[str, str]:
    """Return what a manifest says of a function or object: its name, source and identity.

    `source` is the SHA-256, in hex, of the source of the function or of the object's class, and
    `unknown` where none is found, as of what was typed at a prompt. `identity` is the SHA-256 of
    the function or object and of all that it refers to, or `unknown`, and then `because` says in
    words what cannot be known.

    Known are functions of plain values, other such functions, classes and modules without state;
    partials, methods and cached functions of these; and objects whose attributes are plain values
    and whose class is known. A function counts by its bytecode. A run of equal identity is not made
    again, so that a wrong one would show figures of old code.
    """
    try:
        source = _digest(inspect.getsource(_defining(code)))
    except (OSError, TypeError):
        source = UNKNOWN
    described = {"name": name_code(code), "source": source}
    try:
        return described | {"identity": _identify(code)}
    except _UnknownError as error:
        return described | {"identity": UNKNOWN, "because": str(error)}


def describe_class(value: object) -> dict[str, str]:
    """Return the SHA-256, in hex, of the files of somebody's own that the class of `value` needs.

    They are those of the class, its bases and all that these import. Nothing is returned of a class
    of this project, whose code is identified as a whole.
    """
    own = type(value).__module__.partition(".")[0] not in PROJECT | sys.stdlib_module_names
    if not own or find_file(type(value).__module__) is None:
        return {}
    return {"class_source": digest_module(*(kind.__module__ for kind in type(value).__mro__))}


def describe_unknown_code(facts: Mapping[str, Any]) -> str:
    """Say, of the facts of a run, why it stands for no later one; "" where its code is known."""
    described = facts.get("function") or facts.get("object")
    if not isinstance(described, Mapping) or described.get("identity") != UNKNOWN:
        return ""
    because = described.get("because", "code without a file")
    return (
        f"Measured anew, and again the next time: {described['name']} depends on {because}, and a "
        "change there would go unseen."
    )


def _identify(code: Any) -> str:
    """Return the identity of a function or object. Raises _UnknownError."""
    try:
        known = isinstance(code, CALLABLE)
        parts = _spell(code, {}) if known else _spell_object(code, {})
        return _digest(json.dumps([platform.python_version(), parts]))
    except (RecursionError, TypeError, ValueError) as error:
        raise _UnknownError(f"what cannot be read ({type(error).__name__})") from None


def _defining(code: Any) -> Any:
    if isinstance(code, MethodType):
        return code.__func__
    if type(code) is functools.partial:
        return _defining(code.func)
    return code if hasattr(code, "__qualname__") else type(code)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _spell(value: Any, seen: dict[int, tuple[int, Any]]) -> list[Any]:
    """Return JSON values that are equal where `value` is. Raises _UnknownError."""
    kind = type(value).__name__
    if isinstance(value, PLAIN) and type(value) in PLAIN:
        return [kind, repr(value)]
    if id(value) in seen:
        return ["seen", seen[id(value)][0]]
    seen[id(value)] = (len(seen), value)  # held, so that no other value gets its id
    if type(value) in (list, tuple):
        return [kind, [_spell(item, seen) for item in value]]
    if type(value) is dict:
        return [kind, [[_spell(key, seen), _spell(value[key], seen)] for key in value]]
    if type(value) in (set, frozenset):
        return [kind, sorted(json.dumps(_spell(item, {})) for item in value)]
    if isinstance(value, ModuleType):
        if _top(value.__name__) in PURE | PROJECT:
            return [kind, value.__name__]
        raise _UnknownError(f"the module {value.__name__}")
    if isinstance(value, CALLABLE):
        return _spell_callable(value, seen)
    raise _UnknownError(f"an object of class {kind}")


def _spell_callable(value: Any, seen: dict[int, tuple[int, Any]]) -> list[Any]:
    """Return JSON values of a function, a class, or what is made of functions."""
    kind = type(value).__name__
    if type(value) is functools.partial:
        parts = (value.func, value.args, value.keywords, vars(value))
        return [kind, [_spell(part, seen) for part in parts]]
    if isinstance(value, MethodType):
        return [kind, _spell(value.__func__, seen), _spell_object(value.__self__, seen)]
    if isinstance(value, CACHED):
        return [kind, _spell(value.__wrapped__, seen)]
    module = str(value.__module__ or "")
    if isinstance(value, BuiltinFunctionType):
        if isinstance(value.__self__, ModuleType) and _top(module) in PURE | {"builtins"}:
            return [kind, module, value.__qualname__]
        raise _UnknownError(f"{value.__qualname__}, which is not written in Python")
    if _top(module) in PURE | PROJECT | BARE | {"builtins"}:
        return [kind, module, value.__qualname__]
    if isinstance(value, FunctionType):
        return _spell_function(value, seen)
    return _spell_class(value, seen)


def _spell_object(value: Any, seen: dict[int, tuple[int, Any]]) -> list[Any]:
    """Return JSON values of an object with its attributes and its class. Raises _UnknownError."""
    kind = type(value)
    if isinstance(value, type):
        return ["class", _spell(value, seen)]
    seen[id(value)] = (len(seen), value)
    for base in kind.__mro__[:-1]:
        top = _top(base.__module__)
        if top in PROJECT | BARE:
            continue
        if not is_own(base.__module__) or base.__dict__.get("__slots__"):
            raise _UnknownError(f"an object of class {base.__qualname__}")
    attributes = getattr(value, "__dict__", None)
    if attributes is None:
        raise _UnknownError(f"an object of class {kind.__qualname__}")
    return ["object", _spell(kind, seen), _spell(dict(attributes), seen)]


def _spell_class(kind: type, seen: dict[int, tuple[int, Any]]) -> list[Any]:
    if type(kind) not in (type, ABCMeta) or not is_own(kind.__module__):
        raise _UnknownError(f"the class {kind.__qualname__}")
    members = {name: member for name, member in vars(kind).items() if name not in ABOUT}
    bases = [_spell(base, seen) for base in kind.__bases__]
    return [
        "class",
        bases,
        [[name, _spell_member(members[name], seen)] for name in sorted(members)],
    ]


def _spell_member(member: Any, seen: dict[int, tuple[int, Any]]) -> list[Any]:
    if isinstance(member, staticmethod | classmethod):
        return [type(member).__name__, _spell(member.__func__, seen)]
    if isinstance(member, property):
        return ["property", [_spell(part, seen) for part in (member.fget, member.fset)]]
    return _spell(member, seen)


def _spell_function(function: FunctionType, seen: dict[int, tuple[int, Any]]) -> list[Any]:
    names = sorted(set(_list_names(function.__code__)) & function.__globals__.keys())
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:
        raise _UnknownError("a variable that has no value yet") from None
    state = (
        {name: function.__globals__[name] for name in names},
        cells,
        function.__defaults__,
        function.__kwdefaults__,
        vars(function),
    )
    code = _spell_code(function.__code__, seen)
    return ["function", code, [_spell(part, seen) for part in state]]


def _spell_code(code: CodeType, seen: dict[int, tuple[int, Any]]) -> list[Any]:
    """Return what compiled code does: its instructions, and the constants and names in them."""
    constants = [
        _spell_code(item, seen) if isinstance(item, CodeType) else _spell(item, {})
        for item in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return [code.co_code.hex(), code.co_exceptiontable.hex(), constants, names, counts]


def _list_names(code: CodeType) -> Iterator[str]:
    """Yield the names that `code`, and the functions within it, look up outside themselves."""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            raise _UnknownError("an import within a function")
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            raise _UnknownError(f"the global {step.argval}, which it changes")
        if step.opname == "STORE_DEREF" and step.argval in code.co_freevars:
            raise _UnknownError(f"the variable {step.argval}, which it changes")
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            if step.argval in REACHING:
                raise _UnknownError(f"the builtin {step.argval}")
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _list_names(constant)


def _top(module: str) -> str:
    return module.lstrip("_").partition(".")[0]
