"""Whose approximate search is measured: an engine's, or that of the dense leg in this process."""

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from pydantic import ValidationError

from assay.eval.configs.engine_settings import Configured, ConfiguredEngine, read_engine
from assay.eval.configs.overrides import apply_override
from assay.retrievers.base import AssayError, IndexReport
from assay.retrievers.fusion.ranking import Positions, Scored, best
from assay.retrievers.legs.compression import CompressedVectors
from assay.retrievers.legs.dense import DenseLegSettings
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources, explain_errors

DENSE = "dense"
# What a dense leg can be told of the form of its vectors.
KEYS = ("dimensions", "quantisation", "rescore")


class Searcher(Protocol):
    """What is indexed and asked."""

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Make `vectors` searchable, one row a text."""

    def dense(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the nearest texts that it finds."""

    def restrict(self, allowed: Positions) -> "Searcher | None":
        """Return what finds only the texts at `allowed`, which rise; None where it cannot."""

    def metadata(self) -> Mapping[str, Any]:
        """What identifies it; `exact` says whether it searches exactly."""

    def close(self) -> None:
        """Release what it holds."""


class ExactOrCompressed:
    """The vectors of a dense leg, in the form that its settings say."""

    def __init__(self, settings: DenseLegSettings) -> None:
        self._settings = settings
        self._whole: Vectors = np.empty((0, 0), np.float32)
        self._vectors: CompressedVectors | None = None
        self._allowed: Positions | None = None

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Make the smaller form of `vectors`."""
        own, self._whole = self._settings, vectors
        begin = time.perf_counter()
        self._vectors = CompressedVectors(vectors, own.dimensions, own.quantisation, own.rescore)
        seconds = {"compress": time.perf_counter() - begin}
        return IndexReport(len(texts), seconds, self._vectors.bytes)

    def dense(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the best texts by that form."""
        assert self._vectors is not None, "search before index"
        if self._allowed is not None:
            return list(best(np.vecdot(self._whole, vector), limit, self._allowed))
        return list(self._vectors.search(vector, limit))

    def restrict(self, allowed: Positions) -> "ExactOrCompressed | None":
        """Return the same for some of the texts; None where vectors are kept smaller, as a leg."""
        if self._settings.compressed:
            return None
        restricted = copy.copy(self)
        restricted._allowed = allowed
        return restricted

    def metadata(self) -> Mapping[str, Any]:
        """The form."""
        form = self._vectors.description if self._vectors else ""
        return {"engine": DENSE, "search": form, "exact": not self._settings.compressed}

    def close(self) -> None:
        """Hold nothing."""


@dataclass(frozen=True)
class ConfiguredDense(Configured):
    """The dense leg with its settings."""

    settings: DenseLegSettings

    def build(self, resources: Resources) -> Searcher:
        """Return the leg's search."""
        return ExactOrCompressed(self.settings)

    def vary(self, *overrides: str) -> "ConfiguredDense":
        """Return it with further overrides. Raises AssayError."""
        return read_dense((*self.overrides, *overrides))


Subject = ConfiguredEngine | ConfiguredDense


def read_subject(name: str, overrides: Sequence[str] = ()) -> Subject:
    """Return an engine by its type, or `dense`, with `key.path=value` overrides of its settings.

    Raises AssayError naming the key, what is wrong and what is allowed.
    """
    return read_dense(overrides) if name == DENSE else read_engine(name, overrides)


def read_dense(overrides: Sequence[str]) -> ConfiguredDense:
    """Return the dense leg with overrides of the form of its vectors. Raises AssayError."""
    values: dict[str, Any] = {"type": DENSE}
    for override in overrides:
        if (key := override.partition("=")[0]) not in KEYS:
            raise AssayError(f"dense: {key}: allowed here: {', '.join(KEYS)}")
        apply_override(values, override, DenseLegSettings)
    try:
        settings = DenseLegSettings.model_validate(values)
        return ConfiguredDense(DENSE, tuple(overrides), settings)
    except ValidationError as error:
        lines = explain_errors(error, DenseLegSettings, values)
        raise AssayError(f"dense: {'; '.join(lines)}") from None


def make_approximate(subject: Subject) -> Subject:
    """Return a subject whose settings can be varied: an engine told not to search exactly.

    Raises AssayError where the engine has no dense search.
    """
    if isinstance(subject, ConfiguredDense):
        return subject
    can = subject.settings.capabilities
    if "dense" not in can.lists:
        raise AssayError(f"engine {subject.type}: {can.describe_lack(subject.type, 'dense')}")
    told = any(override.partition("=")[0] == "exact" for override in subject.overrides)
    if "exact" in type(subject.settings).model_fields and not told:
        return subject.vary("exact=false")
    return subject


def find_exact(subject: Subject) -> Subject | None:
    """Return the exact search of a subject, which is how it is by default; None where none is."""
    if isinstance(subject, ConfiguredEngine) and not subject.settings.capabilities.exact:
        return None
    return read_subject(subject.type)


def explain_exactness(subject: Subject, key: str) -> str:
    """Say that some value of `key` leaves search exact, and what to do about it."""
    if isinstance(subject, ConfiguredDense):
        return f"dense: one value of {key} is exact search, which stands last anyway: leave it out"
    can = subject.settings.capabilities.approximate
    indexes = (
        f"set one of its approximate indexes: {', '.join(can)}"
        if can
        else "it has no approximate index"
    )
    return f"engine {subject.type}: searches exactly whatever {key} is; {indexes}"
