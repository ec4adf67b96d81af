"""`python -m benchmarks.reranking`: what reranking gains and takes, on one core.

Every pinned cross-encoder with several depths and caps of length, on judged collections: nDCG@10
over all the queries asked for, and the milliseconds of the reranking itself over some of them.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product

# Light imports only: the process must be on its core before any library counts the cores.
from benchmarks.latency import pin, positive
from eval import telemetry
from retrievers.base import AssayError

DEPTHS = (50, 24, 10)  # the deepest first: it scores what the others look up
CAPS = (32, 64, 128, 256, 512)
WANTED_DEPTH, WANTED_P95 = 10, 100.0
MEASURE = "nDCG@10"
WIDTH = 112  # columns that the table needs


@dataclass(frozen=True, slots=True)
class Point:
    """One setting on one collection; without reranking `model` is empty and takes no time.

    Milliseconds are of the reranking alone, all pairs scored anew. `front` says that no other
    point of the collection is both as fast and as good.
    """

    collection: str
    model: str
    depth: int
    max_tokens: int
    quality: float
    low: float
    high: float
    p50: float
    p95: float
    queries: int
    timed: int
    front: bool = False


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark; end the process with 0, or with 2 and one line on what to mend."""
    options = _read_options(arguments)
    telemetry.disable()
    core = pin()
    try:
        points = [
            point
            for name in options.collections
            for point in mark(list(_measure(name, options.queries, options.timed)))
        ]
    except AssayError as error:
        print(f"benchmark: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    if options.json:
        rows = [asdict(point) for point in points]
        print(json.dumps({"core": core, "points": rows}, ensure_ascii=False, indent=1))
    else:
        _print(points)


def mark(points: Sequence[Point]) -> list[Point]:
    """Return the points of one collection with those on the front marked."""
    from dataclasses import replace

    from eval.analysis.grid_search import find_front

    front = find_front([(point.p95, point.quality) for point in points])
    return [replace(point, front=at in front) for at, point in enumerate(points)]


def _read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reranking", description=__doc__)
    parser.add_argument("--collections", nargs="+", default=["tarnwick"], metavar="NAME")
    parser.add_argument(
        "--queries", type=positive, default=100, metavar="N", help="queries judged, evenly spaced"
    )
    parser.add_argument(
        "--timed", type=positive, default=30, metavar="N", help="queries timed at each point"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, no tables")
    return parser.parse_args(arguments)


def _measure(name: str, queries: int, timed: int) -> Iterator[Point]:
    """Yield the point without reranking and then every other, on shared indexes."""
    import numpy as np

    from benchmarks.experiment import CONFIGS
    from eval.collections.loading import load
    from eval.experiments.config import load_config
    from eval.progress import ConsoleProgress
    from eval.runs.execution import sample
    from eval.runs.latency import LatencySettings, measure
    from eval.runs.unstored import score_queries
    from eval.statistics.estimates import estimate_mean
    from retrievers.models.pins import PINNED
    from retrievers.settings import Workshop
    from retrievers.store.cache import Cache, default_root
    from retrievers.variants import Variants

    progress = ConsoleProgress()
    collection = load(name)
    asked = sample(collection.queries, queries)
    texts = [(query.id, query.text) for query in asked]
    models = dict.fromkeys(pin.name for pin in PINNED if pin.kind == "cross-encoder")
    settings = [("", 0, 0), *product(models, CAPS, DEPTHS)]
    limits = LatencySettings(queries=timed, warm_up=2, seconds=120.0, concurrency=1)
    with Variants(Workshop(Cache(default_root()), progress, threads=1)) as variants:
        for model, cap, depth in progress.track(settings, f"{name}: points", len(settings)):
            stage = {"type": "rerank", "model": {"model": model, "max_tokens": cap}, "depth": depth}
            stages = json.dumps([stage] if model else [])
            config = load_config(CONFIGS / "hybrid_rrf.yaml", [f"retriever.stages={stages}"])
            with variants.build(config) as retriever:
                retriever.index(collection.documents)
                scores = score_queries(retriever, collection, asked, MEASURE, config.depth)
                taken = [0.0]
                if model:
                    samples = measure(retriever, texts, config.depth, limits, progress).samples
                    taken = [item.milliseconds["rerank"] for item in samples]
            mean = estimate_mean(list(scores.values()))
            yield Point(
                name, model, depth, cap, mean.value, mean.low, mean.high,
                float(np.percentile(taken, 50)), float(np.percentile(taken, 95)),
                len(asked), len(taken) if model else 0,
            )  # fmt: skip


def _print(points: Sequence[Point]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.width = max(console.width, WIDTH)
    for name in dict.fromkeys(point.collection for point in points):
        own = [point for point in points if point.collection == name]
        title = f"{name}, {own[0].queries} queries: reranking of hybrid_rrf on one core"
        table = Table(title=title, title_justify="left", title_style="bold")
        for heading in ("model", "depth", "tokens", MEASURE, "95 % interval", "p50 ms", "p95 ms"):
            table.add_column(heading, justify="left" if heading == "model" else "right")
        table.add_column("")
        for point in sorted(own, key=lambda item: item.p95):
            table.add_row(
                point.model or "none",
                *(str(value or "") for value in (point.depth, point.max_tokens)),
                f"{point.quality:.3f}",
                f"{point.low:.3f} – {point.high:.3f}",
                f"{point.p50:.1f}",
                f"{point.p95:.1f}",
                _describe(point),
                style="" if point.front else "dim",
            )
        console.print(table)
    console.print(
        "Front: no other point is both as fast (p95) and as good, by the estimates. Wanted: the "
        f"first {WANTED_DEPTH} reranked in under {WANTED_P95:g} ms (p95)."
    )


def _describe(point: Point) -> str:
    words = ["front"] if point.front else ["off the front"]
    if point.depth == WANTED_DEPTH:
        words.append("wanted: met" if point.p95 < WANTED_P95 else "wanted: missed")
    return ", ".join(words)


if __name__ == "__main__":
    main()
