"""Write the section `Results` of a collection's README.md: systems against types of queries.

    python scripts/collection_card.py NAME

The systems are this project's pipelines as they come. Runs that are stored are not made again.
"""

import sys
from itertools import combinations
from pathlib import Path
from statistics import median, stdev

from assay import run
from assay.eval.statistics.significance import detectable
from assay.eval.studies.run.frame import RunResult
from assay.retrievers.store.files import write_atomically

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


def main() -> None:
    """Run the systems on the collection named on the command line and write what came of it."""
    (name,) = sys.argv[1:]
    found = {
        label: run(config, *overrides, f"dataset={name}", UNTIMED, track=False)
        for label, (config, *overrides) in SYSTEMS.items()
    }
    path = ROOT / "datasets" / name / "README.md"
    before, _, rest = path.read_text(encoding="utf-8").partition(f"{HEADING}\n")
    _, heading, after = rest.partition("\n## ")
    section = "\n\n".join([HEADING, *describe(name, found)])
    write_atomically(path, f"{before}{section}\n{heading}{after}".encode())
    print(section)


def describe(name: str, found: dict[str, RunResult]) -> list[str]:
    """Return the paragraphs and tables of the section."""
    first = next(iter(found.values()))
    parts = [
        f"Made by `python scripts/collection_card.py {name}`: this project's pipelines as they "
        f"come, n = {len(first.summary.run.queries)}, 95 % intervals.",
        tabulate(
            ["system", *OVERALL],
            [
                [label, *(_interval(result, measure) for measure in OVERALL)]
                for label, result in found.items()
            ],
        ),
        describe_power(found),
    ]
    types = first.summary.by_type
    counts = first.per_query["type"].value_counts()
    for measure in BY_TYPE:
        rows = [
            [
                f"{kind} ({counts[kind]})",
                *(
                    f"{result.summary.by_type[kind][measure].value:.2f}"
                    for result in found.values()
                ),
            ]
            for kind in types
        ]
        parts += [f"{measure} by type (number of queries):", tabulate(["type", *found], rows)]
    return parts


def describe_power(found: dict[str, RunResult]) -> str:
    """Return how small a difference in nDCG@10 can be and still be shown, over all pairs."""
    scores = {label: result.summary.scores["nDCG@10"] for label, result in found.items()}
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
    mean = result.summary.means[measure]
    return f"{mean.value:.3f} ({mean.low:.3f} – {mean.high:.3f})"


if __name__ == "__main__":
    main()
