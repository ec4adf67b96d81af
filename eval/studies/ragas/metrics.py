"""The supported metrics of ragas, and the nearest measure of each."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of ragas.

    Attributes:
        name: The name of its class in ragas.
        nearest: The name of the nearest measure with `{k}` for the cutoff; empty if there is none.
        relation: The reason why the metric and its nearest measure may differ.
        judged: True if the metric asks a language model.
        referenced: True if the metric needs the reference answer of a query.
        responded: True if the metric needs an answer generated from the passages.
    """

    name: str
    nearest: str
    relation: str
    judged: bool = True
    referenced: bool = False
    responded: bool = False

    def find_measure(self, k: int) -> str:
        """Return the nearest measure at the cutoff `k`."""
        return self.nearest.format(k=k)


METRICS = (
    Metric(
        "IDBasedContextRecall",
        "Recall@{k}",
        "the same, unless one chunk covers several gold items: ragas sees one id there",
        judged=False,
    ),
    Metric(
        "IDBasedContextPrecision",
        "P@{k}",
        "divides by what was returned, P@k by k: the same for queries with k hits",
        judged=False,
    ),
    Metric(
        "NonLLMContextRecall",
        "Recall@{k}",
        "a gold text counts where one chunk is similar to more than half, by edit distance",
        judged=False,
    ),
    Metric(
        "NonLLMContextPrecisionWithReference",
        "AP@{k}",
        "average precision over the chunks found relevant, not over all there are; relevant is "
        "what is similar to at least half, by edit distance",
        judged=False,
    ),
    Metric(
        "ContextPrecisionWithReference",
        "AP@{k}",
        "average precision over the chunks that the model finds useful for the reference answer",
        referenced=True,
    ),
    Metric(
        "ContextPrecisionWithoutReference",
        "AP@{k}",
        "average precision over the chunks that the model finds useful for its own answer",
        responded=True,
    ),
    Metric(
        "ContextRecall",
        "Recall@{k}",
        "the share of the reference answer's sentences that the model finds in the chunks",
        referenced=True,
    ),
    Metric(
        "ContextRelevance",
        "Hit@{k}",
        "how far the chunks together answer the query, by two judges: 0, 0.5 or 1 of each",
    ),
    Metric(
        "Faithfulness",
        "",
        "is about the answer, not the ranking: the share of its statements that the chunks support",
        responded=True,
    ),
)


def choose(names: Sequence[str], *, judge: bool) -> list[Metric]:
    """Return the metrics `names`, or all that apply if none is named.

    Judged metrics need `judge`. Raises AssayError for an unknown name, and for a judged metric
    without a judge.
    """
    if not names:
        return [item for item in METRICS if judge or not item.judged]
    known = {metric.name: metric for metric in METRICS}
    for name in names:
        if name not in known:
            raise AssayError(
                f"--metrics: {name!r} is not one of ragas'; allowed: {', '.join(known)}"
                f"{suggest(name, known)}"
            )
        if known[name].judged and not judge:
            raise AssayError(f"--metrics: {name} calls a language model: give --provider")
    return [metric for metric in METRICS if metric.name in names]
