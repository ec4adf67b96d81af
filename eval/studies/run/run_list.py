"""The list of the stored runs of a folder, with the facts and the means of each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from pathlib import Path
from statistics import fmean, median
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError, field_validator

from assay.eval.running.study import Option, StudyOptions
from assay.eval.runs.files import PAGE
from assay.eval.runs.json_form import in_json, shape
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
    """The means of a run, their 95 % intervals if known, its median in ms, and its queries."""

    means: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, Ends] = field(default_factory=dict)
    p50: float | None = None
    queries: int = 0


@in_json(
    ...,
    "bytes",
    but=("id", "p50", "page", "intervals", "facts", "load"),
    run="id",
    p50_milliseconds="p50",
    load=shape("load", ..., disturbed="is_busy"),
    report="page",
)
@dataclass(frozen=True, slots=True)
class RunRow:
    """A stored run in the list of runs.

    Attributes:
        id: The id of the run.
        folder: The folder of the run.
        config: The name of the config.
        collection: The name of the collection.
        created: The time of the run.
        queries: The number of queries.
        sampled: True if the run used a sample of the queries.
        degraded: True if a part of the pipeline could not do its work.
        commit: The commit of the working repository, else of Assay; "" if neither is known.
        means: The means by measure.
        p50: The median latency in ms; None if the run was not timed.
        page: The path of its page; None if there is none.
        load: The load of the machine while the run was timed; None if it was not observed.
        place: The place of the collection, which distinguishes collections of one name: see
            `CollectionFacts`.
        intervals: The 95 % intervals by measure, if known.
        facts: The facts about the collection.
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
        """The size of the folder in bytes."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    @property
    def busy(self) -> bool:
        """True if other processes kept the machine busy while the run was timed."""
        return self.load is not None and self.load.is_busy()


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
    """Conditions on runs: one that is not given leaves all."""

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
        """Return True if the run passes the filter."""
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
    """Return the finished runs in `reports` that pass the filter `wanted`, the newest first.

    Runs that this version cannot read are left out. Unless `scored`, runs without exported figures
    have no means. Raises AssayError, listing the existing names, if no run has the config or the
    collection of the filter.
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
    """Return the run in `folder`, see `list_runs`; None if this version cannot read it."""
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
    """Return the runs, the best in `measure` first, and those without it last."""
    sign = measures.find(measure).sign
    return sorted(
        rows, key=lambda row: (measure not in row.means, -sign * row.means.get(measure, 0.0))
    )


def _read_means(path: Path) -> Figures | None:
    """Return the exported figures; None if there are none or they are damaged."""
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
    """Compute the figures of a run without exports, for example one made for a comparison."""
    run = load(folder)
    scores = measures.score(run.measures, run.joined, run.gold)
    means = {name: fmean(found.values()) for name, found in scores.items()}
    times = [sample.milliseconds["total"] for sample in run.latency]
    return Figures(means, {}, median(times) if times else None, len(run.queries))
