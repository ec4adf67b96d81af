"""A query on its way to the legs."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LegQuery:
    """A query on its way to the legs.

    `text` is as it was typed, but for what a step took out of it; stages are given it too. `texts`
    holds what single legs are asked instead and `factors` what their weights in fusion are
    multiplied by, both by the leg's name. `allowed` are the positions of the chunks that may be
    found; None: all. `passages` might answer the query: legs that search by one vector take the
    mean of theirs and the query's. `variants` are other wordings, which every leg is asked
    besides; a leg's lists are fused by the sum of 1 / (`damping` + rank). `expansion` are the words
    that expansion has added for some legs, for stages that read the query.
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
        """Return the text that the leg of this name is asked."""
        return self.texts.get(leg, self.text)
