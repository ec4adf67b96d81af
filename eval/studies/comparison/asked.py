"""Verdicts for questions as people ask them: judged ones, weighted as a log of real ones has them.

A log has no judgments. Of its questions only their length and their form are known, and what share
of their words an answer has is not: by that the judged questions are only told apart.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.collection import Query
from assay.eval.report.formats import signed
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.groups import Clusters, bound_sums
from assay.eval.studies.comparison.pair import Pair
from assay.retrievers.base import AssayError
from assay.retrievers.settings.files import read_text

LENGTHS = ((3, "1 to 3 words"), (7, "4 to 7 words"), (15, "8 to 15 words"))
LONGEST = "16 words or more"
CODE = re.compile(r"\d|\w_\w|\b[a-z]+[A-Z]")
ASKING = re.compile(
    r"\?\s*$|^\s*(?:who|what|when|where|which|why|how|is|are|was|do|does|did|can|could|may|must|"
    r"should|will|would)\b",
    re.IGNORECASE,
)
FEWEST_JUDGED = 5  # questions of a kind that can stand for others of it
MOST_UNCOVERED = 0.1  # share of a log that may be of kinds that are not judged
ROUNDS = 100


@dataclass(frozen=True)
class Log:
    """What a log of real questions is like.

    Attributes:
        name: That of its file.
        questions: How many it has.
        shares: By feature and kind the share of its questions that are of that kind.

    """

    name: str
    questions: int
    shares: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Weights:
    """How much each judged question counts, by its id; they sum to 1.

    `uncovered` is the share of the log that no judged question stands for.
    """

    by_query: Mapping[str, float]
    uncovered: float

    @property
    def effective(self) -> float:
        """As how many questions of equal weight they count (Kish 1965)."""
        return 1 / sum(weight**2 for weight in self.by_query.values())


@dataclass(frozen=True)
class Reweighted:
    """The headline's difference for questions as the log has them."""

    difference: Estimate
    shown: bool


def describe_kind(text: str) -> dict[str, str]:
    """Return by feature what kind of question it is."""
    words = len(text.split())
    length = next((name for most, name in LENGTHS if words <= most), LONGEST)
    named = "with a number or code" if CODE.search(text) else "in words alone"
    form = "a question" if ASKING.search(text) else "keywords"
    return {"length": length, "form": form, "names": named}


def read_log(path: Path) -> Log:
    """Return what the questions in a file are like, one a line. Raises AssayError without any."""
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    if not lines:
        raise AssayError(f"{path}: no question; it takes one a line")
    kinds = list(map(describe_kind, lines))
    shares = {
        feature: {
            kind: number / len(lines)
            for kind, number in Counter(item[feature] for item in kinds).most_common()
        }
        for feature in kinds[0]
    }
    return Log(path.name, len(lines), shares)


def weigh(log: Log, queries: Mapping[str, Query]) -> Weights:
    """Return the weights with which judged questions have each feature as often as the log.

    Each feature by itself, by raking (Deming and Stephan 1940): which lengths go with which forms
    is as among the judged ones.

    Raises:
        AssayError: More than a tenth of the log is of kinds of which fewer than five are judged.

    """
    kinds = {id_: describe_kind(query.text) for id_, query in queries.items()}
    wanted: dict[str, dict[str, float]] = {}
    uncovered = 0.0
    for feature, shares in log.shares.items():
        judged = Counter(item[feature] for item in kinds.values())
        missing = {kind: share for kind, share in shares.items() if judged[kind] < FEWEST_JUDGED}
        if sum(missing.values()) > MOST_UNCOVERED:
            kind = max(missing, key=lambda name: missing[name])
            raise AssayError(
                f"{log.name}: {sum(missing.values()):.0%} of its questions are of kinds that are "
                f"hardly judged, most of them {kind} ({judged[kind]} judged); it takes "
                f"{FEWEST_JUDGED} of a kind: add such questions"
            )
        uncovered = max(uncovered, sum(missing.values()))
        kept = sum(shares.values()) - sum(missing.values())
        wanted[feature] = {
            kind: shares.get(kind, 0.0) / kept if kind not in missing else 0.0 for kind in judged
        }
    weights = np.full(len(kinds), 1 / len(kinds))
    for _ in range(ROUNDS):
        for feature, shares in wanted.items():
            names = [item[feature] for item in kinds.values()]
            for kind, share in shares.items():
                own = np.array([name == kind for name in names])
                total = float(weights[own].sum())
                weights[own] *= share / total if total else 0.0
    if not weights.sum() > 0:
        raise AssayError(f"{log.name}: no judged question is of its kinds; add such questions")
    weights /= weights.sum()
    return Weights(dict(zip(kinds, weights.tolist(), strict=True)), uncovered)


def reweigh(pair: Pair, weights: Weights, clusters: Clusters | None) -> Reweighted:
    """Return the headline's difference of a pair with weights.

    `clusters` are the groups of its questions by the leading claim, None by question. The variance
    is linearised, by group (see `groups.bound_sums`).
    """
    scores = pair.scores(pair.headline.measure)
    values = np.array([other - base for base, other in scores.values()])
    own = np.array([weights.by_query[id_] for id_ in scores])
    mean = float(np.sum(own * values))
    groups: NDArray[np.int64] = clusters.numbers if clusters else np.arange(len(values))
    half = bound_sums(own * (values - mean), own, groups)
    low, high = mean - half, mean + half
    return Reweighted(Estimate(mean, low, high, len(values)), low > 0 or high < 0)


def tell(pair: Pair, found: Reweighted, weights: Weights, log: Log) -> str:
    """Return in sentences whether a verdict holds for questions as the log has them."""
    item, value = pair.headline, found.difference.value
    same = value * item.difference.value > 0
    if item.shown:
        verdict = "it holds" if found.shown and same else "it is not shown"
        verdict = "it is reversed" if found.shown and not same else verdict
    else:
        verdict = "a difference is shown" if found.shown else "no difference is shown either"
    ends = f"{signed(found.difference.low)} and {signed(found.difference.high)}"
    told = (
        f"For questions as long and of such forms as the {log.questions:,} in {log.name}, "
        f"{verdict}: {signed(value)}, likely between {ends}; the {item.n:,} judged ones count as "
        f"{weights.effective:,.0f}."
    )
    if weights.uncovered:
        told += f" {weights.uncovered:.0%} of the log is of kinds that are not judged."
    return told


def describe(log: Log, weights: Weights, found: Sequence[Reweighted]) -> dict[str, Any]:
    """Return what a log says of the pairs, as JSON values."""
    return {
        **asdict(log),
        "effective": weights.effective,
        "uncovered": weights.uncovered,
        "pairs": [asdict(item) for item in found],
    }
