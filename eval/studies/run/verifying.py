"""A study that recomputes the measures of a run from its exported files, without the run itself.

Measures with a TREC equivalent are recomputed by ir-measures from run.trec and qrels.trec, recall
from the lines down to the cutoff in hits. Measures that count hits or tokens are recomputed from
items.csv. See docs/measures.md.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from math import isclose
from pathlib import Path
from statistics import fmean

from assay.eval.collections.formats.cells import arm
from assay.eval.configs.named_configs import is_config
from assay.eval.report.blocks import Column, Report, Table
from assay.eval.running.run import export_summary
from assay.eval.running.run_references import resolve
from assay.eval.running.study import Lab, Study, Written
from assay.eval.running.study_options import RunOptions
from assay.eval.runs import stored
from assay.eval.runs.json_form import by, in_json, keyed
from assay.eval.runs.summary.exports import (
    ITEMS,
    NO_MEASURES,
    PER_QUERY,
    QRELS,
    RUN,
    as_word,
    read_queries,
)
from assay.eval.scoring import calculation, measures
from assay.eval.scoring.calculation import ByQuery, Qrels, Run
from assay.eval.scoring.kinds import Empty, Recall, Tokens
from assay.eval.scoring.measure import Measure
from assay.eval.scoring.measures import list_standard
from assay.eval.scoring.standard import TrecMeasure
from assay.retrievers.base import AssayError

SAME = 1e-12  # scores closer than this are the same: sums may be taken in another order


@in_json(..., "verdict")
@dataclass(frozen=True, slots=True)
class Check:
    """The check of one measure.

    Attributes:
        measure: The name of the measure.
        told: The mean reported.
        recomputed: The recomputed mean; None for a measure of a package, which sees more of a
            ranking than the files hold.
        source: The files that it was recomputed from.
        differing: The queries whose scores differ.
    """

    measure: str
    told: float
    recomputed: float | None
    source: str
    differing: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """The verdict in words: identical, or the number of queries that differ."""
        if self.recomputed is None:
            return "not recomputed: a measure of a package"
        return f"differs on {len(self.differing)} queries" if self.differing else "identical"


@dataclass(frozen=True, slots=True)
class _Hit:
    """A hit in items.csv, with the items that it counts for, best grade first."""

    chunk: str
    tokens: int
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Exports:
    """The exported files of a run, by query; `ranks` are the ranks of the hits, by id."""

    run: Run
    ranks: Mapping[str, Mapping[str, int]]
    qrels: Qrels
    hits: Mapping[str, Sequence[_Hit]]


def verify(folder: Path) -> list[Check]:
    """Return a check of every measure in the per-query table of the run in `folder`.

    Raises AssayError if a file is missing or is not as `export` writes it.
    """
    try:
        told = _read_scores(folder / PER_QUERY)
        exports = _read(folder, tuple(next(iter(told.values()), {})))
    except FileNotFoundError as error:
        raise AssayError(f"{error.filename}: missing; `assay report {folder}` writes it") from None
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise AssayError(f"{folder}: its exports cannot be read: {error}") from None
    return [_check(name, scores, exports) for name, scores in told.items()]


def _check(name: str, told: ByQuery, exports: _Exports) -> Check:
    source, recomputed = _recompute(measures.find(name), exports)
    if recomputed is None:
        return Check(name, fmean(told.values()), None, source, ())
    differing = [
        query for query in told if not isclose(told[query], recomputed[query], abs_tol=SAME)
    ]
    mean = fmean(recomputed.values())
    return Check(name, fmean(told.values()), mean, source, tuple(differing))


def _recompute(measure: Measure, exports: _Exports) -> tuple[str, ByQuery | None]:
    """Return the files that a measure is computed from, and its scores."""
    run, qrels, hits = exports.run, exports.qrels, exports.hits
    match measure:
        case Empty():
            return ITEMS, {query: float(not found) for query, found in hits.items()}
        case Tokens():
            return ITEMS, {
                query: float(sum(hit.tokens for hit in found[: measure.cutoff]))
                for query, found in hits.items()
            }
        case Recall(budget=int(budget)):
            fitting = {query: _list_items(found, budget) for query, found in hits.items()}
            return f"{ITEMS}, {QRELS}", calculation.count_found("R", qrels, fitting)
        case Recall(cutoff=int(cutoff)):
            above = {
                query: {id_: score for id_, score in scores.items() if rank[id_] <= cutoff}
                for query, scores in run.items()
                for rank in [exports.ranks[query]]
            }
            stem, _, _ = measure.standard.rpartition("@")
            return f"{RUN}, {QRELS}", calculation.count_found(stem, qrels, above)
        case TrecMeasure(of_hits=True):
            counted = {
                query: calculation.score_places((*hit.items, hit.chunk)[0] for hit in found)
                for query, found in hits.items()
            }
            return f"{ITEMS}, {QRELS}", measure.score_trec(qrels, counted)
        case TrecMeasure():
            return f"{RUN}, {QRELS}", measure.score_trec(qrels, run)
    return "", None


def _list_items(hits: Sequence[_Hit], budget: int) -> dict[str, float]:
    """Return the items that the first hits, as many as fit into `budget` tokens, count for."""
    totals = accumulate(hit.tokens for hit in hits)
    within = [hit for hit, total in zip(hits, totals, strict=True) if total <= budget]
    return {item: 1.0 for hit in within for item in hit.items}


def _read_scores(path: Path) -> dict[str, ByQuery]:
    """Return {measure: {query id: score}} from the per-query table."""
    columns = read_queries(path)
    queries = [as_word(query) for query in columns["query_id"]]
    return {
        name: dict(zip(queries, scores, strict=True))
        for name, scores in columns.items()
        if name not in NO_MEASURES
    }


def _read(folder: Path, queries: Sequence[str]) -> _Exports:
    run: dict[str, dict[str, float]] = {}
    ranks: dict[str, dict[str, int]] = {}
    for query, _, id_, rank, score, _ in _read_columns(folder / RUN):
        run.setdefault(query, {})[id_] = float(score)
        ranks.setdefault(query, {})[id_] = int(rank)
    qrels: dict[str, dict[str, int]] = {query: {} for query in queries}
    for query, _, id_, grade in _read_columns(folder / QRELS):
        qrels[query][id_] = int(grade)
    with (folder / ITEMS).open(encoding="utf-8", newline="") as file:
        names, *lines = csv.reader(file)
    rows = [dict(zip(names, map(arm, cells), strict=True)) for cells in lines]
    hits: dict[str, list[_Hit]] = {query: [] for query in queries}
    for (query, _), same in groupby(rows, key=lambda row: (row["query"], row["rank"])):
        hit, *more = same
        items = tuple(row["item"] for row in (hit, *more) if row["item"])
        hits[query].append(_Hit(hit["chunk"], int(hit["tokens"]), items))
    return _Exports(run, ranks, qrels, hits)


def _read_columns(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text(encoding="utf-8").split("\n") if line]


@in_json("run", measures=keyed("checks", "measure"), ir_measures=by(list_standard, "measures"))
@dataclass(frozen=True)
class Verification:
    """The id of a run, and the check of each of its measures."""

    run: str
    checks: tuple[Check, ...]

    @property
    def differing(self) -> int:
        """The number of measures that differ from the files."""
        return sum(bool(check.differing) for check in self.checks)

    @property
    def measures(self) -> list[str]:
        """The names of the measures."""
        return [check.measure for check in self.checks]


def find(asked: RunOptions, lab: Lab) -> Verification:
    """Recompute every measure of a run, query by query, from its exported files.

    RUN is a config (run where no equal run is stored; overrides change it), the id of a run, the
    beginning of one, or its folder. ir_measures recomputes what TREC files can hold from run.trec
    and qrels.trec; the others come from items.csv. Ends with 1 unless all are those of
    per_query.csv.
    """
    if asked.changes or is_config(asked.run):
        made = resolve(asked.run, asked.changes, lab.progress)
        folder = export_summary(made, rerun=True).run.folder
    else:
        folder = stored.find(lab.reports, asked.run)
    return Verification(folder.name, tuple(verify(folder)))


def report(found: Verification) -> Report:
    """Return the report of the verification, with a row per measure."""
    wrong = f"{found.differing} of {len(found.checks)} measures differ from the files"
    columns = [
        Column("measure", "Measure"),
        Column("told", "Reported", "precise"),
        Column("recomputed", "Recomputed", "precise"),
        Column("source", "From"),
        Column("verdict", "Verdict", tone=lambda check: "worse" if check.differing else ""),
    ]
    return Report(
        id="",
        kind="verification",
        title=found.run,
        verdict=[wrong if found.differing else "no measure differs from the files"],
        blocks=[Table("measures", "Measures", columns, found.checks)],
    )


STUDY = Study(
    "verify",
    RunOptions,
    find,
    report,
    write=lambda *_: Written({}),
    places=(),
    status=lambda found: 1 if found.differing else 0,
)
