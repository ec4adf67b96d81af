"""The identity of a user's function or object in a run: its name, and a digest of its source."""

import functools
import hashlib
import inspect
import sys
from types import MethodType
from typing import Any

from assay.retrievers.store.user_code import digest_module, find_file

UNKNOWN = "unknown"


def name_code(code: Any) -> str:
    """Return the qualified name of a function, or of the class of an object."""
    named = _find_definition(code)
    return f"{named.__module__}.{named.__qualname__}"


def describe_code(code: Any) -> dict[str, str]:
    """Return the entry of a function or object in a manifest.

    Returns:
        `name`, and `source`: the SHA-256, in hex, of the source of the function or of the object's
        class; `unknown` if none is found, as for code typed at a prompt.
    """
    try:
        text = inspect.getsource(_find_definition(code))
    except (OSError, TypeError):
        return {"name": name_code(code), "source": UNKNOWN}
    return {"name": name_code(code), "source": hashlib.sha256(text.encode()).hexdigest()}


def describe_class(value: object) -> dict[str, str]:
    """Return the SHA-256, in hex, of the user's files that the class of `value` needs.

    They are those of the class, its bases and all that these import. Nothing is returned for a
    class of this project, whose code is identified as a whole.
    """
    own = type(value).__module__.partition(".")[0] not in {"assay"} | sys.stdlib_module_names
    if not own or find_file(type(value).__module__) is None:
        return {}
    return {"class_source": digest_module(*(kind.__module__ for kind in type(value).__mro__))}


def _find_definition(code: Any) -> Any:
    if isinstance(code, MethodType):
        return code.__func__
    if type(code) is functools.partial:
        return _find_definition(code.func)
    return code if hasattr(code, "__qualname__") else type(code)
