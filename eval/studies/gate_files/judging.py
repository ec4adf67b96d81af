"""The verdict on a file of rankings compared with another, by the same judgments."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.eval.collections.collection import GoldItem, Query
from assay.eval.collections.groups import find_groups, share_touched
from assay.eval.runs.json_form import by, in_json
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.trec_runs import Ties
from assay.eval.statistics.significance import TIE
from assay.eval.studies.gate.measure_verdicts import (
    MeasureVerdict,
    Verdict,
    find_unnoticed,
    judge_measures,
    name_measures,
)
from assay.eval.studies.gate.settings import GateSettings
from assay.eval.studies.gate_files.files import (
    Judgments,
    Missing,
    Rankings,
    check_depth,
    check_documents,
    check_queries,
    read_judgments,
    read_rankings,
    score_rankings,
)
from assay.retrievers.base import AssayError

DIGITS = 6  # of a score, as in the file of a baseline
MOST_LOSERS = 10
GRAVE: tuple[Verdict, ...] = ("regression", "warning", "cannot tell")


@dataclass(frozen=True, slots=True)
class Loser:
    """A query that lost by a measure, with both scores."""

    query: str
    measure: str
    base: float
    head: float


@in_json(..., "verdict", but=("claims",), claim="claims", ir_measures=by(name_measures, "measures"))
@dataclass(frozen=True)
class FilesVerdict:
    """The verdict on the rankings of `run` against those of `baseline`, by one set of judgments.

    Attributes:
        run: The file that is judged.
        baseline: The file it is compared with.
        qrels: The file of the judgments.
        queries: The number of judged queries.
        false_alarms: The level that a p-value must reach for a regression.
        measures: The verdict on each gated measure.
        losers: The queries that lost most by the first gated measure.
        claims: The claims that the queries can support.
        notes: Lines on irregularities in the files.

    """

    run: Path
    baseline: Path
    qrels: Path
    queries: int
    false_alarms: float
    measures: tuple[MeasureVerdict, ...]
    losers: tuple[Loser, ...]
    claims: Claims
    notes: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """The most serious verdict of all measures: regression, warning, cannot tell, pass."""
        found = {item.verdict for item in self.measures}
        return next((verdict for verdict in GRAVE if verdict in found), "pass")

    @property
    def unnoticed(self) -> float:
        """The largest share of a gated mean whose loss could go unnoticed; see `find_unnoticed`."""
        return find_unnoticed(self.measures)

    def fails(self, strict: bool) -> bool:
        """Return True if CI has to fail: on a regression; if `strict`, on all but a pass."""
        return self.verdict == "regression" or (strict and self.verdict != "pass")


def judge_files(
    run: Path,
    baseline: Path,
    qrels: Path,
    settings: GateSettings,
    *,
    missing: Missing = "fail",
    ties: Ties = "ranks",
    documents: int | None = None,
    foreseeing: bool = False,
) -> FilesVerdict:
    """Judge the rankings in a file against those in another.

    Args:
        run: A TREC run of one system, or JSON Lines of ids, packed or not.
        baseline: The rankings it is compared with, in either form.
        qrels: Judgments, in a format of `read_judgments`; the queries are those judged in it.
        settings: The gated measures, their minimum effects and the level of the test.
        missing: "fail" refuses a judged query without a ranking; "zero" gives it the score 0.
        ties: The rule that orders hits with equal scores in a TREC run.
        documents: The number of documents in the collection; by default of those the files name.
        foreseeing: If True, compute the smallest drops that would be found, which takes seconds.

    Returns:
        The verdict, equal to that of `assay gate` on the same rankings imported.

    Raises:
        AssayError: A file cannot be read, or a measure needs more than the files contain.

    """
    judgments = read_judgments(qrels)
    rankings: list[Rankings] = []
    notes: list[str] = []
    for path in (baseline, run):
        read, odd = read_rankings(path, ties)
        notes += [*odd, *check_queries(path, read, judgments, missing)]
        check_documents(path, read, judgments)
        rankings.append(read)
    names = list(settings.measures)
    named = {id_ for grades in judgments.values() for id_ in grades}.union(
        *(hits for ranked in rankings for hits in ranked.values())
    )
    if documents is not None and documents < len(named):
        raise AssayError(f"--documents: {documents:,}, but the files name {len(named):,}")
    for path, ranked in zip((baseline, run), rankings, strict=True):
        check_depth(path, ranked, len(named), names)
    before, after = (_round(score_rankings(ranked, judgments, names)) for ranked in rankings)
    claims = _find_claims(judgments, documents or len(named))
    clusters = claims.cluster(after)
    measures = judge_measures(before, after, settings, clusters, foreseeing=foreseeing)
    return FilesVerdict(
        run=run,
        baseline=baseline,
        qrels=qrels,
        queries=len(judgments),
        false_alarms=settings.false_alarms,
        measures=tuple(measures),
        losers=tuple(_list_losers(names[0], before, after)[:MOST_LOSERS]),
        claims=claims,
        notes=tuple(notes),
    )


def _round(scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    return {
        query: {name: round(value, DIGITS) for name, value in found.items()}
        for query, found in scores.items()
    }


def _find_claims(judgments: Judgments, documents: int) -> Claims:
    """Return the claims that the queries support; queries with the same main document are a group.

    The main document follows from grades and ids alone; in a collection, from lengths too.
    """
    gold = {
        query: [GoldItem(query, id_, id_, 0, 0, grade) for id_, grade in grades.items()]
        for query, grades in judgments.items()
    }
    groups = find_groups([Query(query, "") for query in judgments], gold)
    return Claims(groups, share_touched(groups.values(), documents))


def _list_losers(
    measure: str,
    before: Mapping[str, Mapping[str, float]],
    after: Mapping[str, Mapping[str, float]],
) -> list[Loser]:
    """Return the queries that score lower than before, largest loss first."""
    found = [
        Loser(query, measure, before[query][measure], now[measure])
        for query, now in after.items()
        if now[measure] < before[query][measure] - TIE
    ]
    return sorted(found, key=lambda item: (item.head - item.base, item.query))
