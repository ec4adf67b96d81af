"""The effect of unjudged results on each measure, at the measure's own cutoff.

Measures count an unjudged hit as not relevant. Three figures next to a measure show what that may
hide:

* Judged@k: the share of the first k hits that were judged.
* The condensed list: the same measure after the unjudged hits have been taken out of the ranking,
  so that those below move up (Sakai, "Alternatives to Bpref", SIGIR 2007). It is no bound, and it
  flatters where hardly anything was judged not relevant.
* Bounds: the lowest and the highest score that judging the unjudged hits above the cutoff could
  give (see assay.eval.scoring.bounds).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.eval.runs.json_form import in_json
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.means import (
    average_shares,
    estimate_scores,
    show_mean,
)
from assay.eval.scoring import measures
from assay.eval.scoring.bounds import bound
from assay.eval.scoring.grid import Grid, divide, lay_out
from assay.eval.scoring.kinds import Unwanted
from assay.eval.statistics.estimates import Estimate


@in_json(judged=show_mean("judged"), condensed=show_mean("condensed"), bounds=show_mean("bounds"))
@dataclass(frozen=True, slots=True)
class UnjudgedBounds:
    """One measure, as means over the queries of a run.

    `scored` is the measure itself, `judged` is Judged@k at its cutoff. Bounds are None if there is
    no known way to compute them (see assay.eval.scoring.bounds).
    """

    measure: str
    scored: Estimate
    judged: Estimate
    condensed: Estimate
    lower: Estimate | None
    upper: Estimate | None

    @property
    def bounds(self) -> dict[str, Estimate] | None:
        """The bounds that can be computed, by side; None if there are none."""
        bounds = {"lower": self.lower, "upper": self.upper}
        return {side: limit for side, limit in bounds.items() if limit} or None


def examine(
    run: StoredRun, scores: Mapping[str, Mapping[str, float]]
) -> tuple[UnjudgedBounds, ...]:
    """Return the judged share, condensed score and bounds of each measure of `scores`.

    `scores` is {measure: {query id: score}}. Left out are measures that are neither better nor
    worse or of unwanted documents, which unjudged hits leave unaffected, and measures of answers.
    """
    known = {name: measures.find(name) for name in scores}
    names = [
        name
        for name, item in known.items()
        if item.is_ranked and not item.of_answers and not isinstance(item, Unwanted)
    ]
    condensed = measures.score(names, run.joined.condensed, run.gold)
    grid = lay_out(run.joined, run.gold)
    claims = Claims.of(run)

    def estimate(name: str, values: Mapping[str, float]) -> Estimate:
        return estimate_scores(name, values.values(), claims.cluster(values))

    found = []
    for name in names:
        limits = bound(name, grid)
        found.append(
            UnjudgedBounds(
                measure=name,
                scored=estimate(name, scores[name]),
                judged=average_shares(share_judged(name, grid), claims),
                condensed=estimate(name, condensed[name]),
                lower=estimate(name, limits[0]) if limits else None,
                upper=estimate(name, limits[1]) if limits else None,
            )
        )
    return tuple(found)


def share_judged(name: str, grid: Grid) -> dict[str, float]:
    """Return Judged@k by query, k being the cutoff of the measure `name`; of all hits without.

    With a budget of tokens, k is the number of hits that fit into it. 0 where there are no hits.
    """
    measure = measures.find(name)
    limits = grid.limit(measure.cutoff, measure.budget)
    shares = divide(np.count_nonzero(grid.judged & grid.mark(limits), axis=1), limits)
    return dict(zip(grid.queries, shares.tolist(), strict=True))
