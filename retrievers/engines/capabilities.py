"""The capabilities and requirements of an engine: the one record from which all lists derive."""

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
    """A server's feature that a config can use: its first version, and its other requirements."""

    what: str
    since: tuple[int, int]
    beside: str = ""

    @property
    def least(self) -> str:
        """The first version in words."""
        return ".".join(map(str, self.since))

    def find_lack(self, version: str) -> str:
        """Return in words why a server of this version lacks the feature; empty if it has it."""
        parts = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        if parts >= self.since:
            return ""
        return f"{version} is too old: {self.what} needs {self.least} or later"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities of an engine, whatever its settings, and its requirements.

    - `fuses`: where the lists are fused: inside the `engine`, in one `statement` of its query
      language that its adapter writes, in its `client` library, or only `here`, as legs of a
      pipeline.
    - `lists`: the searches that it has.
    - `approximate`: the indexes with which dense search misses some texts.
    - `exact`: True if dense search compares with every vector unless a setting says otherwise.
    - `extra`: the optional dependency that brings the imported `modules`; empty if none is needed.
    - `packages`: the packages whose versions affect the index.
    - `address`: the environment variable with the address of a server, which is a separate process
      that others may use too; if it is not set, an `embedded` server is started.
    - `features`: the features that not every version of the server has.
    - `met`: the versions of the server that the tests ran against; if empty, only a stand-in.
    - `restricts`: True if forbidden texts are skipped during the search, by `Engine.restrict`;
      otherwise more texts are requested and the forbidden ones dropped.
    - `links`: True if it stores which texts of a document follow one another, by `Engine.relate`,
      and returns them, by `Engine.beside`.
    - `reproducible`: when an index rebuilt from the same texts gives the same rankings: `always`,
      only while dense search is `exact`, or never. `assay engines conformance` checks it.
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
        """The searches that it offers: its lists, and `hybrid` if it fuses them itself."""
        return self.lists if self.fuses == "here" else (*self.lists, "hybrid")

    def describe_lack(self, engine: str, search: Search) -> str:
        """Return one line saying that `engine` lacks this search, and what to do instead."""
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
        """True if the engine is a server."""
        return bool(self.address)

    @property
    def installed(self) -> bool:
        """True if all modules of the extra can be found."""
        return all(map(_is_there, self.modules))

    @property
    def missing(self) -> str:
        """The message if the extra is not installed; extras have the names of engines."""
        return f"engine {self.extra}: {hint_extra(self.extra)}"

    def load(self, *modules: str) -> None:
        """Import all modules, or those named. Raises AssayError if one is missing."""
        try:
            for module in modules or self.modules:
                importlib.import_module(module)
        except ImportError:
            raise AssayError(self.missing) from None

    def list_versions(self) -> list[str]:
        """Return the versions of the packages, in their order."""
        return [read_version(package) for package in self.packages]


def _is_there(module: str) -> bool:
    """Return True if a module can be found; False if its parent package is missing."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
