"""How close `assay choose` comes to the best candidate, on questions that had no part in it.

    python -m benchmarks.choice harbourline tarnwick:dev

All candidates that it tried are run on all questions. The column `lost` is the mean of the best of
them on the questions not chosen by, less that of the one chosen: the best of many on the same
questions has luck on its side, so a small loss is expected even of a perfect choice.
"""

import sys

from assay.eval.collections.loading import load
from assay.eval.configs.config import load_config
from assay.eval.configs.locations import reports_folder
from assay.eval.configs.resources import make_resources
from assay.eval.running.runner import PointTask, Runner
from assay.eval.running.search_space import as_overrides
from assay.eval.studies.choice.running import ChoiceRequest, choose, split_queries

HOUR = 3600.0
ROW = "{:24} {:>5} {:>7} {:>7} {:>7} {:>7} {:>6}  {}"


def main() -> None:
    """Print a row for each collection that is named."""
    print(ROW.format("collection", "n", "as giv.", "BM25", "chosen", "best", "lost", "chosen"))
    for dataset in sys.argv[1:]:
        _measure(dataset)


def _measure(dataset: str) -> None:
    given = [f"dataset={dataset}", "latency.queries=0"]
    resources = make_resources()
    choice = choose(ChoiceRequest("hybrid", given, "nDCG@10", HOUR, None), resources)
    collection = load(choice.config.dataset)
    _, held, _ = split_queries(collection.queries, collection)
    values = choice.config.model_dump(mode="json")
    tasks = [
        PointTask(item.point, load_config("hybrid", [*given, *as_overrides(item.point, values)]))
        for item in choice.trials
    ]
    ran = Runner("nDCG@10", resources, reports_folder(), stored=False).run(tasks)
    means = [
        sum(item.result.figures.scores["nDCG@10"][query.id] for query in held) / len(held)
        for item in ran
        if item.result.figures
    ]
    chosen = choice.means["best"]
    figures = (choice.means["base"], choice.means["bm25"], chosen, max(means), max(means) - chosen)
    shown = [f"{value:.3f}" for value in figures]
    verdict = f"{'ship' if choice.ships else 'keep hybrid; best'}: {choice.name}"
    print(ROW.format(dataset, len(held), *shown, verdict), flush=True)


if __name__ == "__main__":
    main()
