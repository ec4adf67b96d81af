"""Write the figures of a collection's README.md.

    python -m scripts.collection_card NAME [--data]

Counts are of its files: rows of tables, and what is between marks such as `<!-- facts -->`. The
section `Results`, systems against types of queries, and `<!-- tuned -->`, what settings that were
chosen on the development queries gain, are of runs of this project's pipelines as they come; --data
leaves those out. Runs that are stored are not made again.
"""

import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from statistics import median, stdev

from scipy import stats

from assay import run
from assay.eval.statistics.significance import detectable
from assay.eval.studies.run.frame import RunResult
from assay.retrievers.store.files import write_atomically
from scripts.collection_facts import CollectionData, fill_block, fill_data

ROOT = Path(__file__).resolve().parents[1]
HEADING = "## Results"
UNTIMED = "latency.queries=0"
SYSTEMS: dict[str, tuple[str, ...]] = {
    "bm25": ("bm25",),
    "bm25, no stems": ("bm25", "name=bm25-words", "retriever.legs.keyword.analyzer=words"),
    "semantic": ("semantic",),
    "semantic, MiniLM": (
        "semantic", "name=semantic-minilm", "retriever.legs.dense.encoder=all-MiniLM-L6-v2",
    ),
    "native_hybrid": ("native_hybrid",),
    "hybrid": ("hybrid",),
    "hybrid_rrf": ("hybrid_rrf",),
    "contextual": ("contextual",),
    "hybrid_rrf, reranked": (
        "hybrid_rrf", "name=hybrid-reranked", "retriever.stages=[{type: rerank, depth: 24}]",
    ),
    "reranked": ("reranked",),
}  # fmt: skip
OVERALL = ("Hit@1", "Hit@3", "nDCG@10", "Recall@20", "Judged@10")
BY_TYPE = ("Hit@1", "Hit@3", "nDCG@10")
# By config, what `assay tune CONFIG dataset=tarnwick:dev` chose.
TUNED: dict[str, tuple[str, ...]] = {
    "bm25": ("retriever.legs.keyword.k1=0.5", "retriever.legs.keyword.b=0.4"),
    "hybrid": ("retriever.fusion.weights.dense=0.75",),
    "hybrid_rrf": ("retriever.fusion.weights.dense=0.75", "retriever.fusion.k=1"),
}


def main() -> None:
    """Write the figures of the collection named on the command line."""
    name, *options = sys.argv[1:]
    path = ROOT / "datasets" / name / "README.md"
    text = fill_data(path.read_text(encoding="utf-8"), CollectionData(path.parent))
    if "--data" not in options:
        found = {
            label: run(config, *overrides, f"dataset={name}", UNTIMED, track=False)
            for label, (config, *overrides) in SYSTEMS.items()
        }
        before, _, rest = text.partition(f"{HEADING}\n")
        _, heading, after = rest.partition("\n## ")
        section = "\n\n".join([HEADING, *describe(name, found)])
        text = f"{before}{section}\n{heading}{after}"
        text = fill_block(text, "tuned", describe_tuned(name, CollectionData(path.parent).shared))
    write_atomically(path, text.encode())


def describe_tuned(name: str, shared: frozenset[str]) -> str:
    """Return what settings chosen on dev gain on the two sorts of test queries, in nDCG@10."""
    rows = []
    for config, overrides in TUNED.items():
        results = (
            run(config, *more, f"dataset={name}:test", UNTIMED, track=False)
            for more in ((), overrides)
        )
        given, tuned = (result.found.scores["nDCG@10"] for result in results)
        gains = {query: tuned[query] - given[query] for query in given}
        groups = [[g for q, g in gains.items() if (q in shared) == same] for same in (True, False)]
        welch = stats.ttest_ind(*groups, equal_var=False).confidence_interval()
        apart = sum(groups[0]) / len(groups[0]) - sum(groups[1]) / len(groups[1])
        chosen = ", ".join(
            override.rpartition("fusion.")[2].rpartition("keyword.")[2] for override in overrides
        )
        cells = [_gain(group) for group in (list(gains.values()), *groups)]
        rows.append(
            [config, chosen, *cells, f"{apart:+.3f} ({welch.low:+.3f} … {welch.high:+.3f})"]
        )
    heads = [
        f"of {len(groups[0])} that share a span",
        f"of the {len(groups[1])} others",
        "difference",
    ]
    return tabulate(["config", "chosen on dev", f"of all {len(gains)}", *heads], rows)


def _gain(differences: Sequence[float]) -> str:
    n, mean = len(differences), sum(differences) / len(differences)
    half = stats.t.ppf(0.975, n - 1) * stdev(differences) / n**0.5
    return f"{mean:+.3f} ({mean - half:+.3f} … {mean + half:+.3f})"


def describe(name: str, found: dict[str, RunResult]) -> list[str]:
    """Return the paragraphs and tables of the section."""
    first = next(iter(found.values()))
    parts = [
        f"Made by `python -m scripts.collection_card {name}`: this project's pipelines as they "
        f"come, n = {len(first.found.run.queries)}, 95 % intervals.",
        tabulate(
            ["system", *OVERALL],
            [
                [label, *(_interval(result, measure) for measure in OVERALL)]
                for label, result in found.items()
            ],
        ),
        describe_power(found),
    ]
    types = first.found.by_type
    counts = first.per_query["type"].value_counts()
    for measure in BY_TYPE:
        rows = [
            [
                f"{kind} ({counts[kind]})",
                *(f"{result.found.by_type[kind][measure].value:.2f}" for result in found.values()),
            ]
            for kind in types
        ]
        parts += [f"{measure} by type (number of queries):", tabulate(["type", *found], rows)]
    return parts


def describe_power(found: dict[str, RunResult]) -> str:
    """Return how small a difference in nDCG@10 can be and still be shown, over all pairs."""
    scores = {label: result.found.scores["nDCG@10"] for label, result in found.items()}
    sizes = {}
    for one, other in combinations(found, 2):
        differences = [scores[one][query] - scores[other][query] for query in scores[one]]
        sizes[one, other] = 100 * detectable(stdev(differences), len(differences))
    low, high = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    small = sum(size <= 3 for size in sizes.values())
    return (
        "The smallest difference in nDCG@10 that is shown with power .8, in points, between two of "
        f"these systems: median {median(sizes.values()):.1f}; from {sizes[low]:.1f} ({low[0]} and "
        f"{low[1]}) to {sizes[high]:.1f} ({high[0]} and {high[1]}); 3.0 or less for {small} of "
        f"{len(sizes)} pairs."
    )


def tabulate(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---", *("---:" for _ in heads[1:])], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _interval(result: RunResult, measure: str) -> str:
    mean = result.found.means[measure]
    return f"{mean.value:.3f} ({mean.low:.3f} – {mean.high:.3f})"


if __name__ == "__main__":
    main()
