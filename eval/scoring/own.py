"""Measures of one ranking at a time, of this project or of users.

Measures of users are classes that an installed package names in `assay.measures`.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import get_args

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring.calculation import ByQuery, Gold, Joined
from assay.eval.scoring.join import JoinedHit
from assay.eval.scoring.measure import Direction, Measure
from assay.retrievers.base import AssayError
from assay.retrievers.settings.plugins import load_part

GROUP = "assay.measures"


class OwnMeasure(Measure):
    """A measure of one query. `name` is the one in configs and reports, and of the entry point."""

    @abstractmethod
    def score(self, ranking: Sequence[JoinedHit], gold: Sequence[GoldItem]) -> float:
        """Return the score of a query's ranking, which may be empty, joined to its judgments."""

    def score_queries(self, joined: Joined, gold: Gold) -> ByQuery:
        """Return the score of each query of `gold`. Raises AssayError for one that is no number."""
        scores = {}
        for query, items in gold.items():
            try:
                scores[query] = float(self.score(joined[query], items))
            except Exception as error:  # whatever the measure does
                raise AssayError(f"{self.name}: query {query}: {_tell(error)}") from error
            if not math.isfinite(scores[query]):
                raise AssayError(f"{self.name}: query {query}: {scores[query]} is no score")
        return scores


def load(name: str) -> OwnMeasure:
    """Return the measure that an installed package calls `name`. Raises AssayError."""
    kind = load_part(GROUP, name, OwnMeasure)
    where = f"{GROUP}: {name}: {kind.__module__}:{kind.__qualname__}"
    if kind.name != name:
        raise AssayError(f"{where}: `name` must be {name!r}, as the entry point says")
    if kind.direction not in get_args(Direction):
        raise AssayError(f"{where}: `direction` must be one of {', '.join(get_args(Direction))}")
    try:
        return kind()
    except Exception as error:  # whatever the class does when it is made
        raise AssayError(f"{where}: cannot be made: {_tell(error)}") from error


def _tell(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
