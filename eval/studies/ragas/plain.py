"""The metrics of ragas that need no language model: they compare ids or texts."""

import asyncio
import warnings
from collections.abc import Sequence
from typing import Any

from assay.eval.studies.ragas.library import load
from assay.eval.studies.ragas.metrics import Metric
from assay.eval.studies.ragas.samples import Sample
from assay.eval.studies.ragas.scores import Outcome, Scores, gather, is_score
from assay.retrievers.base import Progress


def score(metrics: Sequence[Metric], samples: Sequence[Sample], progress: Progress) -> list[Scores]:
    """Return the scores of `metrics`. Raises AssayError if the extra is missing.

    A query without hits scores 0, because ragas returns NaN or raises for it.
    """
    if not metrics:
        return []
    library = load()
    found: dict[tuple[str, str], Outcome] = {}
    made = {metric.name: _make(library, metric.name) for metric in metrics}
    with asyncio.Runner() as runner:
        for sample in progress.track(samples, "ragas", len(samples)):
            for name, metric in made.items():
                if not sample.gold_ids:
                    found[name, sample.query] = "no gold item is relevant"
                elif not sample.contexts:
                    found[name, sample.query] = 0.0
                else:
                    value = runner.run(_score(metric, sample))
                    found[name, sample.query] = value if is_score(value) else "ragas gave no score"
    return gather(metrics, samples, found)


async def _score(metric: Any, sample: Sample) -> float:
    from ragas.dataset_schema import SingleTurnSample

    shown = SingleTurnSample(
        retrieved_context_ids=list(sample.ids),
        reference_context_ids=list(sample.gold_ids),
        retrieved_contexts=list(sample.contexts),
        reference_contexts=list(sample.gold_contexts),
    )
    return float(await metric.single_turn_ascore(shown))


def _make(library: Any, name: str) -> Any:
    """Return an instance of the metric `name`.

    ragas marks the names of these metrics as deprecated, but has no other names for them. Its
    public method records every score for its analytics, and for that writes an id of the user below
    the home directory even if tracking is off; so this class calls the private method instead.
    """

    class Unnoted:
        async def single_turn_ascore(self, sample: Any, callbacks: Any = None) -> float:
            return float(await self._single_turn_ascore(sample, []))  # type: ignore[attr-defined]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        metric = getattr(library.metrics, name)
        similarity = library.metrics.NonLLMStringSimilarity
    made = type(name, (Unnoted, metric), {})()
    distance = type("Similarity", (Unnoted, similarity), {})
    if hasattr(made, "_distance_measure"):
        made._distance_measure = distance()
    elif hasattr(made, "distance_measure"):
        made.distance_measure = distance()
    return made
