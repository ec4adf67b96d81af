"""What of a run goes into MLflow, as plain values."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from eval.analysis.exports import ATTRIBUTION, ITEMS, PER_QUERY, QRELS, RUN
from eval.analysis.summary import Summary
from eval.runs.ann_recall import RECALL, find_recalls
from eval.runs.flattening import flatten
from eval.runs.latency import TOTAL
from eval.runs.stored import MANIFEST, CollectionFacts, Manifest
from eval.scoring.measures import choose_headline
from eval.statistics.estimates import OpenEstimate

ARTIFACTS = (
    RUN,
    QRELS,
    ITEMS,
    PER_QUERY,
    ATTRIBUTION,
    "config.yaml",
    MANIFEST,
    "report.md",
    "report.html",
)
# MLflow allows letters, digits, `_ - . /` and space. Runs of anything else become one `_`.
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9./ -]+")
LONGEST_NAME = 250
LONGEST_DIGEST = 36


@dataclass(frozen=True)
class Record:
    """What MLflow is told of one run.

    `time` is when the run was finished, in ms since 1970. `headline` is the name and value of the
    one measure that its parent shows. `artifacts` are the wanted files that its folder holds.
    """

    run: str
    folder: Path
    name: str
    time: int
    tags: Mapping[str, str]
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    headline: tuple[str, float]
    dataset: Mapping[str, str]
    artifacts: tuple[Path, ...]


def metric_name(measure: str) -> str:
    """Return the name under which MLflow holds a measure: `nDCG_at_10` for `nDCG@10`."""
    return NOT_IN_NAMES.sub("_", measure.replace("@", "_at_")).strip("_")[:LONGEST_NAME]


def describe(summary: Summary) -> Record:
    """Return the record of one run."""
    manifest = summary.run.manifest
    files = [summary.run.folder / name for name in ARTIFACTS]
    measure = choose_headline(summary.means)
    return Record(
        run=manifest.id,
        folder=summary.run.folder,
        name=f"{manifest.name} on {manifest.collection.name}",
        time=int(datetime.fromisoformat(manifest.created).timestamp() * 1000),
        tags=_tags(manifest) | {"assay.queries_without_hits": str(len(summary.run.without_hits))},
        params=list_params(manifest.config),
        metrics=_metrics(summary),
        headline=(metric_name(measure), summary.means[measure].value),
        dataset=_dataset(manifest.collection),
        artifacts=tuple(file for file in files if file.exists()),
    )


def headlines(records: Sequence[Record]) -> dict[str, float]:
    """Return the metrics of a parent: the headline of each run as `<measure>/<pipeline> on …`."""
    found: dict[str, float] = {}
    for record in records:
        measure, value = record.headline
        name = f"{measure}/{metric_name(record.name)}"
        found[name if name not in found else f"{measure}/{metric_name(record.run)}"] = value
    return found


def list_params(config: Mapping[str, Any]) -> dict[str, str]:
    """Return every leaf of a config by the name under which MLflow holds it."""
    return {metric_name(key): text for key, text in flatten(config)}


def _tags(manifest: Manifest) -> dict[str, str]:
    git = manifest.environment.get("git", {})
    tags = {
        "assay.run": manifest.id,
        "assay.identity": manifest.identity,
        "assay.config": manifest.name,
        "assay.collection": manifest.collection.name,
        "assay.command": shlex.join(manifest.environment.get("command", [])),
        "assay.degraded": json.dumps(bool(manifest.degraded)),
        "assay.sampled": json.dumps(manifest.sampled),
    }
    if git:
        tags["mlflow.source.git.commit"] = git["commit"]
        tags["assay.git_dirty"] = json.dumps(git["dirty"])
    return tags


def _metrics(summary: Summary) -> dict[str, float]:
    manifest = summary.run.manifest
    found: dict[str, float] = {"queries": len(summary.run.queries)}
    for measure, mean in summary.means.items():
        found |= with_interval(metric_name(measure), mean)
    for stage, figures in summary.latency.items():
        for percentile, figure in figures.items():
            name = f"latency_ms/{metric_name(stage)}.{percentile}"
            found |= with_interval(name, figure) if stage == TOTAL else {name: figure.value}
    totals = summary.attribution.totals()
    items = sum(totals.values())
    found |= {f"attribution/{fate}": number / items for fate, number in totals.items() if items}
    if manifest.throughput is not None:
        found["throughput/queries_per_second"] = manifest.throughput
        found["throughput/concurrency"] = manifest.concurrency
    if manifest.retries:
        found["retries"] = manifest.retries
    found["index/chunks"] = manifest.index.chunks
    found["index/bytes"] = manifest.index.bytes
    for name in ("oversize", "integrity_failures"):
        if name in manifest.index.facts:
            found[f"index/{name}"] = manifest.index.facts[name]
    for percentile, size in manifest.index.tokens.percentiles().items():
        found[f"index/tokens.{percentile}"] = size
    for leg, recall in find_recalls(manifest.facts).items():
        found[f"index/{metric_name(f'{RECALL}.{leg}')}"] = recall
    for stage, seconds in manifest.index.seconds.items():
        found[f"index/seconds.{metric_name(stage)}"] = seconds
        found[f"index/cached.{metric_name(stage)}"] = float(stage in manifest.index.cached)
    return found


def with_interval(name: str, estimate: OpenEstimate) -> dict[str, float]:
    """Return an estimate and the ends that its interval has by their names in MLflow."""
    ends = {f"{name}.low": estimate.low, f"{name}.high": estimate.high}
    return {name: estimate.value} | {key: end for key, end in ends.items() if end is not None}


def _dataset(collection: CollectionFacts) -> dict[str, str]:
    sizes = {
        "documents": collection.documents,
        "queries": collection.queries,
        "judgments": collection.judgments,
    }
    return {
        "name": collection.name,
        "digest": collection.digest[:LONGEST_DIGEST],
        "source_type": "collection",
        "source": json.dumps(
            {
                "title": collection.title,
                "source": collection.source,
                "licence": collection.licence,
            }
        ),
        "profile": json.dumps({**sizes, "digest": collection.digest}),
    }
