"""The report of written questions: `questions.json` and `questions.md` beside their collection."""

from collections.abc import Mapping
from typing import Any

from assay.eval.report.formats import score, signed
from assay.eval.report.markdown import render_markdown
from assay.eval.studies.questions.asking import MEANING
from assay.eval.studies.questions.selection import Bias, QuestionSelection

JSON, MARKDOWN = "questions.json", "questions.md"
NAMED = 20  # dropped questions shown of each cause


def render_report(name: str, made: QuestionSelection, job: Mapping[str, Any], about: str) -> str:
    """Return the report as Markdown; `job` says what was asked for, `about` sums it up."""
    dropped = {
        cause: [outcome for outcome in made.outcomes.values() if outcome.cause == cause]
        for cause, count in made.count_causes().items()
        if count
    }
    return render_markdown(
        "studies/questions/templates/questions.md.j2",
        name=name,
        job=job,
        about=about,
        made=made,
        kinds=made.count_kinds(),
        overlaps=made.find_overlaps(),
        causes=list_causes(made),
        dropped={cause: outcomes[:NAMED] for cause, outcomes in dropped.items()},
        score=score,
    )


def list_causes(made: QuestionSelection) -> list[tuple[str, int, str]]:
    """Return every cause with how many it dropped, and what it means, in the order of the tests."""
    return [(cause, count, MEANING[cause]) for cause, count in made.count_causes().items()]


def name_favoured(bias: Bias | None) -> str:
    """Name the search that a set favours, with its figures; "" where none is shown to be."""
    if bias is None or bias.advantage.low <= 0 <= bias.advantage.high:
        return ""
    rates = {"keyword": score(bias.keyword.value), "dense": score(bias.dense.value)}
    better, worse = rates if bias.advantage.value > 0 else reversed(rates)
    return f"{better} search (Hit@10 {rates[better]} alone, {worse} search {rates[worse]})"


def describe_bias(made: QuestionSelection) -> str:
    """Return in sentences what the set may favour, as far as it was measured."""
    if not made.kept:
        return "Nothing was kept, so no bias was measured."
    overlap = (
        f"At the median {made.find_overlaps()['']:.0%} of a question's three-word sequences are "
        "in its passage."
    )
    if made.bias is None:
        return (
            f"{overlap} No question has an answer, so keyword and dense search were not compared."
        )
    bias = made.bias
    change = bias.advantage
    return (
        f"{overlap} Keyword search alone has Hit@10 {score(bias.keyword.value)}, dense search "
        f"alone {score(bias.dense.value)}: a difference of {signed(change.value)} (95 % interval "
        f"{signed(change.low)} … {signed(change.high)})."
    )
