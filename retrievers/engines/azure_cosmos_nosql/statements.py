"""Queries in Azure Cosmos DB's language, and what its client says of a fused one.

The client looks for functions in the text of a query, so that nothing is a parameter: vectors are
numbers, and words have letters and digits alone.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.retrievers.engines.base import EngineLists
from assay.retrievers.fusion.ranking import Scored, ordered
from assay.retrievers.models.base import Vectors

CONTINUATION = "x-ms-continuation"

COUNT = "SELECT VALUE COUNT(1) FROM c"


class CutOffError(Exception):
    """A list did not come whole, and the client would fuse what there is."""


def select_near(vector: Vectors, limit: int, exact: bool) -> str:
    """Return the query for the texts of greatest cosine, with that as `score`."""
    near = _near(vector, exact)
    return f"SELECT TOP {limit} c.id, {near} AS score FROM c ORDER BY {near}"


def select_matching(words: Sequence[str], limit: int) -> str:
    """Return the query for the texts that share one of `words`, by BM25."""
    return (
        f"SELECT TOP {limit} c.id FROM c WHERE FullTextContainsAny(c.text, {_quote(words)}) "
        f"ORDER BY RANK {_match(words)}"
    )


def select_fused(
    vector: Vectors, words: Sequence[str], limit: int, exact: bool, weights: tuple[float, float]
) -> str:
    """Return the query for the fused texts."""
    return (
        f"SELECT TOP {limit} c.id FROM c ORDER BY RANK "
        f"RRF({_near(vector, exact)}, {_match(words)}, {json.dumps(weights)})"
    )


class Scores:
    """What the pages of a ranked query say of its texts, which the query cannot select.

    It is the client's `response_hook`. The scores of each text are those of the functions that rank
    it, in their order; `fused` is what the client adds to a text of several.
    """

    def __init__(self) -> None:
        self._rows: dict[int, dict[str, Any]] = {}

    def __call__(self, headers: Mapping[str, Any], page: Mapping[str, Any]) -> None:
        """Take in a page. Raises CutOffError where the list goes on: the client leaves off."""
        for row in page["Documents"]:
            if isinstance(row, dict) and "payload" in row:
                self._rows[int(row["payload"]["payload"]["id"])] = row
                if headers.get(CONTINUATION):
                    raise CutOffError("a ranked list came in several pages")

    def list_by(self, component: int) -> list[Scored]:
        """Return all texts by their score of one function."""
        return ordered(
            (position, float(row["payload"]["componentScores"][component]))
            for position, row in self._rows.items()
        )

    def fused(self, positions: Sequence[int]) -> list[Scored]:
        """Return the client's fused scores of these."""
        return [(position, float(self._rows[position]["Score"])) for position in positions]

    def lists(self) -> EngineLists:
        """Return both lists of a fused query, of words without what shares none."""
        return EngineLists(self.list_by(0), [pair for pair in self.list_by(1) if pair[1] > 0])


def _near(vector: Vectors, exact: bool) -> str:
    """Return the cosine; the last argument asks for a comparison with every vector."""
    return f"VectorDistance(c.vector, {json.dumps(vector.tolist())}, {json.dumps(exact)})"


def _match(words: Sequence[str]) -> str:
    return f"FullTextScore(c.text, {_quote(words)})"


def _quote(words: Sequence[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)
