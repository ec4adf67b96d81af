"""Logging of a comparison to MLflow, with those of its runs that the store does not hold."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from assay.eval.report.markdown import plain
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring.measures import choose_headline
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.tracking.delivery import find_logged, find_noted, note_logged, send
from assay.eval.tracking.description import NOTE, add_link, make_table, tag_source
from assay.eval.tracking.record import FigureRow, describe, metric_name, with_interval
from assay.eval.tracking.store import connect, find_experiment, redact, tracking_uri
from assay.eval.tracking.writing import log_table, log_values, mlflow_run

COMPARISON = "assay.comparison"
LONG = 2000  # characters of a sentence
MEDIAN = 50  # the percentile of latency that comparisons are listed by
ARTIFACTS = ("comparison.json", "report.md", "report.html")


def log_comparison(
    compared: Comparison, folder: Path, command: str, complete: Callable[[StoredRun], Summary]
) -> str:
    """Send the comparison in `folder` unless the store holds it; return the id of its MLflow run.

    That MLflow run is the parent of the runs that the store does not hold yet, which `complete`
    summarises in all their measures; its tags name the MLflow run of each. Raises TrackingError.
    """
    uri = tracking_uri()
    runs = compared.runs
    if noted := find_noted(uri, {folder: folder.name}):
        return noted[folder].run_id
    with connect(uri) as client:
        known = find_logged(client, uri, {folder: folder.name}, COMPARISON)
        if folder in known:
            return known[folder].run_id
        experiment = find_experiment(client, uri)
        found = find_logged(client, uri, {run.folder: run.manifest.id for run in runs})
        logged = {one.run: one for one in found.values()}
        tags = _tags(compared, folder.name, redact(command))
        with mlflow_run(client, experiment, _name(compared), tags) as run_id:
            fresh = [describe(complete(run)) for run in runs if run.manifest.id not in logged]
            logged |= send(client, uri, experiment, run_id, fresh)
            base, *others = [logged[run.manifest.id].run_id for run in runs]
            named = {"assay.base": base, "assay.others": json.dumps(others)}
            i, params = int(time.time() * 1000), _params(compared)
            log_values(client, run_id, metrics(compared), i, params, named)
            log_table(client, run_id, list(figures(compared)))
            for name in ARTIFACTS:
                client.log_artifact(run_id, str(folder / name))
            described = describe_comparison(compared)
            client.set_tag(run_id, NOTE, add_link(described, experiment, run_id, ARTIFACTS))
        note_logged(folder, folder.name, uri, run_id, run_id)
    return run_id


def metrics(compared: Comparison) -> dict[str, float]:
    """Return the figures that comparisons are listed by, by their names in MLflow.

    For each run compared with the base these are the headline's difference with its interval and p,
    and the ratio of p50 of latency. Undefined figures are left out. `figures` yields all of them.
    """
    found: dict[str, float] = {
        "queries": len(compared.base.run.queries),
        "tests": compared.tests,
    }
    headline = choose_headline(compared.measures)
    for pair, name in zip(compared.against_base, _name_others(compared), strict=True):
        for item in pair.differences:
            if item.measure == headline:
                place = f"{metric_name(item.measure)}/{name}"
                found |= with_interval(f"difference/{place}", item.difference)
                if both := item.simultaneous:
                    found |= with_interval(f"simultaneous/{place}", both)
                found |= {} if item.adjusted is None else {f"p/{place}": item.adjusted}
        for latency in pair.latency:
            if latency.ratio and latency.percentile == MEDIAN:
                found |= with_interval(f"latency_ratio/p{MEDIAN}/{name}", latency.ratio)
    return found


def figures(compared: Comparison) -> Iterator[FigureRow]:
    """Yield every defined figure of a comparison, with the ends of its interval, if any."""
    for pair, name in zip(compared.pairs, _name_pairs(compared), strict=True):
        for item in pair.differences:
            place, found = f"{metric_name(item.measure)}/{name}", item.difference
            yield f"difference/{place}", found.value, found.low, found.high
            if both := item.simultaneous:
                yield f"simultaneous/{place}", both.value, both.low, both.high
            for key, value in (
                ("p", item.reported_p),
                ("effect_size", item.effect_size),
                ("detectable", item.detectable),
            ):
                if value is not None:
                    yield f"{key}/{place}", value, None, None
        for latency in pair.latency:
            if ratio := latency.ratio:
                row = f"latency_ratio/p{latency.percentile}/{name}"
                yield row, ratio.value, ratio.low, ratio.high


def _name_others(compared: Comparison) -> list[str]:
    """Return the names of all runs but the base in figures: labels, or ids if two are equal."""
    names = list(map(metric_name, compared.labels[1:]))
    if len(set(names)) == len(names):
        return names
    return [metric_name(run.manifest.id) for run in compared.runs[1:]]


def _name_pairs(compared: Comparison) -> list[str]:
    """Return the names of the pairs in figures: `other`, or `base/other` if all are compared."""
    if not compared.all_pairs:
        return _name_others(compared)
    best = metric_name(compared.labels[0])
    others = dict(zip(compared.labels[1:], _name_others(compared), strict=True))
    return [f"{others.get(base, best)}/{others[other]}" for base, other in compared.names]


def _name(compared: Comparison) -> str:
    base, *others = compared.labels
    if compared.all_pairs:
        return f"{' · '.join(compared.labels)} on {compared.base.run.manifest.collection.name}"
    return f"{' · '.join(others)} against {base} on {compared.base.run.manifest.collection.name}"


def _tags(compared: Comparison, name: str, command: str) -> dict[str, str]:
    verdicts = {
        pair.other.run.manifest.id: {item.measure: item.verdict for item in pair.differences}
        for pair in compared.against_base
    }
    return {
        COMPARISON: name,
        "assay.command": command,
        **tag_source(command),
        "assay.collection": compared.base.run.manifest.collection.name,
        "assay.verdicts": json.dumps(verdicts),
    }


def _params(compared: Comparison) -> dict[str, str]:
    return {
        "base": compared.base.run.manifest.id,
        "labels": json.dumps(compared.labels, ensure_ascii=False),
        "others": json.dumps([run.manifest.id for run in compared.runs[1:]]),
        "measures": json.dumps(compared.measures),
        "effect": json.dumps(compared.effect),
    }


def describe_comparison(compared: Comparison) -> str:
    """Return the verdict and a table of the differences from the base, as Markdown."""
    manifest = compared.base.run.manifest
    rows = [
        (
            plain(label),
            item.measure,
            f"{item.difference.value:+.3f}",
            f"{item.interval.low:+.3f} … {item.interval.high:+.3f}",
            "–" if item.reported_p is None else f"{item.reported_p:.3f}",
            item.verdict,
        )
        for pair, label in zip(compared.against_base, compared.labels[1:], strict=True)
        for item in pair.differences
    ]
    head = f"Against **{plain(compared.labels[0])}** on **{plain(manifest.collection.name)}**"
    columns = ("", "Measure", "Difference", "95 % simultaneous interval", "p", "Verdict")
    told = "\n".join(f"- {plain(line, LONG)}" for line in compared.verdict)
    return f"{head}\n\n{told}\n\n{make_table(columns, rows)}"
