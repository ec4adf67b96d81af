"""The two claims of a comparison: on new questions on these documents, on documents like these.

Questions that share documents agree, so that what holds for new questions on these documents need
not hold for other documents. The first is tested by question, the second by group.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.groups import Group, find_groups, share_touched
from assay.eval.report.formats import count
from assay.eval.runs.json_form import in_json
from assay.eval.statistics.groups import Clusters, are_single, count_effective, number_groups

if TYPE_CHECKING:
    from assay.eval.collections.collection import Collection, Query
    from assay.eval.runs.stored import StoredRun

Claim = Literal["questions", "documents"]
Strength = Literal["decides", "weak", "cannot tell"]

NEARLY_ALL = 0.9  # share of the documents that questions are on
# Effective groups from which a test by group keeps its level, and from which it has any power, by
# `python -m benchmarks.groups`.
DECIDING, FEWEST = 20, 6


@dataclass(frozen=True)
class Sampling:
    """The sampling of a comparison's questions: in groups, which are a `share` of all groups.

    `groups` has the number of each question's group by its id.
    """

    groups: Mapping[str, int]
    share: float = 0.0

    def number(self, queries: Iterable[str]) -> NDArray[np.int64]:
        """Return the numbers of the groups of some questions, from 0 in the order they appear."""
        return number_groups([self.groups[id_] for id_ in queries])

    def cluster(self, queries: Iterable[str]) -> Clusters:
        """Return the groups of some questions, as statistics take them."""
        return Clusters(self.number(queries), self.share)


@in_json(
    "strength",
    "sentence",
    about="leading",
    groups="count",
    effective_groups="effective",
    documents_touched="touched",
)
@dataclass(frozen=True)
class Claims:
    """The claims that the questions of a comparison support: on questions, and on documents.

    Attributes:
        groups: The group of each question, by its id.
        touched: The share of the collection's documents that some question is on, from 0 to 1.
        documents_are: The card's statement on the documents: `all`, `sample`, or "".
        bound: True if they support no claim on other documents, however many these are, since
            settings were chosen on questions on the same documents.

    """

    groups: Mapping[str, Group]
    touched: float
    documents_are: str = ""
    bound: bool = False

    @classmethod
    def of(cls, run: "StoredRun") -> "Claims":
        """Return the claims of the questions of a run."""
        facts = run.manifest.collection
        groups = find_groups(run.queries.values(), run.gold, facts.copies)
        touched = share_touched(groups.values(), facts.documents, facts.copies)
        return cls(groups, touched, facts.documents_are)

    @classmethod
    def of_collection(cls, collection: "Collection", queries: "Sequence[Query]") -> "Claims":
        """Return the claims of some questions of a collection."""
        copies = collection.card.known_copies
        groups = find_groups(queries, collection.gold, copies)
        touched = share_touched(groups.values(), len(collection.documents), copies)
        return cls(groups, touched, collection.card.documents_are)

    def hold_out(self, queries: Iterable[str], bound: bool = False) -> "Claims":
        """Return the claims of some of the questions, after settings were chosen on the others.

        If the documents of these had no part in the choice, they are a share of all documents, even
        if the card says that the documents are all there are. Otherwise the claims are `bound`:
        they say nothing of other documents.
        """
        groups = {id_: self.groups[id_] for id_ in queries}
        share = len(set(groups.values())) / max(self.count, 1)
        if bound:
            return replace(self, groups=groups, bound=True)
        if self.documents_are == "all":
            return Claims(groups, share)
        return replace(self, groups=groups, touched=self.touched * share)

    @property
    def declared(self) -> bool:
        """True if the collection declares groups, which then need not be documents."""
        return any(group.kind == "declared" for group in self.groups.values())

    @property
    def unit(self) -> str:
        """The word for the groups: documents, or groups if the collection declares any."""
        return "groups" if self.declared else "documents"

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """The number of each question's group."""
        return number_groups(list(self.groups.values()))

    @property
    def single(self) -> bool:
        """True if no two questions share a group: both claims then have the same test."""
        return are_single(self.numbers)

    @property
    def count(self) -> int:
        """The number of groups."""
        return len(set(self.groups.values()))

    @cached_property
    def effective(self) -> float:
        """The effective number of groups."""
        return count_effective(self.numbers)

    @property
    def strength(self) -> Strength:
        """The strength of a claim beyond these documents, by the number of groups."""
        if self.bound:
            return "cannot tell"
        if self.effective >= DECIDING:
            return "decides"
        return "weak" if self.effective >= FEWEST else "cannot tell"

    @property
    def wanted(self) -> Claim:
        """The claim that the questions call for, whether or not they are enough for it."""
        if self.documents_are:
            return "questions" if self.documents_are == "all" else "documents"
        if self.declared:
            return "documents"
        return "questions" if self.touched >= NEARLY_ALL else "documents"

    @property
    def leading(self) -> Claim:
        """The claim of the verdict: the wanted one, unless there are too few groups for it."""
        return "questions" if self.strength == "cannot tell" else self.wanted

    @property
    def other(self) -> Claim:
        """The claim that does not lead."""
        return "questions" if self.leading == "documents" else "documents"

    @cached_property
    def sampling(self) -> Sampling:
        """The sampling that the test of the claim on documents assumes.

        If the claim is on the rest of the collection, the share that questions are on is certain.
        The claim is on future documents if these are nearly all of the collection's, if the card
        says that they are a sample, or if groups are declared, whose total number is unknown.
        """
        beyond = self.declared or self.documents_are == "sample" or self.touched >= NEARLY_ALL
        numbers = dict(zip(self.groups, self.numbers.tolist(), strict=True))
        return Sampling(numbers, 0.0 if beyond else self.touched)

    def cluster(self, queries: Iterable[str]) -> Clusters | None:
        """Return the groups that the leading claim takes some questions in; None by question."""
        if self.leading == "questions" or self.single:
            return None
        return self.sampling.cluster(queries)

    def name(self, claim: Claim) -> str:
        """Return the subject of a claim in words."""
        if claim == "documents":
            return f"on {self.unit} like these"
        return f"for new questions on these {self.unit}"

    @property
    def sentence(self) -> str:
        """The scope of verdicts and intervals of these questions, in a sentence or two."""
        if self.leading == "questions" and self.single and self.strength != "cannot tell":
            return (
                f"This holds for new questions on these {self.unit}, and for {self.unit} like "
                "these: no two questions share one."
            )
        if self.leading == "questions":
            told = f"This holds for new questions on these {self.unit}; on others it may differ."
            return " ".join(filter(None, [self.describe(), told]))
        told = f"This holds for {self.unit} like these"
        on = f"the questions are on {self.count_groups()}"
        if self.strength == "decides":
            return f"{told}: {on}{self._weigh()}."
        return f"{told}, but weakly: {on}{self._weigh()}; a firm answer takes {DECIDING}."

    def _weigh(self) -> str:
        """Return words on the effective number of groups; "" if it equals their number."""
        if round(self.effective) >= self.count:
            return ""
        return f", which count as {self.effective:.1f}, as some have more questions than others"

    def describe(self) -> str:
        """Return a sentence on why there is no claim beyond these documents; "" if there is one."""
        if self.wanted == "questions" or self.strength != "cannot tell":
            return ""
        if self.bound:
            return (
                f"Cannot tell beyond these {self.unit}: settings were chosen by questions on the "
                "same ones."
            )
        questions = count(len(self.groups), "question")
        return (
            f"Cannot tell beyond these {self.unit}: {questions} on {self.count_groups()}"
            f"{self._weigh()}; it takes {FEWEST}."
        )

    def describe_weakness(self) -> str:
        """Return a sentence on the weak basis of a finding on other documents."""
        return (
            f"That is weak: the questions are on {self.count_groups()}{self._weigh()}; a firm "
            f"answer takes {DECIDING}."
        )

    def count_groups(self) -> str:
        """Return the number of groups in words: `18 documents`."""
        return count(self.count, self.unit.removesuffix("s"))
