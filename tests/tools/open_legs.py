"""How many legs, each with its index, stand open in a sweep."""

from typing import Any

from assay.retrievers.pipeline.variants import Variants


def count_open_legs(monkeypatch):
    """Return a list that takes the number of open legs whenever one is found."""
    held: list[int] = []
    leg = Variants.find_leg

    def find(self: Variants, *arguments: Any) -> Any:
        found = leg(self, *arguments)
        held.append(len(self._legs))
        return found

    monkeypatch.setattr(Variants, "find_leg", find)
    return held
