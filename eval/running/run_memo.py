"""Cached results of computations on a run, keyed by everything that they are computed from.

A run has one of two subjects; the first can be known before the run is made:

- `of_ranking`: everything that its rankings depend on; the run need not be stored.
- `of_stored`: the files of a stored run.

Values are kept by name under a subject. A different subject, name, package or revision gives a
different key, so a value that is found is the one that would be computed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import TypeAdapter

from assay.eval.runs import environment
from assay.eval.runs.files import LOGGED, MARKDOWN, PAGE
from assay.eval.runs.summary import exports
from assay.retrievers.base import AssayError, T
from assay.retrievers.store.cache import Cache, default_root
from assay.retrievers.store.digest import digest, digest_file

if TYPE_CHECKING:
    from assay.eval.runs.execution.execution import Ready

KIND = "results"
REVISION = 1  # raise it when a run comes to be summarised otherwise
OUTPUTS = (*exports.FILES, MARKDOWN, PAGE)


@dataclass(frozen=True)
class Memo:
    """The cached values of one run, whose subject is `of`; it is empty without a cache."""

    of: str
    cache: Cache | None

    def recall(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the cached values of those `names` that have one."""
        keys = {_name_key(self.of, name): name for name in names}
        found = self.cache.get_many(KIND, keys) if self.cache else {}
        return {keys[key]: value for key, value in found.items()}

    def keep(self, items: Mapping[str, bytes]) -> None:
        """Keep items by name; where nothing can be written, they are computed each time."""
        if self.cache:
            with suppress(AssayError):
                self.cache.put_many(
                    KIND, {_name_key(self.of, name): value for name, value in items.items()}
                )

    def find(
        self,
        name: str,
        kind: Any,
        make: Callable[[], T],
        keeps: Callable[[T], bool] = lambda _: True,
    ) -> T:
        """Return the cached value of a name, of the type `kind`, or make it.

        A value that is made is cached if `keeps(value)`.
        """
        if kept := self.recall([name]):
            return cast(T, _adapt(kind).validate_json(kept[name]))
        made = make()
        if keeps(made):
            self.keep({name: _adapt(kind).dump_json(made)})
        return made

    def recall_value(self, name: str, kind: Any) -> Any:
        """Return the value of the type `kind` that is kept by a name; None without."""
        kept = self.recall([name]).get(name)
        return _adapt(kind).validate_json(kept) if kept else None


def of_ranking(ready: "Ready") -> str:
    """Return the digest of everything that the rankings of a run depend on."""
    from assay.retrievers.pipeline.pipeline import REVISION as RANKING_REVISION

    return digest(ready.subject, RANKING_REVISION)


def of_stored(folder: Path, queries: Iterable[str] | None = None) -> str:
    """Return the digest of a stored run: of its files, without those that are made of them.

    It covers `queries` too, if the run was taken with these alone.
    """
    left_out = {LOGGED, *OUTPUTS}
    paths = sorted(path for path in folder.iterdir() if path.name not in left_out)
    read = [(path.name, digest_file(path)) for path in paths if path.is_file()]
    return digest(read, None if queries is None else list(queries))


def open_cache() -> Cache | None:
    """Return the user's cache; None where its folder cannot be made."""
    with suppress(AssayError):
        return Cache(default_root())
    return None


def is_written(memo: Memo, folder: Path, measures: Sequence[str], outputs: Sequence[str]) -> bool:
    """Return True if `outputs` in a stored run's folder are whole and equal a new rendering."""
    try:
        names = _name_outputs(folder, measures, outputs)
    except FileNotFoundError:
        return False
    return len(memo.recall(names)) == len(names)


def note_written(memo: Memo, folder: Path, measures: Sequence[str], outputs: Sequence[str]) -> None:
    """Record that this code wrote `outputs` of a stored run with their present content."""
    memo.keep(dict.fromkeys(_name_outputs(folder, measures, outputs), b"written"))


def _name_outputs(folder: Path, measures: Sequence[str], outputs: Sequence[str]) -> list[str]:
    by = digest(list(measures), environment.digest_code(*environment.EVERYTHING))
    return [f"{name} {digest_file(folder / name)} {by}" for name in outputs]


def _name_key(of: str, name: str) -> str:
    return digest(of, name, _name_code())


@cache
def _name_code() -> str:
    """Return a digest of the code and packages that compute the figures of runs."""
    return digest(REVISION, environment.packages())


@cache
def _adapt(kind: Any) -> "TypeAdapter[Any]":
    return TypeAdapter(kind)
