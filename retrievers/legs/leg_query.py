"""A query on its way to the legs."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LegQuery:
    """A query on its way to the legs.

    - `text`: the query as typed, without the parts that a step removed; stages get it too.
    - `texts`: other queries for single legs, by the leg's name.
    - `factors`: factors of the legs' weights in fusion, by the leg's name.
    - `allowed`: the positions of the chunks that may be found; None for all.
    - `passages`: possible answers; legs that search by one vector take the mean of their vectors
      and the query's.
    - `variants`: other wordings, which every leg searches too; a leg's lists are fused by the sum
      of 1 / (`damping` + rank).
    - `expansion`: the words that expansion has added for some legs, for stages that read the query.
    """

    text: str
    texts: Mapping[str, str] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)
    allowed: frozenset[int] | None = None
    passages: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    damping: int = 60
    expansion: tuple[str, ...] = ()

    def ask(self, leg: str) -> str:
        """Return the query for the leg of this name."""
        return self.texts.get(leg, self.text)
