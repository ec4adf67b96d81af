"""The named pipelines on every development set: the table of docs/defaults.md, in Markdown.

    python -m benchmarks.defaults                      # all of $ASSAY_DATA and what ships
    python -m benchmarks.defaults tarnwick:dev scifact

The last column is by how much contextual is above hybrid, by query, with its 95 % interval, which
is not adjusted for the number of sets. Figures of sets that choices were made on look better than
those of others.
"""

import sys
from datetime import UTC, datetime

from assay.eval.configs.config import load_config
from assay.eval.configs.locations import reports_folder
from assay.eval.configs.resources import make_resources
from assay.eval.report.formats import interval, score, signed
from assay.eval.running.runner import PointTask, Runner
from assay.eval.runs import environment
from assay.eval.statistics.paired import estimate_difference

SETS = (
    "anthropic_codebase", "scifact", "dccode_t42", "legalbench_contractnli", "cranfield",
    "tarnwick:dev", "harbourline",
)  # fmt: skip
NAMED = ("bm25", "semantic", "hybrid_rrf", "native_hybrid", "hybrid", "contextual")
MEASURE = "nDCG@10"


def main() -> None:
    """Print the table, with the date and the commit."""
    git = environment.describe()["git"]
    print(f"{datetime.now(UTC).date()}, commit {git['commit'][:8]}\n")
    print(f"| set | {' | '.join(NAMED)} | contextual − hybrid |")
    print("|---|" + "---:|" * (len(NAMED) + 1))
    for dataset in sys.argv[1:] or SETS:
        print(_measure(dataset), flush=True)


def _measure(dataset: str) -> str:
    """Return the row of a collection."""
    given = [f"dataset={dataset}", "latency.queries=0"]
    configs = {name: load_config(name, given) for name in NAMED}
    tasks = [PointTask({"pipeline": name}, config) for name, config in configs.items()]
    ran = Runner(MEASURE, make_resources(), reports_folder(), stored=False).run(tasks)
    found = dict(zip(configs, (item.result for item in ran), strict=True))
    scores = {name: item.figures.scores[MEASURE] for name, item in found.items() if item.figures}
    means = {name: sum(of.values()) / len(of) for name, of in scores.items()}
    lead = estimate_difference(
        [of - scores["hybrid"][query] for query, of in scores["contextual"].items()], 1.0
    )
    cells = [score(means[name]) if name in means else "–" for name in NAMED]
    change = f"{signed(lead.value)} ({interval(lead, signed, ' … ')})"
    return f"| {dataset} | {' | '.join(cells)} | {change} |"


if __name__ == "__main__":
    main()
