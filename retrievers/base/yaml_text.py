"""YAML texts: the one parser of configs, cards, the settings of commands, and frontmatter.

Only safe tags are allowed; every key is a string, as written, and occurs once. What is an octal or
sexagesimal number in YAML 1.1, and none in 1.2, is text (010, 1:30, 1_000). Texts that no person
writes (an alias within its own anchor, aliases that expand too far, nesting too deep) are refused
before anything is built from them.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import yaml

from assay.retrievers.base import AssayError
from assay.retrievers.base.bounds import SETTINGS, YAML_DEPTH, YAML_REPEATED

_TEXT = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_OCTAL = re.compile(r"[-+]?0[0-9]+")


_Resolver = yaml.resolver.Resolver


class _FaultError(Exception):
    """A fault of a text, with the mark where it was found."""

    def __init__(self, message: str, mark: Any) -> None:
        super().__init__(message)
        self.mark = mark


class _Checks(yaml.composer.Composer, yaml.constructor.SafeConstructor):
    """Checks that refuse YAML that cannot be intended, whichever parser reads it."""

    peek_event: Any  # the parser's

    def __init__(self) -> None:
        yaml.composer.Composer.__init__(self)
        yaml.constructor.SafeConstructor.__init__(self)
        self._depth = 0
        self._repeated = 0
        # The nodes of each finished node, itself and what aliases stand for included.
        self._sizes: dict[yaml.Node, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> Any:
        """Return the next node; that of an alias is the one it names."""
        event: Any = self.peek_event()
        if self._depth == YAML_DEPTH:
            raise _FaultError(f"nested more than {YAML_DEPTH} deep", event.start_mark)
        self._depth += 1
        node: Any = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(event, yaml.AliasEvent):
            if node not in self._sizes:
                raise _FaultError(f"*{event.anchor} stands within itself", event.start_mark)
            self._repeated += self._sizes[node]
            if self._repeated > YAML_REPEATED:
                what = f"its aliases stand for more than {YAML_REPEATED:,} values"
                raise _FaultError(what, event.start_mark)
        elif isinstance(node, yaml.MappingNode):
            self._sizes[node] = 1 + sum(self._sizes[part] for pair in node.value for part in pair)
            _check_keys(node)
        elif isinstance(node, yaml.SequenceNode):
            self._sizes[node] = 1 + sum(self._sizes[part] for part in node.value)
        else:
            self._sizes[node] = 1
        return node

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """Return the value of `node`."""
        with _faults_at(node.start_mark):
            if isinstance(node, yaml.ScalarNode):
                node.value.encode()  # half of a surrogate pair can be written nowhere
                if node.tag in _NUMBERS and _is_doubtful(node.value):
                    return node.value
            value = super().construct_object(node, deep)
            if isinstance(value, int):
                str(value)  # so can a number of too many digits
            return value


class _Loader(_Checks, yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser, _Resolver):
    """The parser in Python, whose messages say what is wrong."""

    def __init__(self, text: str) -> None:
        yaml.reader.Reader.__init__(self, text)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)
        _Checks.__init__(self)
        _Resolver.__init__(self)


def _is_doubtful(number: str) -> bool:
    return ":" in number or "_" in number or _OCTAL.fullmatch(number) is not None


@cache
def _make_fast() -> Any:
    """Return the loader by libyaml, which takes a tenth of the time. Raises ImportError."""
    from yaml.cyaml import CParser  # type: ignore[attr-defined]

    class FastLoader(_Checks, CParser, _Resolver):
        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            _Checks.__init__(self)
            _Resolver.__init__(self)

    return FastLoader


def parse_yaml(text: str, source: str, line: int = 1) -> Any:
    """Return the value of YAML `text`, None if empty; `line` is the number of its first line.

    Raises AssayError: one line with `source`, the line and what is wrong there.
    """
    if len(text) > SETTINGS:
        what = f"{len(text):,} characters; at most {SETTINGS:,} are read"
        raise AssayError(f"{source}: line {line}: {what}")
    with suppress(Exception):  # libyaml may not be there; else what is wrong is said below
        return _make_fast()(text).get_single_data()
    try:
        loader = _Loader(text)
        with _faults_at(loader):
            return loader.get_single_data()
    except _FaultError as fault:
        i, message = fault.mark.line, str(fault)
    except yaml.reader.ReaderError as error:
        i, message = text.count("\n", 0, error.position), f"not YAML: {error.reason}"
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        i = mark.line if mark else 0
        message = f"not YAML: {', '.join(filter(None, (error.context, error.problem)))}"
    raise AssayError(f"{source}: line {line + i}: {' '.join(message.split())}")


@contextmanager
def _faults_at(place: yaml.Mark | _Loader) -> Iterator[None]:
    """Add the place to errors of broken scalars, not all of which are YAMLErrors."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        mark = place.get_mark() if isinstance(place, _Loader) else place
        raise _FaultError(f"not YAML: {error}", mark) from None


def _check_keys(node: yaml.MappingNode) -> None:
    """Make every key a string, as written; refuse one that occurs twice or is no single value."""
    seen: set[str] = set()
    for i, (key, value) in enumerate(node.value):
        if not isinstance(key, yaml.ScalarNode):
            raise _FaultError("not YAML: a key must be a single value", key.start_mark)
        if key.value in seen:
            raise _FaultError(f"the key {key.value!r} stands twice", key.start_mark)
        seen.add(key.value)
        if key.tag != _MERGE:
            text = yaml.ScalarNode(_TEXT, key.value, key.start_mark, key.end_mark)
            node.value[i] = (text, value)
