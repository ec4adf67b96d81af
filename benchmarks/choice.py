"""How close `assay choose` comes to the best candidate, on questions that had no part in it.

    python -m benchmarks.choice harbourline tarnwick:dev

It chooses on one half of the questions, as the command does, and then on halves of 20 other seeds.
Every candidate that any of these tried is run on all questions. A choice loses what the best
candidate has more than the one chosen, in the mean over the questions not chosen by. The best is
that on all questions, so the same for each half; `there` is against the best on just the questions
not chosen by, which has luck on its side. `all` is what is lost on the 20 halves where the best of
all candidates on each half is chosen: what such few questions lose, however they are searched.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

from assay.eval.collections.collection import Query
from assay.eval.collections.loading import load
from assay.eval.configs.config import load_config
from assay.eval.configs.locations import reports_folder
from assay.eval.configs.resources import make_resources
from assay.eval.running.runner import PointTask, Runner
from assay.eval.running.search_space import Point, as_overrides
from assay.eval.runs.execution.searching import sample
from assay.eval.statistics.estimates import SEED
from assay.eval.studies.choice.candidates import inspect
from assay.eval.studies.choice.running import CandidateSearch, split_queries
from benchmarks.latency import ending_in_one_line

HOURS = 10 * 3600.0
HALVES = 20
MEASURE = "nDCG@10"
ROW = "{:24} {:>5} {:>7} {:>6} {:>6} {:>6} {:>6} {:>21} {:>6}  {}"


class OnceRunner(Runner):
    """Searches all `asked` queries once for each config, whichever of them are asked for."""

    asked: Sequence[Query]
    known: dict[str, dict[str, float] | None]

    def score_first(
        self, tasks: Sequence[PointTask], queries: Sequence[Query], what: str
    ) -> list[dict[str, float] | None]:
        """Return the scores of `queries` by id."""
        names = [task.config.model_dump_json() for task in tasks]
        for name, task in zip(names, tasks, strict=True):
            if name not in self.known:
                (self.known[name],) = super().score_first([task], self.asked, what)
        return [
            of and {query.id: of[query.id] for query in queries}
            for of in map(self.known.get, names)
        ]


@ending_in_one_line()
def main() -> None:
    """Print a row for each collection that is named."""
    heads = ("collection", "n", "as giv.", "BM25", "chosen", "there", "lost", "on 20 halves", "all")
    print(ROW.format(*heads, "chosen"))
    for dataset in sys.argv[1:]:
        _measure(dataset)


def _measure(dataset: str) -> None:
    given = [f"dataset={dataset}", "latency.queries=0"]
    config = load_config("hybrid", given)
    values = config.model_dump(mode="json")
    resources = make_resources()
    collection = load(config.dataset)
    queries = sample(collection.queries, config.limit)
    text = inspect(config, collection.documents, resources)
    runner = OnceRunner(MEASURE, resources, reports_folder(), stored=False)
    runner.asked, runner.known = queries, {}

    def configure(point: Point) -> PointTask:
        return PointTask(point, load_config("hybrid", [*given, *as_overrides(point, values)]))

    def find(point: Point) -> Mapping[str, float]:
        (scores,) = runner.score_first([configure(point)], queries, "")
        return scores or {}

    found = []
    for seed in (SEED, *range(HALVES)):
        first, held, _ = split_queries(queries, collection, seed)
        search = CandidateSearch(configure, runner, MEASURE, HOURS, None, resources)
        search.run(collection, first, text)
        found.append(([query.id for query in first], [query.id for query in held], search))
    tried = [of for of in runner.known.values() if of]
    best = max(tried, key=lambda of: mean(of.values()))
    lost = [
        _average(best, held) - _average(find(search.best.point), held) for _, held, search in found
    ]
    exhaustive = [
        _average(best, held) - _average(max(tried, key=lambda of: _average(of, first)), held)
        for first, held, _ in found[1:]
    ]
    _, held, search = found[0]
    chosen = _average(find(search.best.point), held)
    luckiest = max(_average(of, held) for of in tried)
    bm25 = next(item.point for item in search.trials if item.words == "BM25 alone")
    figures = (_average(find({}), held), _average(find(bm25), held), chosen, luckiest - chosen)
    shown = [f"{value:.3f}" for value in (*figures, lost[0])]
    others = f"{mean(lost[1:]):.3f} ({min(lost[1:]):.3f} … {max(lost[1:]):.3f})"
    print(
        ROW.format(
            dataset, len(held), *shown, others, f"{mean(exhaustive):.3f}", search.best.words
        ),
        flush=True,
    )


def _average(scores: Mapping[str, float], asked: Iterable[str]) -> float:
    return mean(scores[id_] for id_ in asked)


if __name__ == "__main__":
    main()
