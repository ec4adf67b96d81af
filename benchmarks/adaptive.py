"""`python -m benchmarks.adaptive`: does somebody who looks 200 times at the same questions err?

An agent climbs: each of its 200 proposals changes the best so far on the development questions, and
asks the held-out questions whether that is better than the incumbent. In half of the climbs nothing
differs on average; in the others one proposal, at a place drawn at random, gains .03, and so do
those that build on it. Printed are by method the shares of climbs with a false *better*, and of
those in which the gain was found, beside what a single look at it finds.

Differences are those of real pipelines from BM25 in nDCG@10, less their mean, in mixtures; the
documents are drawn with replacement for each climb, once for the development questions and once for
the held-out ones. Runs that are not stored are made first.

- `naive`: each look by itself at p .05; `by figures` climbs on the held-out means themselves.
- `Bonferroni`: .05 / 200 a look.
- `Assay`: `assay.eval.statistics.looks`; `moving` takes what was called better as the incumbent.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import run
from assay.eval import no_telemetry
from assay.eval.collections.groups import find_groups
from assay.eval.collections.loading import load
from assay.eval.statistics.groups import number_groups
from assay.eval.statistics.looks import LOOKS, find_least, is_better
from assay.eval.statistics.significance import ALPHA
from assay.retrievers.base import AssayError

no_telemetry.disable()
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

COLLECTIONS = ("tarnwick", "harbourline", "cranfield")
INCUMBENT = ("bm25",)
KEYWORD = "retriever.legs.keyword"
PIPELINES = (
    ("semantic",),
    ("hybrid",),
    ("bm25", "name=bm25-words", f"{KEYWORD}.analyzer=words"),
    ("bm25", "name=bm25-flat", f"{KEYWORD}.k1=0.4", f"{KEYWORD}.b=0.1"),
    ("bm25", "name=bm25-long", f"{KEYWORD}.b=1.0"),
    ("bm25", "name=bm25-steep", f"{KEYWORD}.k1=3.0"),
)
PROPOSALS = 200
GAIN = 0.03
QUESTIONS = 400  # in each of the two parts
STEP = 0.3  # by which a proposal changes the share of a pipeline in the mixture
LARGEST = 0.5  # share of a pipeline
DRAWS = 4_999
BATCH = 50  # climbs at once


@dataclass(frozen=True)
class Population:
    """Documents with the differences of pipelines on their questions, a column a pipeline.

    `sums` are by document, of shape (documents, pipelines), `squares` the sums of products of two
    columns, and `sizes` the numbers of questions. The last column is the true gain.
    """

    sums: Floats
    squares: Floats
    sizes: Floats


@dataclass(frozen=True)
class Part:
    """The questions of a part, for each climb: their means, products, and sums by document.

    `drawn` has the sums with drawn signs, of shape (climbs, draws, pipelines).
    """

    means: Floats
    squares: Floats
    sizes: Floats
    drawn: Floats | None = None

    def estimate(self, mixture: Floats) -> tuple[Floats, Floats]:
        """Return by climb the mean difference of a mixture, and its standard error."""
        mean = np.einsum("cm,cm->c", self.means, mixture)
        square = np.einsum("cm,cmk,ck->c", mixture, self.squares, mixture) / self.sizes
        return mean, np.sqrt(np.maximum(square - mean**2, 1e-12) / self.sizes)

    def test(self, mixture: Floats) -> Floats:
        """Return by climb the two-sided p-value, signs being drawn by document."""
        assert self.drawn is not None
        total = np.abs(np.einsum("cm,cm->c", self.means, mixture) * self.sizes)
        sums = np.abs(np.matmul(self.drawn, mixture[:, :, None])[:, :, 0])
        extreme = np.count_nonzero(sums >= total[:, None] - 1e-9, axis=1)
        return np.asarray((extreme + 1) / (self.drawn.shape[1] + 1), dtype=float)


@dataclass(frozen=True)
class Climbs:
    """All looks, of shape (climbs, proposals): figures of both parts, and the truth.

    `first` is the place of the proposal that gains, in each climb.
    """

    gain: Floats
    error: Floats
    held: Floats
    p: Floats
    true: Flags
    first: NDArray[np.int64]

    @property
    def one_sided(self) -> Floats:
        """The p-values of a gain."""
        return np.where(self.held > 0, self.p / 2, 1 - self.p / 2)


@dataclass(frozen=True)
class Kind:
    """A kind of climbs.

    Attributes:
        gaining: Whether one proposal of each gains.
        by_figures: Whether the agent climbs on the held-out means.
        moving: Whether what is called better becomes the incumbent.

    """

    gaining: bool = False
    by_figures: bool = False
    moving: bool = False


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--climbs", type=int, default=500)
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="in each part")
    asked = parser.parse_args()
    print("| collection | method | false *better* | gain found | looks spent |")
    print("| --- " * 5 + "|")
    for name in COLLECTIONS:
        try:
            population = read_population(name)
        except AssayError as error:
            print(f"{name}: {error}")
            continue
        for row in measure(population, asked.climbs, asked.questions):
            print(f"| {name} | {' | '.join(row)} |", flush=True)


def measure(population: Population, climbs: int, questions: int) -> Iterator[tuple[str, ...]]:
    """Yield a row a method: its name, and the figures of both kinds of climbs."""
    without = climb(population, climbs, questions, Kind())
    gaining = climb(population, climbs, questions, Kind(gaining=True))
    single = gaining.one_sided[np.arange(climbs), gaining.first] <= ALPHA / 2
    yield "a single look", "", f"{np.mean(single):.3f}", "1"
    figures = climb(population, climbs, questions, Kind(by_figures=True))
    yield "naive, by figures", _share(judge_naively(figures)), "", str(PROPOSALS)
    for name, method in METHODS.items():
        ours = method is judge
        spent = f"{count_spent(without):.1f}, {count_spent(gaining):.1f}" if ours else "200"
        yield name, _share(method(without)), _share(method(gaining) & gaining.true), spent
    moved = climb(population, climbs, questions, Kind(gaining=True, moving=True))
    better = judge(moved)
    yield "Assay, moving", _share(better & ~moved.true), _share(better & moved.true), ""


def _share(better: Flags) -> str:
    return f"{np.mean(better.any(axis=1)):.3f}"


def read_population(name: str) -> Population:
    """Return the differences of pipelines on a collection. Raises AssayError if it is not here."""
    collection = load(name)
    asked = (f"dataset={name}", "latency.queries=0", "measures=[nDCG@10]")
    scores = [
        run(*system, *asked, track=False).found.scores["nDCG@10"]
        for system in (INCUMBENT, *PIPELINES)
    ]
    groups = find_groups(collection.queries, collection.gold, collection.card.known_copies)
    base, *others = (np.array([item[id_] for id_ in groups]) for item in scores)
    columns = np.array([other - base for other in others]).T
    return make_population(columns - columns.mean(axis=0), number_groups(list(groups.values())))


def make_population(differences: Floats, numbers: NDArray[np.int64]) -> Population:
    """Return a population of questions in documents of these numbers; the gain is added."""
    values = np.column_stack([differences, np.full(len(differences), GAIN)])
    parts = [values[numbers == i] for i in range(int(numbers.max()) + 1)]
    return Population(
        np.array([part.sum(axis=0) for part in parts]),
        np.array([part.T @ part for part in parts]),
        np.array([float(len(part)) for part in parts]),
    )


def draw_part(
    population: Population, climbs: int, questions: int, rng: np.random.Generator, *, tested: bool
) -> Part:
    """Return documents drawn with replacement, so many that they have about `questions`."""
    number = max(6, round(questions / float(population.sizes.mean())))
    chosen = rng.integers(len(population.sizes), size=(climbs, number))
    sums, sizes = population.sums[chosen], population.sizes[chosen].sum(axis=1)
    drawn = None
    if tested:
        signs = rng.choice(np.array([-1.0, 1.0]), size=(DRAWS, number))
        drawn = np.matmul(signs, sums)
    means = sums.sum(axis=1) / sizes[:, None]
    return Part(means, population.squares[chosen].sum(axis=1), sizes, drawn)


def climb(population: Population, climbs: int, questions: int, kind: Kind, seed: int = 1) -> Climbs:
    """Return climbs of a kind."""
    rng = np.random.default_rng(seed)
    done = [
        _climb_batch(population, min(BATCH, climbs - i), questions, kind, rng)
        for i in range(0, climbs, BATCH)
    ]
    return Climbs(*(np.concatenate(values) for values in zip(*done, strict=True)))


def _climb_batch(
    population: Population,
    climbs: int,
    questions: int,
    kind: Kind,
    rng: np.random.Generator,
) -> tuple[NDArray[Any], ...]:
    development = draw_part(population, climbs, questions, rng, tested=False)
    held = draw_part(population, climbs, questions, rng, tested=True)
    columns = population.sums.shape[1]
    best, incumbent = np.zeros((climbs, columns)), np.zeros((climbs, columns))
    highest, rows = np.zeros(climbs), np.arange(climbs)
    first = rng.integers(PROPOSALS, size=climbs)
    ledgers = [Ledger() for _ in range(climbs)]
    found: list[tuple[NDArray[Any], ...]] = []
    for place in range(PROPOSALS):
        mixture = best.copy()
        changed = rng.integers(columns - 1, size=climbs)
        mixture[rows, changed] += rng.choice([-STEP, STEP], size=climbs)
        mixture[:, :-1] = np.clip(mixture[:, :-1], -LARGEST, LARGEST)
        if kind.gaining:
            mixture[first == place, -1] = 1.0
        asked = mixture - incumbent
        look = (*development.estimate(asked), held.estimate(asked)[0], held.test(asked))
        found.append((*look, asked[:, -1] > 0))
        guide = held if kind.by_figures else development
        mean, _ = guide.estimate(mixture)
        rises = mean > highest
        best[rises], highest = mixture[rises], np.maximum(mean, highest)
        for i, ledger in enumerate(ledgers if kind.moving else []):
            if ledger.ask(look[0][i], look[1][i], look[2][i], look[3][i]):
                incumbent[i] = mixture[i]
    return *(np.array(values).T for values in zip(*found, strict=True)), first


class Ledger:
    """The looks of one climb, as `assay.eval.studies.comparison.held_out.look` counts them."""

    def __init__(self) -> None:
        self.spent = 0
        self._earlier: list[float] = []

    def ask(self, gain: float, error: float, held: float, p: float) -> bool:
        """Return the answer to a look. After *better* gains are over the new incumbent."""
        if self.spent == LOOKS or gain <= find_least(error, self._earlier):
            return False
        self.spent += 1
        self._earlier.append(gain)
        if better := is_better(held, p):
            self._earlier = []
        return better


def judge(climbs: Climbs) -> Flags:
    """Return the answers of Assay's ledger."""
    return _ask(climbs)[0]


def count_spent(climbs: Climbs) -> float:
    """Return the mean number of looks that a climb costs."""
    return float(np.mean(_ask(climbs)[1]))


def _ask(climbs: Climbs) -> tuple[Flags, list[int]]:
    better, spent = np.zeros(climbs.p.shape, bool), []
    for row, looks in enumerate(zip(climbs.gain, climbs.error, climbs.held, climbs.p, strict=True)):
        ledger = Ledger()
        better[row] = [ledger.ask(*look) for look in zip(*looks, strict=True)]
        spent.append(ledger.spent)
    return better, spent


def judge_naively(climbs: Climbs) -> Flags:
    """Return which looks are better by themselves, as `assay compare` tests."""
    return (climbs.held > 0) & (climbs.p <= ALPHA)


def judge_by_bonferroni(climbs: Climbs) -> Flags:
    """Return which looks are better at .05 divided by their number."""
    return climbs.one_sided <= ALPHA / PROPOSALS


METHODS: dict[str, Callable[[Climbs], Flags]] = {
    "naive": judge_naively,
    "Bonferroni": judge_by_bonferroni,
    "Assay": judge,
}


if __name__ == "__main__":
    main()
