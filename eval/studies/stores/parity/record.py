"""Sending what was found of engines to MLflow."""

from collections.abc import Iterator
from pathlib import Path

from assay.eval.studies.stores.parity.results import Parity
from assay.eval.studies.stores.recall.curve import Curve
from assay.eval.tracking.delivery import log_result
from assay.eval.tracking.record import list_params, metric_name, with_interval
from assay.eval.tracking.store import redact


def log_parity(parity: Parity, folder: Path) -> str:
    """Send a parity with the files of its report; return the id of its MLflow run.

    Raises TrackingError.
    """
    tags = {
        "assay.parity": parity.id,
        "assay.verdict": parity.verdict,
        "assay.command": redact(parity.command),
    }
    name = f"parity {parity.label} on {parity.collection}"
    metrics = dict(parity_metrics(parity))
    return log_result(name, tags, metrics, _params(parity), folder.iterdir(), parity.created)


def log_curve(curve: Curve, folder: Path) -> str:
    """Send a recall-latency curve with the files of its report; return the id of its MLflow run.

    Raises TrackingError.
    """
    tags = {"assay.recall": curve.id, "assay.command": redact(curve.command)}
    name = f"recall {curve.engine} on {curve.collection}"
    metrics = dict(curve_metrics(curve))
    return log_result(name, tags, metrics, _params(curve), folder.iterdir(), curve.created)


def _params(found: Parity | Curve) -> dict[str, str]:
    return list_params({"engine": dict(found.settings), "collection": found.collection})


def parity_metrics(parity: Parity) -> Iterator[tuple[str, float]]:
    """Yield the figures of a parity by their names in MLflow."""
    for verdict, number in parity.counts.items():
        yield f"parity/{verdict}", number
    for system, means in parity.quality.means.items():
        for measure, mean in means.items():
            yield from with_interval(f"{system}/{metric_name(measure)}", mean).items()
    for item in parity.quality.differences:
        name = f"native_minus_ours/{metric_name(item.measure)}"
        yield from with_interval(name, item.difference).items()
        if item.adjusted is not None:
            yield f"{name}.p", item.adjusted
    for base, item in parity.quality.against.items():
        name = f"native_minus_{base}/{metric_name(item.measure)}"
        yield from with_interval(name, item.difference).items()
    if parity.timing:
        for system, percentiles in parity.timing.systems.items():
            for name, i in percentiles.items():
                yield f"latency_ms/{system}.{name}", i.value
        for name, ratio in parity.timing.ratios.items():
            yield from with_interval(f"native_over_ours/{name}", ratio).items()
    yield "index/seconds", parity.index.seconds
    yield "index/bytes", parity.index.bytes
    for depth, recall in parity.recall.items():
        yield from with_interval(f"recall_against_exact_at_{depth}", recall).items()


def curve_metrics(curve: Curve) -> Iterator[tuple[str, float]]:
    """Yield the figures of each point by their names in MLflow."""
    for point in curve.points:
        place = metric_name(point.name)
        for depth, recall in point.recall.items():
            yield from with_interval(f"{place}/recall_at_{depth}", recall).items()
        if point.quality:
            yield from with_interval(f"{place}/{metric_name(curve.measure)}", point.quality).items()
        for depth, percentiles in point.latency.items():
            for name, i in percentiles.items():
                yield from with_interval(f"{place}/latency_ms_at_{depth}.{name}", i).items()
