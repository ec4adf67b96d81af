"""The scores of a run's generated answers, from `answers.jsonl`, and the cost of making them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path

from assay.eval.runs import generated_answers
from assay.eval.runs.generated_answers import Recipe, StoredAnswer
from assay.eval.runs.json_form import in_json, length, shape
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.cost import dollars
from assay.eval.runs.summary.means import average_shares, estimate_means
from assay.eval.runs.summary.unanswerable_queries import find_unanswered
from assay.eval.statistics.estimates import Estimate


@in_json(
    "recipe",
    "endings",
    "tokens",
    "usd",
    run="run.manifest.id",
    collection="run.manifest.collection.name",
    queries=length("answers"),
    measures="means",
    abstained=shape("", unanswered="rightly_abstained", answered="wrongly_abstained"),
    file="path",
)
@dataclass(frozen=True)
class Answers:
    """The answers that a model gave from a run: the mean of each measure, and their cost.

    `abstained` is the share of queries that got no answer, of those that nothing answers (right)
    and of the others (wrong); None where there are none. `means` are over the queries asked, which
    may be a sample.
    """

    run: StoredRun
    recipe: Recipe
    answers: Sequence[StoredAnswer]
    means: Mapping[str, Estimate]
    rightly_abstained: Estimate | None
    wrongly_abstained: Estimate | None

    @property
    def path(self) -> Path:
        """The file that they are in."""
        return self.run.folder / generated_answers.FILE

    @property
    def endings(self) -> dict[str, int]:
        """The number of answers refused, cut off, or not requested since nothing was returned."""
        found = [answer.ending for answer in self.answers]
        return {name: found.count(name) for name in ("refusal", "length", "unasked")}

    @property
    def abstained(self) -> tuple[tuple[str, Estimate | None], ...]:
        """The shares of queries that got no answer, with words for each kind."""
        return (
            ("nothing answers them, and the model says so", self.rightly_abstained),
            ("something answers them, and the model gives no answer", self.wrongly_abstained),
        )

    @property
    def bill(self) -> str:
        """The cost of the answers, and the reasons for those that are missing, in words."""
        told = {
            "refusal": "refused",
            "length": "cut off",
            "unasked": "not answered: no passage to read",
        }
        counted = (f"{number} {told[name]}" for name, number in self.endings.items() if number)
        cost = "USD unknown" if self.usd is None else f"{dollars(self.usd)} USD"
        return "; ".join([f"{self.tokens:,} tokens, {cost} in all", *counted])

    @property
    def usd(self) -> float | None:
        """The cost of the answers, whenever they were paid for; None if that is not known."""
        costs = [answer.usd for answer in self.answers]
        return None if None in costs else fsum(cost for cost in costs if cost is not None)

    @property
    def tokens(self) -> int:
        """The tokens of prompts and answers, as far as they are known."""
        return sum((row.prompt_tokens or 0) + (row.output_tokens or 0) for row in self.answers)


def examine_answers(run: StoredRun) -> Answers | None:
    """Return the answers given from `run` and their scores; None if there are none."""
    found = generated_answers.read(run.folder)
    if found is None:
        return None
    answers = [found.answers[query] for query in run.queries if query in found.answers]
    asked = run.take({answer.query for answer in answers})
    scores = generated_answers.score(asked, generated_answers.list_available(asked))
    unanswered, claims = find_unanswered(run), Claims.of(run)
    right = {row.query: row.abstained for row in answers if row.query in unanswered}
    wrong = {row.query: row.abstained for row in answers if row.query not in unanswered}
    return Answers(
        run=run,
        recipe=found.recipe,
        answers=answers,
        means=estimate_means(scores, claims),
        rightly_abstained=average_shares(right, claims) if right else None,
        wrongly_abstained=average_shares(wrong, claims) if wrong else None,
    )
