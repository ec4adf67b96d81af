"""The stored runs of a folder at a glance: what each was, and its means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from statistics import fmean, median
from typing import Any

from pydantic import ValidationError

from assay.eval.report.run_page.page import PAGE
from assay.eval.runs.machine_load import MachineLoad
from assay.eval.runs.manifest import FORMAT, MANIFEST, Manifest
from assay.eval.runs.stored import load
from assay.eval.runs.summary.exports import NO_MEASURES, PER_QUERY, read_queries
from assay.eval.scoring import measures
from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest

Figures = tuple[dict[str, float], float | None, int]


@dataclass(frozen=True, slots=True)
class RunRow:
    """A stored run: `means` by measure, `p50` in ms, None where it was not timed.

    `load` is who worked on the machine while it was timed, None where that was not observed.
    `commit` is that of the repository that was worked in, else of Assay; "" where neither is known.
    `bytes` is what its folder takes. `place` tells collections of one name apart: see
    `CollectionFacts`.
    """

    id: str
    folder: Path
    config: str
    collection: str
    created: str
    queries: int
    sampled: bool
    degraded: bool
    commit: str
    means: Mapping[str, float]
    p50: float | None
    page: Path | None
    bytes: int
    load: MachineLoad | None = None
    place: str = ""

    @property
    def busy(self) -> bool:
        """Whether the run was timed on a machine where other processes were working."""
        return self.load is not None and self.load.is_busy()

    def as_json(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        return {
            "run": self.id,
            "folder": str(self.folder),
            "config": self.config,
            "collection": self.collection,
            "place": self.place,
            "created": self.created,
            "queries": self.queries,
            "sampled": self.sampled,
            "degraded": self.degraded,
            "commit": self.commit,
            "means": dict(self.means),
            "p50_milliseconds": self.p50,
            "load": self.load and self.load.as_json(),
            "report": self.page and str(self.page),
            "bytes": self.bytes,
        }


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are meant: "" and an empty mapping leave all.

    `since` and `until` are days or moments as ISO 8601 has them, in UTC, both included; `least` is
    the smallest mean by measure.
    """

    config: str = ""
    collection: str = ""
    since: str = ""
    until: str = ""
    least: Mapping[str, float] = field(default_factory=dict)

    def fits(self, row: RunRow) -> bool:
        """Say whether a run is meant."""
        return (
            self.config in ("", row.config)
            and self.collection in ("", row.collection)
            and row.created >= self.since
            and row.created[: len(self.until) or None] <= (self.until or row.created)
            and all(row.means.get(name, -inf) >= least for name, least in self.least.items())
        )


def list_runs(reports: Path, wanted: RunFilter | None = None) -> list[RunRow]:
    """Return the finished runs in `reports` that are wanted, the newest first.

    Runs that this version cannot read are left out. Raises AssayError, with the names there are,
    where a config or a collection is wanted that no run has.
    """
    found = [row for path in reports.glob(f"*/{MANIFEST}") if (row := read_run(path.parent))]
    if wanted is not None:
        for key in ("config", "collection"):
            there = sorted({getattr(row, key) for row in found})
            if (name := getattr(wanted, key)) and name not in there:
                listed = f"{', '.join(there) or 'none'}{suggest(name, there)}"
                raise AssayError(f"--{key} {name}: no run in {reports} has it; there are: {listed}")
        found = list(filter(wanted.fits, found))
    return sorted(found, key=lambda row: (row.created, row.id), reverse=True)


def read_run(folder: Path) -> RunRow | None:
    """Return the run in `folder`; None where this version cannot read it."""
    try:
        manifest = Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError):
        return None
    if manifest.format != FORMAT:
        return None
    try:
        means, p50, queries = _read_table(folder / PER_QUERY) or _score(folder)
    except AssayError:
        return None
    known = manifest.environment
    return RunRow(
        id=folder.name,
        folder=folder,
        config=manifest.name,
        collection=manifest.collection.name,
        created=manifest.created,
        queries=queries or manifest.collection.queries,
        sampled=manifest.sampled,
        degraded=bool(manifest.degraded),
        commit=known.get("repository") or known.get("git", {}).get("commit", ""),
        means=means,
        p50=p50,
        load=manifest.load,
        place=manifest.collection.place,
        page=folder / PAGE if (folder / PAGE).is_file() else None,
        bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
    )


def sort_by(rows: Sequence[RunRow], measure: str) -> list[RunRow]:
    """Return runs, the best in `measure` first; those without it come last."""
    sign = measures.find(measure).sign
    return sorted(
        rows, key=lambda row: (measure not in row.means, -sign * row.means.get(measure, 0.0))
    )


def _read_table(path: Path) -> Figures | None:
    """Return the means, the median of milliseconds and the number of queries of an exported table.

    Return None where there is none, or it cannot be read.
    """
    try:
        table = read_queries(path)
    except (OSError, ValueError):
        return None
    if not {"query_id", "milliseconds"} <= table.keys():
        return None
    figures = {name: [i for i in values if i is not None] for name, values in table.items()}
    means = {
        name: fmean(values)
        for name, values in figures.items()
        if name not in NO_MEASURES and values
    }
    timed = figures["milliseconds"]
    return means, median(timed) if timed else None, len(table["query_id"])


def _score(folder: Path) -> Figures:
    """Return the same of a run that nothing was exported of, such as one made to be compared."""
    run = load(folder)
    scores = measures.score(run.measures, run.joined, run.gold)
    means = {name: fmean(found.values()) for name, found in scores.items()}
    times = [sample.milliseconds["total"] for sample in run.latency]
    return means, median(times) if times else None, len(run.queries)
