"""Docstrings are plain: a noun phrase for a class, an imperative for a function.

The counts may only fall: whoever rewrites docstrings lowers the limit to the new count.
"""

import ast
import re

import pytest
from tools.processes import ROOT

SOURCES = sorted(path for room in ("eval", "retrievers") for path in (ROOT / room).rglob("*.py"))
TURNS = {
    "opens with a relative clause": re.compile(r"\A(?:What|Whether|Which|How|Who|Whom)\b"),
    "opens without a subject": re.compile(r"(?:\A|(?<=\. )|(?<=\n))Of [a-z]"),
    "told": re.compile(r"\btold\b"),
    "beside": re.compile(r"\bbeside\b"),
}
LIMITS = {
    "opens with a relative clause": 1,
    "opens without a subject": 0,
    "told": 1,
    "beside": 8,
}


def list_docstrings(source):
    """Return the docstrings of a module, its classes and its functions."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds))
    return [text for node in nodes if (text := ast.get_docstring(node))]


def count_turns(sources):
    """Return how many docstrings of the `sources` have each private turn."""
    docstrings = [text for source in sources for text in list_docstrings(source)]
    return {
        name: sum(bool(pattern.search(text)) for text in docstrings)
        for name, pattern in TURNS.items()
    }


def test_private_turns_only_get_fewer():
    counts = count_turns(path.read_text("utf-8") for path in SOURCES)
    grown = {name: count for name, count in counts.items() if count > LIMITS[name]}
    assert not grown, f"more than {LIMITS}: begin with a noun or an imperative"


@pytest.mark.parametrize(
    ("docstring", "turn"),
    [
        ("What was found.", "opens with a relative clause"),
        ("Whether it is.", "opens with a relative clause"),
        ("Of all pairs the best.", "opens without a subject"),
        ("Return the best. Of all pairs the first.", "opens without a subject"),
        ("Return what a user is told.", "told"),
        ("Return the words beside a figure.", "beside"),
    ],
)
def test_a_private_turn_is_found(docstring, turn):
    assert count_turns([f'def f():\n    """{docstring}"""\n'])[turn] == 1


@pytest.mark.parametrize("docstring", ["The settings of a leg.", "Return the list, best first."])
def test_a_plain_docstring_is_none(docstring):
    assert not any(count_turns([f'class C:\n    """{docstring}"""\n']).values())
