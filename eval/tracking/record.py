"""The record of a run for MLflow, as plain values."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.eval.report.renderers.frames import list_figures
from assay.eval.report.run_page.report import report
from assay.eval.report.run_page.tables import BY_QUERY
from assay.eval.runs.ann_recall import RECALL, find_recalls
from assay.eval.runs.config_keys import flatten
from assay.eval.runs.latency import TOTAL
from assay.eval.runs.manifest import MANIFEST, CollectionFacts, Manifest, count_tokens
from assay.eval.runs.summary.exports import ATTRIBUTION, ITEMS, PER_QUERY, QRELS, RUN
from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring.measures import choose_headline
from assay.eval.statistics.estimates import OpenEstimate
from assay.eval.tracking.description import describe_run, tag_source
from assay.eval.tracking.store import redact
from assay.retrievers.store.digest import digest

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
# Measures with parameters, such as `nDCG(dcg='exp-log2')@5`, and their replacements.
_STEM, _KEY = "[a-z]*[A-Z][A-Za-z]*", "(?!at[=_])[a-z]+"
_WORD, _NUMBER = "[A-Za-z][A-Za-z0-9.-]*", "[0-9][0-9.]*"
_PAIR = rf"{_KEY}=(?:{_NUMBER}|'{_WORD}')"
WITH_PARAMETERS = re.compile(rf"{_STEM}\({_PAIR}(?:,{_PAIR})*\)(?:@[A-Za-z0-9]+)?")
LIKE_PARAMETERS = re.compile(rf"{_STEM}(?:_{_KEY}_(?:{_NUMBER}|{_WORD}))+(?:_at_[A-Za-z0-9]+)?")
FIGURES = "figures.json"
FIGURES_COLUMNS = ("figure", "value", "low", "high")
FigureRow = tuple[str, float, float | None, float | None]
LONGEST_NAME = 115  # of MLflow's 250, for `difference/MEASURE/RUN.high`
MARK = 8  # digits of a digest that distinguish names
LONGEST_DIGEST = 36


@dataclass(frozen=True)
class Record:
    """The data that MLflow gets of one run.

    `folder` is None if the run is not stored. It lasted from `begin` to `time`, in ms since
    1970. `headline` is the name and value of the one measure that its parent shows. `metrics` are
    what runs are listed and compared by; `figures` are all there are, with their intervals: rows of
    `FIGURES_COLUMNS`. `description` is Markdown.
    """

    run: str
    folder: Path | None
    name: str
    begin: int
    time: int
    tags: Mapping[str, str]
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    figures: Sequence[FigureRow]
    description: str
    headline: tuple[str, float]
    dataset: Mapping[str, str]

    @property
    def artifacts(self) -> tuple[Path, ...]:
        """The wanted files that its folder holds."""
        files = [self.folder / name for name in ARTIFACTS] if self.folder else []
        return tuple(file for file in files if file.exists())


def metric_name(measure: str) -> str:
    """Return the name under which MLflow holds a measure or a key: `nDCG_at_10` for `nDCG@10`.

    It ends with a digest if the original cannot be read from it, so that no two names become one:
    `AP(rel=2)` becomes `AP_rel_2`, and a key that is called `AP_rel_2` gets the digest.
    """
    words = NOT_IN_NAMES.sub("_", measure.replace("@", "_at_")).strip("_")
    name = "/".join(part for part in words.split("/") if part.strip("."))
    told = name.replace("_at_", "@") == measure and not LIKE_PARAMETERS.fullmatch(name)
    if (told or WITH_PARAMETERS.fullmatch(measure)) and len(name) <= LONGEST_NAME:
        return name
    mark = f"-{digest(measure)[:MARK]}"
    return f"{name[: LONGEST_NAME - len(mark)]}{mark}"


def describe(summary: Summary, *, tabled: bool = True) -> Record:
    """Return the record of one run; if `tabled`, with the figures of its report."""
    manifest = summary.run.manifest
    measure = choose_headline(summary.means)
    ended = int(datetime.fromisoformat(manifest.created).timestamp() * 1000)
    return Record(
        run=manifest.id,
        folder=summary.run.folder,
        name=f"{manifest.name} on {manifest.collection.name}",
        begin=ended - round(manifest.seconds * 1000),
        time=ended,
        tags=_tags(manifest) | {"assay.queries_without_hits": str(len(summary.run.without_hits))},
        params=list_params(manifest.config),
        metrics=_metrics(summary, measure),
        figures=tuple(_figures(summary)) if tabled else (),
        description=describe_run(summary),
        headline=(measure, summary.means[measure].value),
        dataset=_dataset(manifest.collection),
    )


def list_params(config: Mapping[str, Any]) -> dict[str, str]:
    """Return every leaf of a config by the name under which MLflow holds it."""
    return {metric_name(key): text for key, text in flatten(config)}


def _tags(manifest: Manifest) -> dict[str, str]:
    git = manifest.environment.get("git", {})
    command = redact(shlex.join(manifest.environment.get("command", [])))
    tags = {
        "assay.run": manifest.id,
        "assay.identity": manifest.identity,
        "assay.config": manifest.name,
        "assay.collection": manifest.collection.name,
        "assay.command": command,
        **tag_source(command),
        "assay.degraded": json.dumps(bool(manifest.degraded)),
        "assay.sampled": json.dumps(manifest.sampled),
    }
    if git:
        tags["mlflow.source.git.commit"] = git["commit"]
        tags["assay.git_dirty"] = json.dumps(git["dirty"])
    return tags


def _metrics(summary: Summary, headline: str) -> dict[str, float]:
    """Return the headline with its interval, the other measures, latency and costs."""
    manifest, total = summary.run.manifest, summary.latency.get(TOTAL, {})
    found = with_interval(metric_name(headline), summary.means[headline])
    found |= {metric_name(measure): mean.value for measure, mean in summary.means.items()}
    found |= {f"latency_ms/{TOTAL}.{name}": figure.value for name, figure in total.items()}
    if manifest.throughput is not None:
        found["throughput/queries_per_second"] = manifest.throughput
    found["queries"] = len(summary.run.queries)
    found["index/chunks"] = manifest.index.chunks
    found |= summary.cost.metrics() if summary.cost else {}
    return found


def _figures(summary: Summary) -> Iterator[FigureRow]:
    """Yield every figure of a run's report by its name, with the ends that its interval has."""
    for name, value, low, high in list_figures(report(summary), BY_QUERY):
        yield metric_name(name), value, low, high
    for name, value in _counts(summary, summary.run.manifest):
        yield name, value, None, None


def _counts(summary: Summary, manifest: Manifest) -> Iterator[tuple[str, float]]:
    """Yield figures that are in no table: throughput, cost, and facts of the index."""
    index = manifest.index
    if manifest.throughput is not None:
        yield "throughput/queries_per_second", manifest.throughput
        yield "throughput/concurrency", manifest.concurrency
    yield from (summary.cost.metrics() if summary.cost else {}).items()
    if manifest.retries:
        yield "retries", manifest.retries
    yield "index/bytes", index.bytes
    for name in ("oversize", "integrity_failures"):
        if name in index.facts:
            yield f"index/{name}", index.facts[name]
    for percentile, size in count_tokens(index).percentiles().items():
        yield f"index/tokens.{percentile}", size
    for leg, recall in find_recalls(manifest.facts).items():
        yield f"index/{metric_name(f'{RECALL}.{leg}')}", recall


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
