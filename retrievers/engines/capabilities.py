"""What an engine can do and what it needs: the one record of it, from which all lists derive."""

import importlib
import re
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, get_args

from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import hint_extra, read_version

Search = Literal["dense", "keyword", "hybrid"]
SEARCHES: tuple[Search, ...] = get_args(Search)


@dataclass(frozen=True, slots=True)
class Feature:
    """What a config can ask of a server: the first version that has it, what it needs beside."""

    what: str
    since: tuple[int, int]
    beside: str = ""

    @property
    def least(self) -> str:
        """The first version in words."""
        return ".".join(map(str, self.since))

    def find_lack(self, version: str) -> str:
        """Return in words why a server of this version lacks it, empty where it does not."""
        parts = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        if parts >= self.since:
            return ""
        return f"{version} is too old: {self.what} needs {self.least} or later"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine can do, whatever its settings, and what must be there for it.

    `fuses` says where the lists are fused: inside the `engine`, in one `statement` of its query
    language that its adapter writes, in its `client` library, or only `here`, as legs of a
    pipeline. `lists` are the searches that it has. `approximate` names the indexes with which dense
    search misses some; `exact` says whether it compares with every vector unless a setting says
    otherwise. `extra` is the optional dependency that brings the `modules` that are imported, empty
    where none is needed; `packages` are those whose versions shape what is built. `address` is the
    environment variable that holds the address of a server, which is a process of its own that
    others may use too; where it is not set, an `embedded` one is started. `features` are those that
    not every version of the server has; `met` says which versions of the server the tests have met
    themselves: where it is empty, only a stand-in. `restricts` says whether texts that may not be
    found are passed over while it searches, by `Engine.restrict`: where not, more is asked for and
    dropped. `links` says whether it stores which texts of a document follow one another, by
    `Engine.relate`, and tells it, by `Engine.beside`. `reproducible` says when an index that is
    built again of the same texts gives the same rankings: whatever the index, only while dense
    search is `exact`, or never. `assay engines conformance` checks it.
    """

    fuses: Literal["engine", "statement", "client", "here"]
    approximate: tuple[str, ...] = ()
    lists: tuple[Search, ...] = ("dense", "keyword")
    exact: bool = True
    extra: str = ""
    modules: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    address: str = ""
    embedded: bool = False
    features: tuple[Feature, ...] = ()
    met: str = ""
    restricts: bool = False
    links: bool = False
    reproducible: Literal["always", "exact", "never"] = "exact"

    @property
    def searches(self) -> tuple[Search, ...]:
        """What it can be asked for: its lists, and where it fuses them itself also that."""
        return self.lists if self.fuses == "here" else (*self.lists, "hybrid")

    def describe_lack(self, engine: str, search: Search) -> str:
        """Return in one line that `engine` has no such search, and what to do instead."""
        own = " and ".join(self.lists)
        if search == "hybrid":
            other = "" if len(self.lists) > 1 else " with the other leg"
            return (
                f"{engine} has no hybrid search of its own: `assay run hybrid --engine "
                f"{engine}` fuses its {own} search here{other}"
            )
        return (
            f"{engine} has no {search} search, only {own}: use a leg of type engine_{own}, and "
            "another engine or leg beside it"
        )

    @property
    def server(self) -> bool:
        """Whether the engine is a server."""
        return bool(self.address)

    @property
    def installed(self) -> bool:
        """Whether all that the extra brings can be found."""
        return all(map(_is_there, self.modules))

    @property
    def missing(self) -> str:
        """What is said where the extra is not installed; extras have the names of engines."""
        return f"engine {self.extra}: {hint_extra(self.extra)}"

    def load(self, *modules: str) -> None:
        """Import all modules, or those named. Raises AssayError where one is missing."""
        try:
            for module in modules or self.modules:
                importlib.import_module(module)
        except ImportError:
            raise AssayError(self.missing) from None

    def list_versions(self) -> list[str]:
        """Return the versions of the packages, in their order."""
        return [read_version(package) for package in self.packages]


def _is_there(module: str) -> bool:
    """Say whether a module can be found; of one below a package that is not there it cannot."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
