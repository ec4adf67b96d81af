"""`python -m benchmarks.judging_order RUN RUN…`: judgments needed to decide between two runs.

The runs are stored ones of a collection whose judgments are complete, which stand in for a judge.
Of each two of them, and of queries drawn by chance, nothing is known at first. The pairs in the
first ten hits of either are judged by depth, all of a rank before any of the next, and in the order
of `assay pool --decide`, some at a time, until the foretold verdict has a share of at least .95
(`foretold`) or the bounds make the sign of the difference certain (`certain sign`). Right is a
verdict, by the randomisation test at .05 on nDCG@10, that is the one with all of these pairs
judged; of `certain sign`, the sign alone counts. `to match` is the judgments as a share of those by
which depth pooling is right as often, on a straight line between depths. Each passage counts by
itself, with the best grade of what it covers.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.eval import no_telemetry
from assay.eval.configs.locations import reports_folder
from assay.eval.runs.stored import StoredRun, find, load
from assay.eval.runs.summary.comparability import check_comparable
from assay.eval.scoring.join import RetrievedChunk, covers
from assay.eval.statistics.estimates import SEED
from assay.eval.statistics.significance import ALPHA, TIE, randomise
from assay.eval.studies.judging.minimal_test_collections import (
    CONFIDENCE,
    OPEN,
    Ints,
    RunPair,
    bound,
    foretell,
    most_likely,
    order,
    score,
)
from assay.retrievers.base import AssayError

no_telemetry.disable()
DEPTH = 10
DEPTHS = range(1, DEPTH + 1)
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)  # of the pool, judged in the order
STEP = 0.025  # of the pool, judged before looking again

# By query, the rank in the base and in the other (0 for none), and the grade, of each pair.
Case = list[list[tuple[int, int, int]]]


@dataclass(frozen=True)
class Outcome:
    """What one way of judging came to: how many judgments, and whether its verdict is right."""

    judged: int
    right: bool


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", help="stored runs, two or more, of one collection")
    parser.add_argument("--queries", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--trials", type=int, default=5, help="draws of queries for each two runs")
    asked = parser.parse_args(arguments)
    try:
        runs = [load(find(reports_folder(), name)) for name in asked.runs]
        for run in runs[1:]:
            check_comparable(runs[0], run)
    except AssayError as error:
        parser.error(str(error))
    if len(runs) < 2:
        parser.error("two runs are needed")
    print(f"{runs[0].manifest.collection.name}: {', '.join(run.manifest.name for run in runs)}")
    cases = [make_case(base, other) for base, other in combinations(runs, 2)]
    for count in asked.queries:
        print(f"\n{count} queries, {len(cases)} pairs of runs, {asked.trials} draws each")
        print(f"{'judged by':<28}{'judgments':>10}{'of the pool':>12}{'right':>8}{'to match':>10}")
        for row in tabulate(cases, count, asked.trials):
            print(row, flush=True)


def make_case(base: StoredRun, other: StoredRun) -> Case:
    """Return the pairs of two runs, by query, with their grades."""
    case = []
    for query in base.queries:
        ranks: dict[tuple[str, int, int], list[int]] = {}
        grades: dict[tuple[str, int, int], int] = {}
        for side, run in enumerate((base, other)):
            for rank, hit in enumerate(run.rankings[query].hits[:DEPTH], start=1):
                place = (hit.chunk.doc_id, hit.chunk.start, hit.chunk.end)
                ranks.setdefault(place, [0, 0])[side] = rank
                seen = RetrievedChunk(hit.chunk, hit.chunk.id in run.prescribed)
                covered = [item.grade for item in base.gold[query] if covers(seen, item)]
                grades[place] = max([0, *covered])
        case.append([(first, second, grades[i]) for i, (first, second) in ranks.items()])
    return case


def tabulate(cases: Sequence[Case], count: int, trials: int) -> Iterator[str]:
    """Yield a row for each way of judging: the mean of judgments, and how often it was right."""
    rng = np.random.default_rng(SEED)
    found: dict[str, list[tuple[int, int, bool]]] = {}
    for case in cases:
        for _ in range(trials):
            chosen = rng.choice(len(case), size=min(count, len(case)), replace=False)
            run_pair, truth, first = make_contest([case[i] for i in chosen])
            for name, outcome in judge_all(run_pair, truth, first):
                row = (outcome.judged, len(truth), outcome.right)
                found.setdefault(name, []).append(row)
    means = {name: np.mean(np.array(rows, dtype=float), axis=0) for name, rows in found.items()}
    depths = [means[f"depth {depth}"] for depth in DEPTHS]
    for name, (judged, pool, is_right) in means.items():
        # The judgments by which depth pooling is right as often; a straight line between depths.
        correct = np.maximum.accumulate([row[2] for row in depths])
        i = int(np.searchsorted(correct, is_right - TIE))
        match = depths[i][0]
        if i and correct[i] > is_right + TIE:
            share = (is_right - correct[i - 1]) / (correct[i] - correct[i - 1])
            match = depths[i - 1][0] + share * (match - depths[i - 1][0])
        beside = "" if name.startswith("depth") else f"{judged / match:>10.2f}"
        yield f"{name:<28}{judged:>10.0f}{judged / pool:>12.0%}{is_right:>8.1%}{beside}"


def make_contest(queries: Case) -> tuple[RunPair, Ints, Ints]:
    """Return a pair of runs, nothing known of it, the grades of its pairs, and the better ranks."""
    rows = [(i, *pair) for i, pairs in enumerate(queries) for pair in pairs]
    query, base, other, truth = np.array(rows, dtype=np.int64).T
    weight = discount(other) - discount(base)
    best = np.where(base == 0, other, np.where(other == 0, base, np.minimum(base, other)))
    levels = np.arange(1, max(1, int(truth.max())) + 1)
    relevant = np.zeros((len(levels), len(queries)), dtype=np.int64)
    run_pair = RunPair(DEPTH, query, weight, best, np.zeros(len(queries)), relevant, levels)
    return run_pair, truth, best


def discount(rank: Ints) -> np.ndarray:
    return np.where(rank > 0, 1 / np.log2(1 + np.maximum(rank, 1)), 0.0)


def judge_all(run_pair: RunPair, truth: Ints, best: Ints) -> Iterator[tuple[str, Outcome]]:
    """Yield what each way of judging comes to."""
    differences = score(run_pair, truth)
    right = decide(differences)
    for depth in DEPTHS:
        grades = np.where(best <= depth, truth, OPEN)
        found = decide(score(run_pair, grades))
        yield f"depth {depth}", Outcome(int(np.sum(best <= depth)), found == right)
    grades = np.full(len(truth), OPEN)
    batch = max(1, round(STEP * len(truth)))
    shares, waiting = list(SHARES), {"foretold", "certain sign"}
    while waiting:
        following = order(run_pair, grades)
        done = len(grades) - len(following)
        verdict, chance = most_likely(foretell(run_pair, grades))
        if shares and done >= shares[0] * len(grades):
            yield f"order, first {shares[0]:.0%}", Outcome(done, verdict == right)
            shares.pop(0)
        if "foretold" in waiting and (chance >= CONFIDENCE or not len(following)):
            waiting.remove("foretold")
            yield "foretold", Outcome(done, verdict == right)
        low, high = bound(run_pair, grades)
        if "certain sign" in waiting and (low * high > 0 or not len(following)):
            waiting.remove("certain sign")
            is_right = low * differences.mean() > 0 or not len(following)
            yield "certain sign", Outcome(done, is_right)
        grades[following[:batch]] = truth[following[:batch]]


def decide(differences: np.ndarray) -> str:
    """Return the verdict on differences by query."""
    if randomise(differences.tolist()) > ALPHA:
        return "no difference shown"
    return "better" if differences.mean() > 0 else "worse"


if __name__ == "__main__":
    main()
