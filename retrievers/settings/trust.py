"""The trust in files: an untrusted one may name no code, address, variable or place.

A file is trusted if it is below the working folder or in the project; with ASSAY_TRUST=1, which
`--trust` sets, every file is. The settings themselves mark the fields that need trust: each is
`Annotated` with one of the rules below.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assay.retrievers.base import AssayError, cut
from assay.retrievers.settings.base import Settings
from assay.retrievers.settings.errors import list_tags
from assay.retrievers.settings.parts import PYTHON, load_all
from assay.retrievers.settings.plugins import import_named

SWITCH = "ASSAY_TRUST"
PROJECT = Path(__file__).resolve().parents[2]
WAY_OUT = f"--trust (or {SWITCH}=1) allows it"


class TrustError(AssayError):
    """The untrusted file at `path` needs trust; `asked` lists each request with its key."""

    def __init__(self, path: Path, asked: list[str]) -> None:
        self.path, self.asked = path, asked
        super().__init__(
            f"{path}: {'; '.join(asked)}; the file lies outside {Path.cwd()}: read it first, then"
            f" {WAY_OUT}"
        )


@dataclass(frozen=True, slots=True)
class NeedsTrust:
    """Marks a field that only a trusted file may set, but for the values of `Settings.own_values`.

    `describe` says in a message what a value asks for.
    """

    describe: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class NeedsNoTrust:
    """Marks a field that looks as if it needed trust; `reason` says why it needs none."""

    reason: str


Rule = NeedsTrust | NeedsNoTrust


def _name_host(address: Any) -> str:
    """Return the host of an address, without a user or password that it may hold."""
    try:
        return cut(urlsplit(str(address)).hostname or str(address).rpartition("@")[2])
    except ValueError:
        return "an address"


CODE = NeedsTrust(lambda _: "names code to run")
ADDRESS = NeedsTrust(lambda value: f"sends texts to {_name_host(value)}")
VARIABLE = NeedsTrust(lambda name: f"sends what ${cut(str(name))} holds")
PLACE = NeedsTrust(lambda place: f"reads {cut(str(place))}")
SAFEGUARD = NeedsTrust(lambda value: f"changes a safeguard to {value}")


def is_trusted(path: Path) -> bool:
    """Return True if the file at `path` is trusted: it may name code, addresses and places."""
    return trusts_all() or _lies_in(path, _homes())


def trusts_all() -> bool:
    """Return True if the user trusts every file."""
    return os.environ.get(SWITCH) == "1"


def check_values(path: Path, values: Any) -> None:
    """Raise TrustError if an untrusted `path` has `values` that need trust."""
    if not is_trusted(path) and (asked := list_asked(values)):
        raise TrustError(path, asked)


def list_asked(values: Any) -> list[str]:
    """Return the requests in `values` that need trust, each with its key."""
    return [f"{' '.join(key.split())}: {what}" for key, what in dict(_find_asked(values)).items()]


def may_name(place: Path, home: Path, file: Path) -> bool:
    """Return True if `file` may name `place`: it is in `home`, links followed.

    A place named by a trusted file may also be anywhere below the working folder or in the project.
    """
    return trusts_all() or _lies_in(place, _list_allowed(home, file))


def check_places(places: Iterable[Path], home: Path, file: Path) -> None:
    """Raise AssayError if `file` may not name one of `places`: see `may_name`."""
    if trusts_all():
        return
    allowed = _list_allowed(home, file)
    for place in places:
        if not _lies_in(place, allowed):
            raise AssayError(f"{file}: names {place}, which lies outside {home}; {WAY_OUT}")


def _list_allowed(home: Path, file: Path) -> tuple[Path, ...]:
    """Return the folders in which what `file` names may lie; `home` is one."""
    homes = _homes()
    return (home.resolve(), *(homes if _lies_in(file, homes) else ()))


def _lies_in(place: Path, folders: Iterable[Path]) -> bool:
    found = place.resolve()
    return any(found.is_relative_to(folder) for folder in folders)


def _homes() -> tuple[Path, Path]:
    return Path.cwd().resolve(), PROJECT


def list_settings() -> Iterator[type[Settings]]:
    """Yield every settings class that a config can name, or that was imported."""
    load_all()
    yield from _list_below(Settings)


def _list_below(base: type[Settings]) -> Iterator[type[Settings]]:
    for model in base.__subclasses__():
        yield model
        yield from _list_below(model)


def find_rule(model: type[Settings], name: str) -> NeedsTrust | NeedsNoTrust | None:
    """Return the rule that a field is marked with; None if it has none."""
    found = (item for item in model.model_fields[name].metadata if isinstance(item, Rule))
    return next(found, None)


def _find_asked(values: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys of what needs trust anywhere in `values`, and what each asks for.

    Keys may be dotted, and lists may hold values that are tried in turn, as in a sweep.
    """
    if isinstance(values, list):
        for number, value in enumerate(values):
            yield from _find_asked(value, f"{key}.{number}")
    elif isinstance(values, Mapping):
        import_named(values.get("type"))
        for name, value in values.items():
            inner, last = (f"{key}.{name}" if key else str(name)), name.rpartition(".")[2]
            asked = [_ask(last, item, values.get("type")) for item in _flatten(value)]
            yield from ((inner, what) for what in filter(None, asked))
            yield from _find_asked(value, inner)


def _flatten(value: Any) -> Iterator[str | bool]:
    """Yield the texts and truth values that `value` is, or that lists in it hold."""
    if isinstance(value, list):
        for item in value:
            yield from _flatten(item)
    elif isinstance(value, bool) or (isinstance(value, str) and value):
        yield value


def _ask(name: str, value: str | bool, type_: Any) -> str:
    """Return the request in the `value` of a key that needs trust; "" if there is none.

    The `type_` in the same mapping says which class has the key. Without one, as in a file that
    others build on, or with the type of a package, the key may be that of any class.
    """
    if name == "class" or (name == "type" and value == PYTHON):
        return CODE.describe(value)
    having = [model for model in list_settings() if name in model.model_fields]
    type_ = value if name == "type" else type_
    named = [model for model in having if type_ in list_tags(model)]
    for model in named if named or name == "type" else having:
        rule = find_rule(model, name)
        own = model.own_values(name) if named else (model.model_fields[name].default,)
        if isinstance(rule, NeedsTrust) and value not in own:
            return rule.describe(value)
    return ""
