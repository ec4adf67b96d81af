"""No pattern takes more than linear time, whatever a document, a query or a file holds."""

import ast
import contextlib
import gc
import importlib
import itertools
import pkgutil
import re
import time
from collections.abc import Mapping
from pathlib import Path
from re import _constants as ops
from re import _parser as parser

import pytest

import assay.eval
import assay.retrievers
from assay.retrievers.base.patterns import compile_late

ROOT = Path(__file__).parents[1]
LENGTHS = (16, 24, 1000, 4000, 16_000)  # the short ones for what doubles at each character
LINEAR = 8.0  # times the time of a string a quarter as long; 16 where it grows by the square
SECONDS = 0.01  # of CPU; the slowest of the linear takes a quarter of it
PLAINLY = 20 * SECONDS  # which is measured once
SAMPLES = {
    ops.CATEGORY_DIGIT: "1",
    ops.CATEGORY_NOT_DIGIT: "a-",
    ops.CATEGORY_SPACE: " \n",
    ops.CATEGORY_NOT_SPACE: "a-",
    ops.CATEGORY_WORD: "a1",
    ops.CATEGORY_NOT_WORD: " -",
}
TAILS = ("", "\n\0")
USES = ("search", "match", "fullmatch", "sub", "split", "findall", "finditer")


@pytest.fixture(scope="module", autouse=True)
def uncollected():
    """A garbage collection would count as time that a pattern takes."""
    gc.disable()
    yield
    gc.enable()


def list_modules():
    """Yield the modules of the project."""
    for package in (assay.eval, assay.retrievers):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def settle(value):
    """Return the pattern of one that is compiled late; other values as they are."""
    late = type(value).__module__ == compile_late.__module__
    return re.compile(value.pattern, value.flags) if late else value


def find_patterns(value, depth=4):
    """Yield the patterns that a value is or holds."""
    value = settle(value)
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
        return
    inner = ()
    if isinstance(value, Mapping):
        inner = value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        inner = value
    elif (value if isinstance(value, type) else type(value)).__module__.startswith("assay."):
        inner = [*getattr(value, "__dict__", {}).values()]
    if depth:
        yield from itertools.chain.from_iterable(find_patterns(x, depth - 1) for x in inner)


def find_written(source, names):
    """Yield the patterns written into a call as in `re.sub("a+", ...)`, and the call's name.

    A pattern may be made of a module's `names`.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("re"), attr=use), args=[made, *_]) if (
                use in USES
            ):
                with contextlib.suppress(NameError):
                    found = eval(compile(ast.Expression(made), "", "eval"), {**names})
                    yield getattr(found, "pattern", found), use


def collect():
    """Return the patterns of the project, each with the methods that are called of it."""
    modules = {module: Path(module.__file__).read_text() for module in list_modules()}
    # What another module calls as `patterns.OF.match`.
    outside = {use for text in modules.values() for use in re.findall(r"\w\.(\w+)\.(\w+)\(", text)}
    found = {}
    for module, source in modules.items():
        calls = set(re.findall(r"(?<![\w.])(\w+)\.(\w+)\(", source)) | outside
        # A pattern that a list or an argument hands on is called by a name of the moment.
        handed = {use for name, use in calls - outside if use in USES and not hasattr(module, name)}
        for name, value in [(name, settle(held)) for name, held in vars(module).items()]:
            uses = {use for called, use in calls if called == name and use in USES}
            for pattern in find_patterns(value):
                found.setdefault(pattern, set()).update(
                    uses if isinstance(value, re.Pattern) and uses else handed
                )
        for text, use in find_written(source, vars(module)):
            found.setdefault(re.compile(text), set()).add(use)
    return {pattern: frozenset(uses or {"search"}) for pattern, uses in found.items()}


def sample_set(items, flags):
    """Return some characters that a set such as `[a-z_]` holds."""
    items = list(items)
    if items and items[0][0] is ops.NEGATE:
        probe = re.compile("[^" + "".join(map(re.escape, sample_set(items[1:], flags))) + "]")
        return "".join(c for c in "a1 -.\n" if probe.match(c))[:2]
    chars = ""
    for op, value in items:
        if op is ops.LITERAL:
            chars += chr(value)
        elif op is ops.RANGE:
            chars += chr(value[0])
        elif op is ops.CATEGORY:
            chars += SAMPLES.get(value, "a")
    return chars


def grow(tree, flags, pumps, before=""):
    """Return a text that `tree` matches; add to `pumps` what may be repeated in it."""
    text = ""
    for op, value in tree:
        if op is ops.LITERAL:
            text += chr(value)
        elif op in (ops.ANY, ops.NOT_LITERAL):
            text += next(c for c in "a1" if op is ops.ANY or ord(c) != value)
        elif op is ops.IN:
            chars = sample_set(value, flags) or "a"
            pumps.update(dict.fromkeys(chars[:4]))
            text += chars[0]
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            least, most, body = value
            inner = grow(body, flags, pumps)
            if inner and most > 1:
                pumps[inner] = None
                pumps[text[-8:] + inner] = None
            text += inner * max(1, least)
        elif op is ops.SUBPATTERN:
            text += grow(value[-1], flags, pumps)
        elif op is ops.ATOMIC_GROUP:
            text += grow(value, flags, pumps)
        elif op is ops.BRANCH:
            branches = [grow(branch, flags, pumps) for branch in value[1][:12]]
            pumps.update(dict.fromkeys(filter(None, branches[:4])))
            text += branches[0]
        elif op in (ops.ASSERT, ops.ASSERT_NOT):
            grow(value[1], flags, pumps)
    if text:
        pumps[text[:40]] = None
    return text


def attack(pattern):
    """Yield makers of texts of a length that are long runs of what the pattern repeats."""
    pumps = {}
    whole = grow(parser.parse(pattern.pattern, pattern.flags), pattern.flags, pumps)
    heads = dict.fromkeys(["", whole[:-1]])
    for pump in list(pumps)[:16]:
        for head, tail in itertools.product(heads, TAILS):
            yield lambda n, p=pump, h=head, t=tail: h + (p * (n // len(p) + 1))[:n] + t


def spend(pattern, use, text):
    """Return the least CPU time of three that a use of the pattern takes."""
    taken = []
    for _ in range(3):
        begin = time.process_time()
        if use == "sub":
            pattern.sub("", text)
        else:
            found = getattr(pattern, use)(text)
            if use == "finditer":
                list(found)
        taken.append(time.process_time() - begin)
        if not SECONDS <= taken[-1] <= PLAINLY:
            break
    return min(taken)


def grows(pattern, use, make, length):
    """Say whether a text four times as long takes superlinear time, measured with more care.

    On a busy machine a single one of the many uses may take any time.
    """
    shorter = spend(pattern, use, make(length))
    if length < 100:
        return shorter > SECONDS
    return spend(pattern, use, make(4 * length)) > max(SECONDS, LINEAR * shorter)


def find_superlinear(pattern, use):
    """Return what takes the pattern more than linear time, "" where nothing does."""
    for make in attack(pattern):
        before = SECONDS
        for length in LENGTHS:
            taken = spend(pattern, use, make(length))
            if taken > max(SECONDS, LINEAR * before) and (
                taken > PLAINLY or grows(pattern, use, make, length)
            ):
                return f"{make(12)!r} grown to {length}: {taken:.3f} s by {use}"
            if taken < SECONDS / 16 and length == 4000:
                break  # by the square it would stay below what is measured
            before = taken
    return ""


@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        (r"\s+$", "search"),
        (r"(?:\w+\s?)*:", "match"),
        (r"\[[^\]]*\]\(", "finditer"),
        (r"<a.*?>", "sub"),
        (r"\s*,?\s*x", "match"),
    ],
)
def test_a_superlinear_pattern_is_found(pattern, use):
    assert find_superlinear(re.compile(pattern), use)


def test_patterns_are_found_wherever_they_are_kept():
    class Holder:
        inside = re.compile("b")

    Holder.__module__ = "assay.eval"
    held = [re.compile("a"), {"x": (Holder,)}]
    assert [found.pattern for found in find_patterns(held)] == ["a", "b"]
    written = 'def f(text): return re.sub(rf"{A}+", "", text)'
    assert [*find_written(written, {"A": "a"})] == [("a+", "sub")]


@pytest.fixture(scope="module")
def patterns():
    return collect()


def test_no_group_is_possessive(patterns):
    """Python 3.11.2 finds less by `(?:ab)*+` than later releases; `(?>(?:ab)*)` means the same."""

    def repeats_group(tree):
        if isinstance(tree, tuple) and tree and tree[0] is ops.POSSESSIVE_REPEAT:
            ((op, _), *more) = tree[1][2]
            return bool(more) or op in (ops.SUBPATTERN, ops.BRANCH)
        inner = tree if isinstance(tree, tuple | list | parser.SubPattern) else ()
        return any(map(repeats_group, inner))

    found = [x.pattern for x in patterns if repeats_group(parser.parse(x.pattern, x.flags))]
    assert not found


@pytest.mark.slow
def test_no_pattern_is_superlinear(patterns):
    assert len(patterns) > 200
    found = {
        pattern.pattern: told
        for pattern, uses in patterns.items()
        for use in sorted(uses)
        if (told := find_superlinear(pattern, use))
    }
    assert not found, "\n".join(f"{pattern}\n    {told}" for pattern, told in found.items())
