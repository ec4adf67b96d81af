"""A measure of your own: a class that a package of yours names in the group `assay.measures`."""

from collections.abc import Sequence

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring.join import JoinedHit
from assay.eval.scoring.own import OwnMeasure


class FirstRank(OwnMeasure):
    """The rank a reader scrolls to; one more than there are where nothing relevant is returned."""

    name = "FirstRank"
    direction = "lower"
    meaning = "rank of the first relevant passage"
    digits = 1

    def score(self, ranking: Sequence[JoinedHit], gold: Sequence[GoldItem]) -> float:
        """Return the rank of the first hit that counts for a relevant gold item."""
        ranks = [rank for rank, hit in enumerate(ranking, start=1) if hit.grade > 0]
        return float(min(ranks, default=len(ranking) + 1))
