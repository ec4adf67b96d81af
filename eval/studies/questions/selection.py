"""The kept questions, those marked for a person to review, and their statistics."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.groups import Group
from assay.eval.collections.traits import share_words
from assay.eval.runs.json_form import by, in_json, length, shape
from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.questions.asking import MEANING, Cause, DrawOutcome
from assay.eval.studies.questions.drawing import Draw
from assay.eval.studies.questions.kinds import KINDS


@dataclass(frozen=True)
class Bias:
    """Hit@10 of keyword and of dense search on a set of questions, which may favour one of them.

    `keyword` and `dense` are Hit@10 of the two legs alone over the questions with an answer;
    `advantage` is keyword minus dense, paired by question.
    """

    keyword: Estimate
    dense: Estimate
    advantage: Estimate


def _place_passages(draw: Draw) -> list[tuple[str, int, int]]:
    return [(one.doc_id, one.start, one.end) for one in draw.passages]


def _sort(names: frozenset[str]) -> list[str]:
    return sorted(names)


def _name_all(overlaps: Mapping[str, float]) -> dict[str, float]:
    return {name or "all": value for name, value in overlaps.items()}


@in_json(
    "asked_again",
    "bias",
    asked=length("outcomes"),
    kept=length("kept"),
    review=by(_sort, "review"),
    dropped="count_causes",
    types=shape("count_kinds", asked="0", kept="1"),
    types_without_passages="empty",
    median_overlap=by(_name_all, "find_overlaps"),
    questions=shape(
        "outcomes.items",
        spread=("1",),
        but=("draw", "gold", "asked_again"),
        id="0",
        type="1.draw.kind.name",
        passages=by(_place_passages, "1.draw"),
    ),
)
@dataclass(frozen=True)
class QuestionSelection:
    """The outcomes of all draws, by query id in their order.

    `review` are the ids of questions that a person should review; `bias` is None if no question
    has an answer; `empty` are the types that suit no passage.
    """

    outcomes: Mapping[str, DrawOutcome]
    review: frozenset[str] = frozenset()
    bias: Bias | None = None
    empty: Sequence[str] = field(default_factory=tuple)

    @property
    def kept(self) -> dict[str, DrawOutcome]:
        """The questions that passed, by query id."""
        return {name: outcome for name, outcome in self.outcomes.items() if outcome.cause is None}

    @property
    def groups(self) -> list[Group]:
        """The group of each kept question: the document of its first passage, or itself alone."""
        return [
            Group("document", outcome.draw.passages[0].doc_id)
            if outcome.draw.passages
            else Group("query", name)
            for name, outcome in self.kept.items()
        ]

    @property
    def shared_words(self) -> dict[str, float]:
        """The share of the words of each kept question that are in its passages."""
        found = {
            name: share_words(outcome.question, " ".join(one.text for one in outcome.draw.passages))
            for name, outcome in self.kept.items()
            if outcome.draw.passages
        }
        return {name: share for name, share in found.items() if share is not None}

    def count_causes(self) -> dict[Cause, int]:
        """Return the number of questions dropped for each cause, in the order of the tests."""
        counts = Counter(outcome.cause for outcome in self.outcomes.values())
        return {cause: counts[cause] for cause in MEANING}

    @property
    def asked_again(self) -> int:
        """The number of questions asked again, for they had too many words of their passage."""
        return sum(outcome.asked_again for outcome in self.outcomes.values())

    def count_kinds(self) -> dict[str, tuple[int, int]]:
        """Return the number of questions asked for and of those kept, by type."""
        asked = Counter(outcome.draw.kind.name for outcome in self.outcomes.values())
        kept = Counter(outcome.draw.kind.name for outcome in self.kept.values())
        return {name: (asked[name], kept[name]) for name in KINDS if asked[name]}

    def find_overlaps(self) -> dict[str, float]:
        """Return the median overlap with the passages by type; "" is the key for all types."""
        by_kind: dict[str, list[float]] = {}
        for outcome in self.kept.values():
            for name in ("", outcome.draw.kind.name):
                by_kind.setdefault(name, []).append(outcome.overlap)
        return {name: median(values) for name, values in by_kind.items()}


def drop_duplicates(
    outcomes: Mapping[str, DrawOutcome], vectors: NDArray[np.float32], most: float
) -> dict[str, DrawOutcome]:
    """Return the outcomes, with questions dropped whose cosine with an earlier one exceeds `most`.

    `vectors` has a row of length 1 for each question kept so far, in their order.
    """
    found = dict(outcomes)
    kept: list[tuple[str, NDArray[np.float32]]] = []
    rows = (name for name, outcome in outcomes.items() if outcome.cause is None)
    for name, row in zip(rows, vectors, strict=True):
        near = {other: float(row @ vector) for other, vector in kept}
        closest = max(near, key=lambda other: near[other], default="")
        if closest and near[closest] > most:
            detail = f"{closest}, cosine {near[closest]:.2f}"
            found[name] = replace(outcomes[name], cause="duplicate", detail=detail, gold=())
        else:
            kept.append((name, row))
    return found


def choose_review(names: Sequence[str], share: float, seed: int) -> frozenset[str]:
    """Return a random share of `names`: at least one, unless the share is 0 or there are none."""
    number = min(len(names), max(1, round(share * len(names)))) if share else 0
    return frozenset(random.Random(f"review {seed}").sample(sorted(names), number))
