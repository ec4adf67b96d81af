"""The reference of the Python API: each function on it says what it takes and returns."""

import inspect
from importlib import import_module

import pytest

from scripts.docs_site.api_page import OBJECTS


def list_functions():
    """Return the sections that each function's docstring must have, by the function's name."""
    found = {}
    for name in (name for names in OBJECTS.values() for name in names):
        module, _, attribute = name.rpartition(".")
        item = getattr(import_module(module), attribute)
        members = (
            {name: item}
            if inspect.isfunction(item)
            else {f"{name}.{key}": value for key, value in vars(item).items() if key[0] != "_"}
        )
        for key, function in members.items():
            if inspect.isfunction(function):
                signature = inspect.signature(function)
                if set(signature.parameters) - {"self"}:
                    returns = signature.return_annotation not in (None, "None")
                    found[key] = ["Args:", "Returns:"] if returns else ["Args:"]
                    documented = inspect.getdoc(function) or ""
                    found[key] = [part for part in found[key] if part not in documented]
    return found


@pytest.mark.parametrize(("name", "missing"), list_functions().items())
def test_docstring_has_all_sections(name, missing):
    assert not missing, name
