"""Settings of parts, read as a config's are."""

from pydantic import TypeAdapter

# By the type's identity, since what annotates it has no hash. To make one takes 50 ms.
_ADAPTERS = {}


def read_settings(kind, value):
    """Return the settings of `kind`, such as `EngineSettings`, that `value` gives."""
    if id(kind) not in _ADAPTERS:
        _ADAPTERS[id(kind)] = TypeAdapter(kind)
    return _ADAPTERS[id(kind)].validate_python(value)
