"""The recall of approximate search: the share of exact search that a run's dense lists find."""

from collections.abc import Mapping
from typing import Any

RECALL = "recall_against_exact"
EXPLANATION = "dense search is approximate: recall@100 against exact search"


def find_recalls(facts: Mapping[str, Any]) -> dict[str, float]:
    """Return by leg the recall of its dense search against exact search, as the facts tell it.

    Legs that search exactly are left out. It is measured on up to 50 of the indexed vectors.
    """
    legs = facts.get("legs")
    found = {}
    for name, leg in legs.items() if isinstance(legs, Mapping) else ():
        if not isinstance(leg, Mapping):
            continue
        engine = leg.get("engine")
        recall = (engine if isinstance(engine, Mapping) else leg).get(RECALL)
        if isinstance(recall, int | float):
            found[str(name)] = float(recall)
    return found
