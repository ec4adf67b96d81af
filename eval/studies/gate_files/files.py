"""Rankings and judgments in files, scored without a collection: each id is a document."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from assay.eval.collections.formats.reading import (
    BEIR_COLUMNS,
    read_beir_qrels,
    read_lines,
    read_trec_qrels,
)
from assay.eval.collections.formats.rows import describe_unknown, find_alike
from assay.eval.collections.problems import Problems
from assay.eval.report.formats import count
from assay.eval.runs.run_files import read_run_file
from assay.eval.runs.trec_runs import Ties
from assay.eval.scoring.calculation import Scores, compute_alone, score_places
from assay.eval.scoring.grid import Grid
from assay.eval.scoring.measures import find, find_deepest, score_columns
from assay.eval.scoring.standard import TrecMeasure
from assay.retrievers.base import AssayError, cut

Judgments = Mapping[str, dict[str, int]]  # grades by query and document
Rankings = Mapping[str, Sequence[str]]  # documents by query, best first
Missing = Literal["fail", "zero"]


def read_judgments(path: Path) -> Judgments:
    """Read judgments of documents: trec_eval's four columns, or BEIR's three with a header.

    Raises AssayError naming a line that is invalid or gives a document another grade.
    """
    problems = Problems(strict=True)
    _, first = next(read_lines(path, problems), (0, ""))
    if not first:
        raise AssayError(f"{path}: empty; judgments are lines of query, iteration, document, grade")
    is_beir = tuple(first.split("\t")) == BEIR_COLUMNS
    found: dict[str, dict[str, int]] = {}
    for row in (read_beir_qrels if is_beir else read_trec_qrels)(path, problems):
        query, document, grade = (row.values[key] for key in ("query_id", "target", "grade"))
        known = found.setdefault(query, {}).setdefault(document, grade)
        if known != grade:
            raise AssayError(
                f"{path}:{row.line}: {cut(document)} is judged twice for {cut(query)}, with the "
                f"grades {known} and {grade}"
            )
    return found


def read_rankings(path: Path, ties: Ties) -> tuple[Rankings, tuple[str, ...]]:
    """Return the rankings of one system, and notes on irregularities in the file.

    Raises AssayError if the file has several systems, or hits that are not ids.
    """
    file = read_run_file(path, ties)
    if len(file.systems) > 1:
        raise AssayError(f"{path}: has the systems {', '.join(file.systems)}; give one a file")
    (found,) = file.systems.values()
    for query, ranking in found.items():
        if odd := next((hit for hit in ranking if not isinstance(hit, str)), None):
            raise AssayError(
                f"{path}: {cut(query)}: {cut(repr(odd))} is no id of a document; only `assay "
                "import` judges spans and texts"
            )
    return {query: tuple(map(str, hits)) for query, hits in found.items()}, file.notes


def check_queries(
    path: Path, rankings: Rankings, judgments: Judgments, missing: Missing
) -> list[str]:
    """Return a line each on the queries without a ranking and those without a judgment.

    Raises AssayError if a judged query has no ranking and `missing` is "fail", if no judged query
    has a ranking, and if one is ranked under an id that differs by leading zeros or a `.0`.
    """
    without = [query for query in judgments if query not in rankings]
    lacking = dict.fromkeys(without)
    for query in rankings:
        if query not in judgments and find_alike(query, lacking):
            raise AssayError(f"{path}: {describe_unknown('judged query', query, lacking)}")
    if len(without) == len(judgments):
        first, judged = next(iter(rankings)), next(iter(judgments))
        raise AssayError(
            f"{path}: ranks no query that is judged: its first is {cut(first)}, the first judged "
            f"one {cut(judged)}"
        )
    if without and missing == "fail":
        raise AssayError(
            f"{path}: no ranking for {count(len(without), 'judged query', 'judged queries')} "
            f"(first: {cut(without[0])}); --missing zero scores them 0"
        )
    lines = []
    if without:
        lines.append(f"{path}: {count(len(without), 'query', 'queries')} without a ranking score 0")
    if unjudged := sum(query not in judgments for query in rankings):
        told = count(unjudged, "query", "queries")
        lines.append(f"{path}: {told} without a judgment left out")
    return lines


def check_documents(path: Path, rankings: Rankings, judgments: Judgments) -> None:
    """Raise AssayError if the ids of ranked documents do not match those of the judgments.

    That is so if no hit is judged, or if a judged document is ranked only under an id that differs
    by leading zeros or a `.0`: its score would always be 0.
    """
    judged = {id_: query for query, grades in judgments.items() for id_ in grades}
    ranked = {hit: query for query, hits in rankings.items() for hit in hits}
    unjudged = {hit: query for hit, query in ranked.items() if hit not in judged}
    for id_ in judged:
        if id_ not in ranked and (other := find_alike(id_, unjudged)):
            raise AssayError(f"{path}: {describe_unknown('judged document', other, judged)}")
    if len(unjudged) == len(ranked) > 0:
        raise AssayError(
            f"{path}: ranks no document that is judged: its first is {cut(next(iter(ranked)))}, "
            f"the first judged one {cut(next(iter(judged)))}"
        )


def score_rankings(
    rankings: Rankings, judgments: Judgments, names: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return the scores of each judged query by the measures `names`, as `assay import` does.

    Raises AssayError for a measure that needs the text of hits.
    """
    measures = [find(name) for name in names]
    ranked = {query: rankings.get(query, ()) for query in judgments}
    columnar = [item for item in measures if item.columnar and item.standard]
    scores: Scores = score_columns(columnar, _lay_out(ranked, judgments))
    run = {query: score_places(hits) for query, hits in ranked.items()}
    for item in measures:
        if item.name in scores:
            continue
        if isinstance(item, TrecMeasure):
            scores[item.name] = item.score_trec(judgments, run)
        elif item.standard:
            scores[item.name] = compute_alone(item.standard, judgments, run)
        else:
            raise AssayError(
                f"measures: {item.name}: needs the text of the hits; allowed: measures of TREC "
                "runs, or `assay import` onto a collection"
            )
    return {query: {name: scores[name][query] for name in names} for query in judgments}


def check_depth(path: Path, rankings: Rankings, documents: int, names: Sequence[str]) -> None:
    """Raise AssayError if rankings were cut above the rank that a measure looks at.

    They were cut if most are as long as the longest, and it has fewer hits than `documents`.
    """
    lengths = [len(hits) for hits in rankings.values()]
    longest, deepest = max(lengths), find_deepest(names)
    reach = find(deepest).cutoff or 0 if deepest else 0
    if longest < min(reach, documents) and 2 * lengths.count(longest) > len(lengths):
        raise AssayError(
            f"{path}: ranks {longest} hits of a query, and {deepest} looks at {reach:,}; allowed: "
            f"measures up to @{longest}"
        )


def _lay_out(ranked: Rankings, judgments: Judgments) -> Grid:
    """Return rankings as a grid with a row for each query; each document is its own gold item."""
    lengths = np.array([len(hits) for hits in ranked.values()], dtype=np.int64)
    judged = np.zeros((len(lengths), lengths.max(initial=0)), dtype=bool)
    found, gold = [], []
    for row, (query, hits) in enumerate(ranked.items()):
        grades = judgments[query]
        for column, hit in enumerate(hits):
            grade = grades.get(hit)
            if grade is not None:
                judged[row, column] = True
                if grade > 0:
                    found.append((row, column, grade))
        gold += [(row, grade) for grade in grades.values() if grade > 0]
    columns = np.array(found, dtype=np.int64).reshape(-1, 3).T
    relevant = np.array(gold, dtype=np.int64).reshape(-1, 2).T
    return Grid(tuple(ranked), {}, lengths, judged, columns, relevant)
