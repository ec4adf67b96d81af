"""How many legs, each with its index, stand open in a sweep."""

from assay.retrievers.pipeline.variants import Variants


def count_open_legs(monkeypatch):
    """Return a list that takes the number of open legs whenever one is found."""
    held = []
    leg = Variants.find_leg

    def find(self, *arguments):
        found = leg(self, *arguments)
        held.append(len(self._legs))
        return found

    monkeypatch.setattr(Variants, "find_leg", find)
    return held
