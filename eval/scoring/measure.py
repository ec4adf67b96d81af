"""The base class of measures, those of this project and those of users."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from assay.eval.scoring.calculation import ByQuery, Gold, Joined, count_fitting
from assay.eval.scoring.grid import Floats, Grid
from assay.eval.scoring.join import JoinedHit

Direction = Literal["higher", "lower", "neither"]
Bounds = Literal["", "rising", "AP", "nDCG"]
Form = Literal["", "@k", "@ktok"]
Range = tuple[float, float]
SHARE: Range = (0.0, 1.0)
COUNT: Range = (0.0, math.inf)
ANY: Range = (-math.inf, math.inf)
SCORING = frozenset({"score", "score_queries", "score_columns", "find_scorer"})


class Measure(ABC):
    """A measure: class attributes hold without parameters, instance attributes with them.

    `name` is the one it is shown and stored under, the class's where it gives none; `standard` is
    ir-measures', where that has another, of an instance "" where that has none. `meaning` says what
    a score counts; `{first}` stands for "the first k" or "all hits". `direction` says which scores
    are better. `digits` are the decimals a mean is shown with. `within` is the range of a query's
    score. `bounds` says how the lowest and the highest score are found that judging the unjudged
    hits could give (see assay.eval.scoring.bounds): of a `rising` measure one more relevant hit
    never lowers the score; empty where no way is known. `citation` is where it was published.
    `forms` are what may follow its name where ir-measures does not read it.

    `cutoff` is the number of hits it looks at, `budget` the number of tokens they must fit into;
    None where it has none. `parsed` is ir-measures' measure, `options` are its other parameters.
    Measures `of_answers` are of what a language model answers, which rankings do not tell.
    """

    name: str
    standard: str = ""
    meaning: str = ""
    direction: ClassVar[Direction] = "higher"
    digits: ClassVar[int] = 3
    within: ClassVar[Range] = ANY
    bounds: Bounds = ""
    citation: ClassVar[str] = ""
    forms: ClassVar[tuple[Form, ...]] = ()
    cutoff: int | None = None
    budget: int | None = None
    of_answers: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def __init__(
        self, parsed: Any = None, cutoff: int | None = None, budget: int | None = None
    ) -> None:
        self.parsed = parsed
        self.options: dict[str, Any] = dict(parsed.params) if parsed else {"cutoff": cutoff}
        self.cutoff, self.budget = self.options.pop("cutoff", None), budget
        self.standard = repr(parsed) if parsed else ""
        ours = f"@{budget}tok" if budget else f"@{cutoff}" if cutoff else ""
        self.name += self.standard.removeprefix(parsed.NAME) if parsed else ours
        k = f"{budget} tokens" if budget else str(self.cutoff or "the last")
        first = f"the first {k}" if budget or self.cutoff else "all hits"
        self.meaning = self.meaning.replace("{first}", first).replace("{k}", k)
        if self.options:
            self.bounds = ""

    @property
    def columnar(self) -> bool:
        """True if all queries are scored at once, from arrays."""
        # A class that overrides how queries are scored does not use its parent's columns.
        last = next(kind for kind in type(self).__mro__ if SCORING & vars(kind).keys())
        return not self.options and "score_columns" in vars(last) and last is not Measure

    @property
    def is_ranked(self) -> bool:
        """True if runs can be better or worse in this measure, not merely different."""
        return self.direction != "neither"

    @property
    def sign(self) -> int:
        """The factor that makes a difference positive if it is an improvement: 1 or -1."""
        return -1 if self.direction == "lower" else 1

    @property
    def change(self) -> Range:
        """The range of the difference of two scores of a query."""
        low, high = self.within
        return low - high, high - low

    def cut(self, hits: Sequence[JoinedHit]) -> Sequence[JoinedHit]:
        """Return the hits that the measure looks at: no place depends on a hit below it."""
        return hits[: count_fitting(hits, self.budget) if self.budget else self.cutoff]

    def score_columns(self, grid: Grid) -> Floats:
        """Return the score of every query of a grid; only where it is `columnar`."""
        raise NotImplementedError

    def check(self, name: str) -> bool:
        """Return True if it is computed here. Raises AssayError if its options do not allow it."""
        return True

    @abstractmethod
    def score_queries(self, joined: Joined, gold: Gold) -> ByQuery:
        """Return the score of every query of `gold`, for rankings cut to the hits it looks at.

        Raises AssayError if something cannot be scored.
        """
