"""The stored runs of a folder at a glance: what each was, and its means."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError, field_validator

from assay.eval.report.run_page.page import PAGE
from assay.eval.running.study import Option, StudyOptions
from assay.eval.runs.machine_load import MachineLoad
from assay.eval.runs.manifest import FORMAT, MANIFEST, CollectionFacts, Manifest
from assay.eval.runs.stored import load
from assay.eval.runs.summary.exports import MEANS
from assay.eval.scoring import measures
from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Figures:
    """The means of a run, their 95 % intervals where known, its median of ms and its queries."""

    means: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, Ends] = field(default_factory=dict)
    p50: float | None = None
    queries: int = 0


@dataclass(frozen=True, slots=True)
class RunRow:
    """A stored run: `means` by measure with `intervals`, `p50` in ms, None where it was not timed.

    `load` is who worked on the machine while it was timed, None where that was not observed.
    `commit` is that of the repository that was worked in, else of Assay; "" where neither is known.
    `place` tells collections of one name apart: see `CollectionFacts`.
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
    load: MachineLoad | None = None
    place: str = ""
    intervals: Mapping[str, Ends] = field(default_factory=dict)
    facts: CollectionFacts | None = None

    @property
    def bytes(self) -> int:
        """What its folder takes."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

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


def _split_least(text: str) -> tuple[str, float]:
    """Return the measure and the value of MEASURE=VALUE. Raises ValueError and AssayError."""
    name, _, value = text.partition("=")
    return measures.find(name).name, float(value)


def _read_least(texts: tuple[str, ...]) -> tuple[str, ...]:
    for text in texts:
        try:
            _split_least(text)
        except (ValueError, AssayError):
            raise ValueError(f"{text}: must be MEASURE=VALUE, as in nDCG@10=0.4") from None
    return texts


class RunFilter(StudyOptions):
    """Which runs are meant: what is not given leaves all."""

    config: str = Field("", description="Runs of this config, by its name.")
    collection: Annotated[str, Option(("--dataset", "--collection"))] = Field(
        "", description="Runs on this collection."
    )
    since: Annotated[str, Option(metavar="DATE")] = Field(
        "", description="Made on this day (UTC) or later."
    )
    until: Annotated[str, Option(metavar="DATE")] = Field(
        "", description="Made on this day (UTC) or earlier."
    )
    least: Annotated[
        tuple[str, ...], Option(("--min",), "MEASURE=VALUE"), AfterValidator(_read_least)
    ] = Field((), description="Repeatable.")

    @field_validator("since", "until")
    @classmethod
    def _is_date(cls, day: str) -> str:
        try:
            if day and not datetime.fromisoformat(day).isoformat().startswith(day):
                raise ValueError(day)
        except ValueError:
            raise ValueError("must be a date, as in 2026-01-31, or 2026-01-31T12:00") from None
        return day

    def fits(self, row: RunRow) -> bool:
        """Say whether a run is meant."""
        least = dict(map(_split_least, self.least))
        return (
            self.config in ("", row.config)
            and self.collection in ("", row.collection)
            and row.created >= self.since
            and row.created[: len(self.until) or None] <= (self.until or row.created)
            and all(row.means.get(name, -inf) >= value for name, value in least.items())
        )


def list_runs(
    reports: Path, wanted: RunFilter | None = None, *, scored: bool = True
) -> list[RunRow]:
    """Return the finished runs in `reports` that are wanted, the newest first.

    Runs that this version cannot read are left out; unless `scored`, those of which nothing was
    exported have no means. Raises AssayError, with the names there are,
    where a config or a collection is wanted that no run has.
    """
    paths = reports.glob(f"*/{MANIFEST}")
    found = [row for path in paths if (row := read_run(path.parent, scored=scored))]
    if wanted is not None:
        for key in ("config", "collection"):
            there = sorted({getattr(row, key) for row in found})
            if (name := getattr(wanted, key)) and name not in there:
                listed = f"{', '.join(there) or 'none'}{suggest(name, there)}"
                raise AssayError(f"--{key} {name}: no run in {reports} has it; there are: {listed}")
        found = list(filter(wanted.fits, found))
    return sorted(found, key=lambda row: (row.created, row.id), reverse=True)


def read_run(folder: Path, *, scored: bool = True) -> RunRow | None:
    """Return the run in `folder`, see `list_runs`; None where this version cannot read it."""
    try:
        manifest = Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError):
        return None
    if manifest.format != FORMAT:
        return None
    try:
        figures = _read_means(folder / MEANS) or (_score(folder) if scored else Figures())
    except AssayError:
        return None
    known = manifest.environment
    return RunRow(
        id=folder.name,
        folder=folder,
        config=manifest.name,
        collection=manifest.collection.name,
        created=manifest.created,
        queries=figures.queries or manifest.collection.queries,
        sampled=manifest.sampled,
        degraded=bool(manifest.degraded),
        commit=known.get("repository") or known.get("git", {}).get("commit", ""),
        means=figures.means,
        intervals=figures.intervals,
        p50=figures.p50,
        load=manifest.load,
        place=manifest.collection.place,
        page=folder / PAGE if (folder / PAGE).is_file() else None,
        facts=manifest.collection,
    )


def sort_by(rows: Sequence[RunRow], measure: str) -> list[RunRow]:
    """Return runs, the best in `measure` first; those without it come last."""
    sign = measures.find(measure).sign
    return sorted(
        rows, key=lambda row: (measure not in row.means, -sign * row.means.get(measure, 0.0))
    )


def _read_means(path: Path) -> Figures | None:
    """Return the figures that were exported; None where there are none, or they are damaged."""
    try:
        found = json.loads(path.read_bytes())
        measured = {str(name): item for name, item in found["measures"].items()}
        p50 = found["p50_milliseconds"]
        return Figures(
            means={name: float(item["mean"]) for name, item in measured.items()},
            intervals={
                name: (float(item["low"]), float(item["high"])) for name, item in measured.items()
            },
            p50=None if p50 is None else float(p50),
            queries=int(found["queries"]),
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _score(folder: Path) -> Figures:
    """Return the figures of a run that nothing was exported of, such as one made to be compared."""
    run = load(folder)
    scores = measures.score(run.measures, run.joined, run.gold)
    means = {name: fmean(found.values()) for name, found in scores.items()}
    times = [sample.milliseconds["total"] for sample in run.latency]
    return Figures(means, {}, median(times) if times else None, len(run.queries))
