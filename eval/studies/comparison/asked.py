"""Verdicts for real questions: judged questions weighted to match a log of real ones.

A log has no judgments: only the length and the form of its questions are known. The share of their
words that an answer has is not known, so that questions are not weighted by it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.collection import Query
from assay.eval.report.formats import percent, signed
from assay.eval.runs.json_form import in_json
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
FEWEST_JUDGED = 5  # judged questions of a kind that can represent the kind
MOST_UNCOVERED = 0.1  # share of a log that may be of kinds that are not judged
ROUNDS = 100


@dataclass(frozen=True)
class Log:
    """The features of a log of real questions.

    Attributes:
        name: The name of its file.
        questions: The number of questions.
        shares: The share of its questions of each kind, by feature and kind.

    """

    name: str
    questions: int
    shares: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Weights:
    """The weights of the judged questions, which sum to 1.

    Attributes:
        by_query: The weight by query id.
        uncovered: The share of the log that no judged question represents.

    """

    by_query: Mapping[str, float]
    uncovered: float

    @property
    def effective(self) -> float:
        """The effective number of questions: equally weighted ones count the same (Kish 1965)."""
        return 1 / sum(weight**2 for weight in self.by_query.values())


@dataclass(frozen=True)
class Reweighted:
    """The headline's difference for questions weighted to match the log."""

    difference: Estimate
    shown: bool


@in_json(
    spread=("log",), effective="weights.effective", uncovered="weights.uncovered", pairs="pairs"
)
@dataclass(frozen=True)
class Reweighing:
    """A log, the weights of the judged questions, and the weighted difference of each pair."""

    log: Log
    weights: Weights
    pairs: Sequence[Reweighted]


def describe_kind(text: str) -> dict[str, str]:
    """Return the kind of a question, by feature."""
    words = len(text.split())
    length = next((name for most, name in LENGTHS if words <= most), LONGEST)
    named = "with a number or code" if CODE.search(text) else "in words alone"
    form = "a question" if ASKING.search(text) else "keywords"
    return {"length": length, "form": form, "names": named}


def read_log(path: Path) -> Log:
    """Return the features of the questions in a file, one a line. Raises AssayError without any."""
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
    """Return weights that give the judged questions the shares of each feature in the log.

    Each feature is matched by itself, by raking (Deming and Stephan 1940): the association of
    lengths with forms is that among the judged questions.

    Raises:
        AssayError: More than a tenth of the log is of kinds with fewer than five judged questions.

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
                f"{log.name}: {percent(sum(missing.values()))} of its questions are of kinds that "
                f"are hardly judged, most of them {kind} ({judged[kind]} judged); it takes "
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
    """Return the weighted difference of a pair in the headline measure.

    `clusters` are the groups of its questions by the leading claim; None if it is by question. The
    variance is linearised, by group (see `groups.bound_sums`).
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
    """Return in sentences if a verdict holds for questions weighted to match the log."""
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
        told += f" {percent(weights.uncovered)} of the log is of kinds that are not judged."
    return told
