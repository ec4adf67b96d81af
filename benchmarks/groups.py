"""`python -m benchmarks.groups`: are verdicts true for other documents, and from how many on?

Questions that share documents are drawn as often as there are trials, from populations in which
nothing differs on average, and each sample is tested and estimated as `assay compare` does: by
question, and by group. Printed are the share of false findings at .05, and the share of 95 %
intervals that hold the true mean, for a number of groups.

- `made up`: differences with a correlation within documents that is planted, with 1 to 50 questions
  on a document; `skewed` ones have a long tail on one side, `rare` ones are small gains on most
  documents and large losses on a tenth of them.
- `real`: documents of collections at hand are drawn with replacement, with all differences in
  nDCG@10 of two pipelines on them, less their mean. What is not stored is run first, which takes as
  long as that; `--made-up` leaves these out.
- `limits`: the same of collections that the limits of `claims` were not read from, by a number of
  groups: false findings, those of them that are not called fragile, and gains found that are as
  large as the standard deviation of a document's mean.
- `share`: documents are drawn without replacement from a population of which they are that share,
  and the claim is on that population.

A last table has the gate's false alarms on what is made up.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay import run
from assay.eval import no_telemetry
from assay.eval.collections.groups import find_groups
from assay.eval.collections.loading import load
from assay.eval.statistics.groups import (
    Clusters,
    count_effective,
    estimate_grouped_difference,
    find_design_effect,
    number_groups,
)
from assay.eval.statistics.max_t import randomise_drops, randomise_family
from assay.eval.statistics.paired import estimate_difference
from assay.eval.statistics.significance import ALPHA, presumes_symmetry
from assay.eval.studies.gate.settings import GateSettings
from assay.retrievers.base import AssayError

no_telemetry.disable()
Floats = NDArray[np.float64]
Groups = list[Floats]  # the differences of each group
Draw = Callable[[int, int, np.random.Generator], list[Groups]]  # groups, samples

NUMBERS = (6, 10, 20, 50, 95)
ALARM_NUMBERS = (6, 20, 50)
CORRELATIONS = (0.0, 0.1, 0.3, 0.6)
LARGEST_GROUP = 50
SPREAD = 0.2  # of differences made up
SHARES = (0.05, 0.25, 0.5, 0.85)
POPULATION = 120  # documents, of which shares are drawn
SETS = (
    ("harbourline", "hybrid", "bm25"),
    ("tarnwick", "hybrid", "bm25"),
    ("tarnwick", "hybrid", "semantic"),
    ("anthropic_codebase", "hybrid", "bm25"),
    ("dccode_t42", "hybrid", "bm25"),
    ("legalbench_contractnli", "hybrid", "bm25"),
    ("legalbench_contractnli", "hybrid", "semantic"),
    ("scifact", "bm25", "bm25 without stems"),
)
# Those that 6 and 20 were not read from, and the numbers of documents drawn of each.
OTHER_SETS = (
    ("anthropic_codebase", "semantic", "bm25"),
    ("anthropic_codebase", "bm25", "bm25 without stems"),
    ("anthropic_docs", "semantic", "bm25"),
    ("anthropic_docs", "bm25", "bm25 without stems"),
    ("cranfield", "semantic", "bm25"),
    ("cranfield", "bm25", "bm25 without stems"),
    ("scifact", "bm25", "bm25 without stems"),
)
LIMIT_NUMBERS = (4, 5, 6, 8, 10, 14, 20, 30)
PIPELINES = {
    "bm25 without stems": ("bm25", "name=bm25-words", "retriever.legs.keyword.analyzer=words"),
}
BATCH = 100  # trials tested at once
WITHIN = (-1.0, 1.0)


@dataclass
class Rates:
    """Shares of trials: false findings by question, by group, by group without the warning that
    they are fragile; intervals that hold the mean by question and by group.
    `effective` is the mean effective number of groups.
    """

    effective: float
    by_query: float
    by_group: float
    unwarned: float
    holds_by_query: float
    holds_by_group: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=400, help="a row")
    parser.add_argument("--limits", action="store_true", help="the limits alone")
    parser.add_argument("--made-up", action="store_true", help="without the collections at hand")
    asked = parser.parse_args()
    if asked.limits:
        print_limits(asked.trials)
        return
    print_head("made up: shape, correlation", "groups")
    for shape in SHAPES:
        for correlation in CORRELATIONS:
            for number in NUMBERS:
                draw = make_up(shape, correlation)
                rates = measure(draw, number, asked.trials)
                print_row(f"{shape}, {correlation:g}", str(number), rates)
    print_head("share of the documents", "groups")
    for share in SHARES:
        number = max(6, round(share * POPULATION))
        for corrected in (0.0, number / POPULATION):
            draw = draw_from_finite()
            rates = measure(draw, number, asked.trials, corrected)
            name = f"{number / POPULATION:.2f}, {'corrected' if corrected else 'as if all else'}"
            print_row(name, str(number), rates)
    print("\n| shape, correlation .3 | groups | gate's false alarms: by question | by group |")
    print("| --- " * 4 + "|")
    for shape in SHAPES:
        for number in ALARM_NUMBERS:
            alarms = measure_alarms(make_up(shape, 0.3), number, asked.trials)
            print(f"| {shape} | {number} | {alarms[0]:.3f} | {alarms[1]:.3f} |", flush=True)
    if asked.made_up:
        return
    print_head("real: collection, pipelines", "groups")
    for name, other, base in SETS:
        try:
            groups = read_differences(name, other, base)
        except AssayError as error:
            print(f"{name}: {error}")
            continue
        numbers = [number for number in NUMBERS if number < len(groups)]
        label = describe(f"{name}, {other} − {base}", groups)
        for number in (*numbers, len(groups)):
            rates = measure(resample(groups), number, asked.trials)
            print_row(label, str(number), rates)


def print_limits(trials: int) -> None:
    """Print by number of documents the false findings by group, and how many gains are found."""
    print("| collection, pipelines | documents | effective | false | not fragile | gains found |")
    print("| --- " * 6 + "|")
    worst = dict.fromkeys(LIMIT_NUMBERS, 0.0)
    for name, other, base in OTHER_SETS:
        groups = read_differences(name, other, base)
        means = np.array([float(np.mean(group)) for group in groups])
        gain = float(np.std(means))
        for number in LIMIT_NUMBERS:
            rng = np.random.default_rng((number, trials))
            samples = resample(groups)(number, trials, rng)
            moved = [[group + gain for group in sample] for sample in samples]
            tested = [zip(*find_p_values(own, 0.0), strict=True) for own in (samples, moved)]
            errors, finds = ([max(p) <= ALPHA for p in own] for own in tested)
            fragile = [presumes_symmetry(flatten(sample)[0], 1.0) for sample in samples]
            false, found = float(np.mean(errors)), float(np.mean(finds))
            firm = float(np.mean(np.array(errors) & ~np.array(fragile)))
            effective = float(np.mean([count_effective(flatten(own)[1]) for own in samples]))
            worst[number] = max(worst[number], false)
            label = f"{name}, {other} − {base}"
            figures = f"{effective:.1f} | {false:.3f} | {firm:.3f} | {found:.3f}"
            print(f"| {label} | {number} | {figures} |", flush=True)
    print("\nLargest share of false findings, by documents:")
    print(", ".join(f"{number}: {share:.3f}" for number, share in worst.items()))


def print_head(*names: str) -> None:
    columns = (
        *names,
        "effective",
        "false: by question",
        "by group",
        "of these not fragile",
        "holds: by question",
        "by group",
    )
    print(f"\n| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|")


def print_row(name: str, number: str, rates: Rates) -> None:
    shares = (rates.by_query, rates.by_group, rates.unwarned)
    held = (rates.holds_by_query, rates.holds_by_group)
    figures = " | ".join(f"{share:.3f}" for share in (*shares, *held))
    print(f"| {name} | {number} | {rates.effective:.1f} | {figures} |", flush=True)


def measure(draw: Draw, number: int, trials: int, share: float = 0.0) -> Rates:
    """Return what is found in samples of `number` groups, of which the true mean is 0."""
    rng = np.random.default_rng((number, trials))
    rows = []
    for begin in range(0, trials, BATCH):
        samples = draw(number, min(BATCH, trials - begin), rng)
        p_query, p_group = find_p_values(samples, share)
        for sample, one, other in zip(samples, p_query, p_group, strict=True):
            values, groups = flatten(sample)
            plain = estimate_difference(values, 1.0, WITHIN)
            grouped = estimate_grouped_difference(values, groups, 1.0, WITHIN, share=share)
            rows.append(
                [
                    count_effective(groups),
                    one <= ALPHA,
                    found := max(one, other) <= ALPHA,
                    found and not presumes_symmetry(values, 1.0),
                    plain.low <= 0 <= plain.high,
                    grouped.low <= 0 <= grouped.high,
                ]
            )
    return Rates(*np.mean(np.array(rows, dtype=float), axis=0).tolist())


def measure_alarms(draw: Draw, number: int, trials: int) -> tuple[float, float]:
    """Return the share of samples that the gate calls a regression: by question, and by group."""
    rng = np.random.default_rng((number, trials))
    limits = GateSettings()
    effect = next(iter(limits.measures.values()))
    alarms = np.zeros(2)
    for sample in draw(number, trials, rng):
        values, groups = flatten(sample)
        if values.mean() > -effect:
            continue
        column = values[:, None]
        by_question, by_group = (
            randomise_drops(column, limits.false_alarms, clusters).p_values[0]
            for clusters in (None, Clusters(groups))
        )
        found = np.array([by_question, max(by_question, by_group)])
        alarms += found <= limits.false_alarms
    shares = alarms / trials
    return float(shares[0]), float(shares[1])


def find_p_values(samples: Sequence[Groups], share: float) -> tuple[list[float], list[float]]:
    """Return by sample the p-value by question, and that by group, of one test each."""
    flat = [flatten(sample) for sample in samples]
    longest = max(len(values) for values, _ in flat)
    table = np.zeros((longest, len(flat)))
    for column, (values, _) in enumerate(flat):
        table[: len(values), column] = values
    by_query = randomise_family(table).p_values
    if share:  # all have the same sizes of groups
        return list(by_query), list(
            randomise_family(table, groups=flat[0][1], share=share).p_values
        )
    sums = np.array([[float(np.sum(group)) for group in sample] for sample in samples]).T
    return list(by_query), list(randomise_family(sums).p_values)


def flatten(sample: Groups) -> tuple[Floats, NDArray[np.int64]]:
    """Return all differences, and the number of the group of each."""
    return np.concatenate(sample), np.repeat(np.arange(len(sample)), list(map(len, sample)))


def draw_sizes(number: int, rng: np.random.Generator) -> list[int]:
    """Return numbers of questions, from 1 to 50: most documents have few."""
    drawn = np.exp(rng.normal(1.5, 1.1, number))
    return [int(size) for size in np.clip(np.round(drawn), 1, LARGEST_GROUP)]


def _draw_normal(rng: np.random.Generator, size: int) -> Floats:
    return rng.normal(size=size)


def _draw_skewed(rng: np.random.Generator, size: int) -> Floats:
    return np.asarray(rng.exponential(size=size) - 1, dtype=float)


def _draw_rare(rng: np.random.Generator, size: int) -> Floats:
    return (np.where(rng.random(size) < 0.1, 0.0, 1.0) - 0.9) / 0.3


SHAPES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "even": _draw_normal,
    "skewed": _draw_skewed,
    "rare": _draw_rare,
}


def make_up(shape: str, correlation: float) -> Draw:
    """Return what draws groups whose differences correlate so within documents."""
    draw_values = SHAPES[shape]

    def draw_one(number: int, rng: np.random.Generator) -> Groups:
        common = draw_values(rng, number) * np.sqrt(correlation)
        return [
            SPREAD * (own + np.sqrt(1 - correlation) * draw_values(rng, size))
            for own, size in zip(common, draw_sizes(number, rng), strict=True)
        ]

    return _repeat(draw_one)


def _repeat(draw_one: Callable[[int, np.random.Generator], Groups]) -> Draw:
    return lambda number, samples, rng: [draw_one(number, rng) for _ in range(samples)]


def draw_from_finite(correlation: float = 0.3) -> Draw:
    """Return what draws documents of a population whose values are made anew for each sample.

    The mean of all questions that there could be is 0: the population's documents are less it, each
    counted by its questions. Samples that are drawn at once have the same documents.
    """

    def draw(number: int, samples: int, rng: np.random.Generator) -> list[Groups]:
        sizes = draw_sizes(POPULATION, rng)
        chosen = rng.choice(POPULATION, number, replace=False)
        found = []
        for _ in range(samples):
            common = rng.normal(size=POPULATION) * np.sqrt(correlation)
            common -= np.average(common, weights=sizes)
            own = np.sqrt(1 - correlation)
            found.append([SPREAD * (common[i] + own * rng.normal(size=sizes[i])) for i in chosen])
        return found

    return draw


def read_differences(name: str, other: str, base: str) -> Groups:
    """Return the differences in nDCG@10 of two pipelines on a collection, by group.

    Raises AssayError where its data is not here.
    """
    collection = load(name)
    asked = (f"dataset={name}", "latency.queries=0")
    systems = [PIPELINES.get(system, (system,)) for system in (other, base)]
    runs = [run(*system, *asked, track=False) for system in systems]
    scores = [found.found.scores["nDCG@10"] for found in runs]
    groups = find_groups(collection.queries, collection.gold, collection.card.known_copies)
    numbers = number_groups(list(groups.values()))
    values = np.array([scores[0][id_] - scores[1][id_] for id_ in groups])
    return [values[numbers == i] for i in range(int(numbers.max()) + 1)]


def describe(label: str, groups: Groups) -> str:
    """Return what a collection's questions are like, in a cell."""
    values, numbers = flatten(groups)
    effect = find_design_effect(values, numbers)
    largest = max(map(len, groups))
    return f"{label} (n {len(values)}, up to {largest} on one, design effect {effect:.1f})"


def resample(groups: Groups) -> Draw:
    """Return what draws groups with replacement, less the mean of all questions."""
    mean = float(np.mean(np.concatenate(groups)))

    def draw_one(number: int, rng: np.random.Generator) -> Groups:
        return [groups[i] - mean for i in rng.integers(len(groups), size=number)]

    return _repeat(draw_one)


if __name__ == "__main__":
    main()
