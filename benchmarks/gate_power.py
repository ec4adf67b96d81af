"""`python -m benchmarks.gate_power`: are the gate's verdicts what it states?

The scores are those of the committed baseline of `bm25` on the dev queries of `tarnwick`, of which
as many as a collection might have are drawn with replacement. A share of them moves either way, by
the scores of other queries. First printed are the verdicts on runs that did not change besides, and
on runs with a true drop as large as the margin. Then the smallest drops that the gate states to
find with power 0.8, without seeing any (the mean of some runs), and how many of such drops it finds
in other runs: of drops taken from all queries alike, and of those taken as everything from a few.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.eval import no_telemetry
from assay.eval.runs.summary.means import estimate_changes
from assay.eval.statistics.max_t import randomise_drops
from assay.eval.statistics.power import foresee_drops
from assay.eval.studies.gate.measure_verdicts import decide
from assay.eval.studies.gate.report import Verdict
from assay.eval.studies.gate.settings import GateSettings
from assay.eval.studies.gate.unchanged_runs import find_margins, resample

no_telemetry.disable()
ROOT = Path(__file__).parent.parent
RUN = "bm25"
PILOTS = 20
VERDICTS: tuple[Verdict, ...] = ("regression", "warning", "cannot tell", "pass")

Numbers = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, nargs="+", default=[60, 250])
    parser.add_argument("--moved", type=float, nargs="+", default=[0.0, 0.1, 0.3, 1.0])
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--assumed-moves", type=float, default=GateSettings().assumed_moves)
    asked = parser.parse_args()
    settings = GateSettings(assumed_moves=asked.assumed_moves)
    population = read_scores(tuple(settings.measures))
    verdicts = " | ".join(VERDICTS)
    print(f"| queries | moved | margin | {verdicts} | passes: lost in all | in a few |")
    print("| --- " * 9 + "|")
    for queries in asked.queries:
        for moved in asked.moved:
            row = describe_verdicts(population, queries, moved, asked.trials, settings)
            print(f"| {queries} | {moved:.0%} | {row} |", flush=True)
    print("\n| queries | moved | drop of all | found | drop of a few | found |")
    print("| --- " * 6 + "|")
    for queries in asked.queries:
        for moved in asked.moved:
            row = describe_power(population, queries, moved, asked.trials, settings)
            print(f"| {queries} | {moved:.0%} | {row} |", flush=True)


def read_scores(measures: tuple[str, ...]) -> Numbers:
    """Return the scores of the baseline's dev queries, of shape (queries, measures)."""
    lines = (ROOT / "datasets/tarnwick/queries.jsonl").read_text("utf-8").splitlines()
    dev = {query["_id"] for query in map(json.loads, lines) if query["metadata"]["split"] == "dev"}
    baseline = json.loads((ROOT / f"reports/baselines/{RUN}@tarnwick.json").read_text("utf-8"))
    rows = [scores for query, scores in baseline["scores"].items() if query in dev]
    return np.array([[scores[name] for name in measures] for scores in rows])


def describe_verdicts(
    population: Numbers, queries: int, moved: float, trials: int, settings: GateSettings
) -> str:
    """Return the margin, the verdicts on unchanged runs, and the passes of a true drop as large.

    The margins are the means of those of some baselines. The drop is that of the first measure.
    """
    found: Counter[Verdict] = Counter()
    passes = np.zeros(2)
    pilots = [find_margins(draw(population, queries, i), settings) for i in range(PILOTS)]
    margins = np.mean(pilots, axis=0).tolist()
    drop = margins[0]
    for seed in range(trials):
        sample = draw(population, queries, seed)
        base, head = resample(sample, moved, seed)
        verdicts = judge(head - base, margins, settings)
        found[next(verdict for verdict in VERDICTS if verdict in verdicts)] += 1
        lost = lose(head, drop / sample[:, 0].mean(), seed)
        for i, differences in enumerate((head - drop - base, lost - base)):
            passes[i] += judge(differences, margins, settings)[0] == "pass"
    cells = [f"{drop:.3f}"]
    cells += [f"{found[verdict] / trials:.1%}" for verdict in VERDICTS]
    cells += [f"{share:.1%}" for share in passes / trials]
    return " | ".join(cells)


def judge(differences: Numbers, margins: list[float], settings: GateSettings) -> list[Verdict]:
    """Return the verdict on each measure."""
    level = settings.false_alarms
    p_values = randomise_drops(differences, level).p_values
    return [
        decide(estimate_changes(name, differences[:, i]), p_values[i], effect, margins[i], level)
        for i, (name, effect) in enumerate(settings.measures.items())
    ]


def describe_power(
    population: Numbers, queries: int, moved: float, trials: int, settings: GateSettings
) -> str:
    """Return the drops of the first measure stated to be found, and the share found of each."""
    level, effects = settings.false_alarms, list(settings.measures.values())
    stated = []
    for seed in range(PILOTS):
        base, head = resample(draw(population, queries, seed), moved, seed)
        power = foresee_drops(base, head - base, level, effects)[0]
        drops = power.spread.find(), power.sparse.find()
        stated.append([np.nan if drop is None else drop for drop in drops])
    spread, sparse = np.nanmean(stated, axis=0)
    hits = np.zeros(2)
    for seed in range(PILOTS, PILOTS + trials):
        sample = draw(population, queries, seed)
        base, head = resample(sample, moved, seed)
        lost = lose(head, sparse / population[:, 0].mean(), seed)
        for i, differences in enumerate((head - spread - base, lost - base)):
            p = randomise_drops(differences, level).p_values[0]
            hits[i] += p <= level and differences[:, 0].mean() <= 1e-9 - effects[0]
    found = hits / trials
    return f"{spread:.3f} | {found[0]:.2f} | {sparse:.3f} | {found[1]:.2f}"


def draw(population: Numbers, queries: int, seed: int) -> Numbers:
    """Return the scores of as many queries of a collection."""
    rng = np.random.default_rng((queries, seed))
    return population[rng.integers(len(population), size=queries)]


def lose(head: Numbers, share: float, seed: int) -> Numbers:
    """Return the scores of the head where a share of the queries, drawn at random, has lost all."""
    rng = np.random.default_rng((len(head), seed, 1))
    return np.where(rng.random((len(head), 1)) < share, 0.0, head)


if __name__ == "__main__":
    main()
