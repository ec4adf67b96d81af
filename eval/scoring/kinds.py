"""What is known of each kind of measure: a row each."""

import math
import re
from dataclasses import dataclass
from typing import Literal

Direction = Literal["higher", "lower", "neither"]
Bounds = Literal["", "rising", "AP", "nDCG"]
Range = tuple[float, float]
SHARE: Range = (0.0, 1.0)
COUNT: Range = (0.0, math.inf)
ANY: Range = (-math.inf, math.inf)

# The names under which ir-measures' are shown, where people say another.
SHOWN = {"Success": "Hit", "RR": "MRR", "R": "Recall"}
STEM = re.compile(rf"^({'|'.join(SHOWN)})(?=[@(]|$)")


@dataclass(frozen=True, slots=True)
class Kind:
    """A measure without its cutoff and options.

    `name` is the one it is shown under. `meaning` says what a score counts; `{first}` stands for
    "the first k" or "all hits". `direction` says which scores are better. `digits` are the decimals
    a mean is shown with. `bounds` says how the lowest and the highest score are found that judging
    the unjudged hits could give (see assay.eval.scoring.bounds): of a `rising` measure one more
    relevant hit never lowers the score; empty where no way is known. `within` is the range of a
    query's score.
    """

    name: str
    meaning: str
    direction: Direction = "higher"
    digits: int = 3
    bounds: Bounds = ""
    within: Range = SHARE


KINDS = {
    kind.name: kind
    for kind in (
        Kind("Hit", "queries with a relevant passage in {first}", bounds="rising"),
        Kind("MRR", "1 / rank of the first relevant passage, 0 beyond {k}", bounds="rising"),
        Kind(
            "nDCG",
            "graded relevance of {first}, all gold items of a hit counted, against the ideal order",
            bounds="nDCG",
        ),
        Kind("hit_nDCG", "graded relevance of {first}, each counted once, against the ideal order"),
        Kind("Recall", "gold items found in {first}", bounds="rising"),
        Kind("P", "gold items in {first} hits, one a rank", bounds="rising"),
        Kind("AP", "mean of the precisions at the gold items of {first}", bounds="AP"),
        Kind("ERR", "1 / rank where a reader of {first} is expected to stop, satisfied"),
        Kind("Rprec", "relevant among as many hits as there are relevant passages"),
        Kind("IPrec", "highest precision from the rank on that reaches a share of the recall"),
        Kind("Bpref", "relevant passages above those judged not relevant"),
        Kind("infAP", "AP, inferred from a sample of judgments"),
        Kind("Compat", "overlap with the ideal order, the first ranks weighing most"),
        Kind("SetP", "relevant among all hits"),
        Kind("SetR", "relevant passages found among all hits"),
        Kind("SetF", "harmonic mean of SetP and SetR"),
        Kind("SetAP", "SetP times SetR"),
        Kind("Judged", "judged among {first}", direction="neither"),
        Kind("Tokens", "tokens in {first} passages", direction="neither", digits=0, within=COUNT),
        Kind("NumRet", "hits", within=COUNT),
        Kind("NumRel", "relevant passages there are", direction="neither", within=COUNT),
        Kind("NumQ", "queries", direction="neither", within=COUNT),
        Kind("Empty", "queries for which nothing is returned"),
    )
}


def show_name(standard: str) -> str:
    """Return the name under which the measure is shown that ir-measures calls `standard`.

    A name that is shown already, or no measure's, is returned as it is: files of earlier versions
    are read by it.

    >>> show_name("Success(rel=2)@5"), show_name("R@2000tok"), show_name("MRR@10")
    ('Hit(rel=2)@5', 'Recall@2000tok', 'MRR@10')
    """
    return STEM.sub(lambda match: SHOWN[match[1]], standard)
