"""What a run tells of approximate search: how much of exact search its dense lists find."""

from collections.abc import Mapping
from typing import Any

RECALL = "recall_against_exact"
EXPLANATION = "dense search is approximate: recall@100 against exact search"


def find_recalls(facts: Mapping[str, Any]) -> dict[str, float]:
    """Return by leg the recall of its dense search against exact search, as the facts tell it.

    Legs that search exactly are left out. Engines measure it on up to 50 of the indexed vectors.
    """
    legs = facts.get("legs")
    return {
        str(name): float(leg["engine"][RECALL])
        for name, leg in (legs.items() if isinstance(legs, Mapping) else ())
        if isinstance(leg, Mapping)
        and isinstance(leg.get("engine"), Mapping)
        and isinstance(leg["engine"].get(RECALL), int | float)
    }
