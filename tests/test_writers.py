"""Who changes a file reads, works and writes under one lock, or others' changes are lost."""

import ast
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WRITES = {"write_atomically", "append"}
LOCKS = {"changing", "_lock"}


@dataclass(eq=False)
class Function:
    """What a function reads and then writes, by the source of the path, and whom it calls."""

    name: str
    file: Path
    owner: str = ""
    read: set[str] = field(default_factory=set)
    rewritten: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    unlocked: set[str] = field(default_factory=set)

    def visit(self, node, locked=False):
        """Note what a node does."""
        if isinstance(node, ast.With):
            locked = locked or any(_name(item.context_expr) in LOCKS for item in node.items)
        for child in ast.iter_child_nodes(node):
            self.visit(child, locked)
        if isinstance(node, ast.Call):
            name, arguments = _name(node), [ast.unparse(item) for item in node.args]
            if isinstance(node.func, ast.Name) and name in WRITES and not locked:
                self.rewritten |= self.read.intersection(arguments[:1])
            elif name.startswith("read") or name in ("load", "open", "exists", "is_file"):
                on = [ast.unparse(node.func.value)] if isinstance(node.func, ast.Attribute) else []
                self.read.update([*on, *arguments[:1]])
            self.called.add(name)
            self.unlocked.update(() if locked else [name])


def _name(node):
    """Return the last part of a name, or of the name of what is called."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def find_unlocked(sources):
    """Return the functions that write what they read, and no caller holds a lock."""
    functions = []
    for file, source in sources.items():
        for parent in ast.walk(ast.parse(source)):
            owner = parent.name if isinstance(parent, ast.ClassDef) else ""
            for node in ast.iter_child_nodes(parent):
                if isinstance(node, ast.FunctionDef):
                    functions.append(Function(node.name, file, owner))
                    functions[-1].visit(node)
    defined = Counter(function.name for function in functions)
    callers = defaultdict(list)
    for function in functions:
        for name in function.called:
            callers[name].append(function)
    found = set()
    for function in functions:
        if not function.rewritten:
            continue
        seen, above = [function], [function]
        while above:  # up to who calls it with no lock, and is called by nobody
            callee = above.pop()
            # A name that several functions bear is one of the same file, or the same class.
            own = [
                other
                for other in callers[callee.name]
                if defined[callee.name] == 1
                or (
                    other.file == callee.file
                    and (callee.name[0] != "_" or callee.owner in ("", other.owner))
                )
            ]
            if not own:
                found.add(f"{function.file.name}: {function.name}")
            bare = [other for other in own if callee.name in other.unlocked and other not in seen]
            above += bare
            seen += bare
    return found


def test_what_is_read_and_written_is_under_a_lock():
    files = [file for name in ("eval", "retrievers") for file in (ROOT / name).rglob("*.py")]
    assert find_unlocked({file: file.read_text() for file in files}) == set()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def f(p):\n    x = p.read_bytes()\n    write_atomically(p, x)", True),
        ("def f(p):\n    x = read_card(p)\n    append(p, x)", True),
        ("def f(p):\n  with changing(p):\n    x = read(p)\n    write_atomically(p, x)", False),
        ("def f(p):\n    write_atomically(p, b'')", False),
        (
            "def f(p):\n    write_atomically(p, read(p))\n"
            "def g(p):\n    f(p)\n"
            "def h(p):\n  with changing(p):\n    g(p)",
            False,
        ),
        (
            "def f(p):\n    write_atomically(p, read(p))\n"
            "def g(p):\n    f(p)\n"
            "def h(p):\n  with changing(p):\n    f(p)",
            True,
        ),
    ],
)
def test_a_writer_without_a_lock_is_found(source, found):
    assert bool(find_unlocked({Path("a.py"): source})) == found
