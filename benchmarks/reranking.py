"""`python -m benchmarks.reranking`: what reranking gains and takes, setting by setting.

The first hits of hybrid_rrf are reranked in every way of `WAYS`: nDCG@10 beside that of the first
of these, paired by query, and the milliseconds of the reranking, all ways in turn on each query.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from assay.eval import no_telemetry
from assay.retrievers.base import Document, Hit, IndexReport, Ranking, Retriever

# Light imports only: the process must be on its core before any library counts the cores.
from benchmarks.latency import ending_in_one_line, pin, positive

if TYPE_CHECKING:
    from assay.retrievers.settings import Resources
    from assay.retrievers.stages.base import Stage

Keys = Mapping[str, Any]

# The first is what the others are held against: the file's own graph, all that the model reads.
WAYS: tuple[Keys, ...] = (
    {"fused": False, "max_tokens": 512},
    *(
        {"max_tokens": cap, "enough": enough}
        for cap in (512, 192, 128, 64)
        for enough in (None, 0.5)
    ),
)
OF_THE_MODEL = ("fused", "max_tokens")
WANTED_DEPTH, WANTED_P95, WANTED_LOSS, WANTED_GAIN = 10, 100.0, 0.005, 3.0
MEASURE = "nDCG@10"
WIDTH = 130  # columns that the table needs
SECONDS = 10.0  # for the timing of each way
# The vectors of the file's own graph, so that the hits do not change with the graph that runs.
HITS = ["retriever.legs.dense.encoder={model: bge-small-en-v1.5, fused: false}"]


@dataclass(frozen=True, slots=True)
class Point:
    """One way on one collection; that without reranking has no keys and takes no time.

    `difference` is that of the quality to the first way's, with its paired interval; `read` the
    mean number of hits read; milliseconds are of the reranking alone, all pairs scored anew; and
    `faster` how many times less the median is than the first way's. `front` says that no other
    point of the collection is both as fast and as good.
    """

    collection: str
    keys: Keys
    quality: float
    difference: float
    low: float
    high: float
    read: float
    p50: float
    p95: float
    faster: float
    queries: int
    timed: int
    front: bool = False


class _Answers(Retriever):
    """Hits found before, by query, after one `stage`; `read` counts the hits that it reads."""

    def __init__(self, found: Mapping[str, Sequence[Hit]], stage: "Stage | None") -> None:
        self._found = found
        self._stage = stage
        self.read = 0

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Index nothing: the hits are given."""
        return IndexReport(0)

    def search(self, query: str, k: int) -> Ranking:
        """Return the hits of `query` as the stage leaves them."""
        hits = self._found[query]
        if self._stage:
            result = self._stage.apply(query, hits)
            hits = result.hits
            self.read += result.counts["read"]
        return Ranking(tuple(hits[:k]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark; end the process with 0, or with 2 and one line on what to mend."""
    options = _read_options(arguments)
    no_telemetry.disable()
    core = pin() if options.threads == 1 else None
    with ending_in_one_line():
        points = [
            point for name in options.collections for point in mark(list(_measure(name, options)))
        ]
    if options.json:
        told = {"core": core, "threads": options.threads, "depth": options.depth}
        rows = [asdict(point) for point in points]
        print(json.dumps({**told, "points": rows}, ensure_ascii=False, indent=1))
    else:
        _print(points, options)


def mark(points: Sequence[Point]) -> list[Point]:
    """Return the points of one collection with those on the front marked."""
    from assay.eval.studies.sweep.grid_search import find_front

    front = find_front([(point.p95, point.quality) for point in points])
    return [replace(point, front=i in front) for i, point in enumerate(points)]


def _read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reranking", description=__doc__)
    parser.add_argument("--collections", nargs="+", default=["tarnwick:dev"], metavar="NAME")
    parser.add_argument("--depth", type=positive, default=WANTED_DEPTH, metavar="N")
    parser.add_argument(
        "--queries", type=positive, default=100, metavar="N", help="queries judged, evenly spaced"
    )
    parser.add_argument(
        "--timed", type=positive, default=20, metavar="N", help="queries timed, three times each"
    )
    parser.add_argument("--threads", type=positive, default=1, metavar="N")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no tables")
    return parser.parse_args(arguments)


def _measure(name: str, options: argparse.Namespace) -> Iterator[Point]:
    """Yield the point without reranking and then that of every way, over the same hits."""
    import numpy as np

    from assay.eval.collections.loading import load
    from assay.eval.configs.config import load_config
    from assay.eval.progress import ConsoleProgress
    from assay.eval.runs.execution.interleaved_timing import alternate
    from assay.eval.runs.execution.searching import sample
    from assay.eval.runs.execution.unstored import score_queries
    from assay.eval.statistics.estimates import estimate_mean
    from assay.retrievers.settings import Resources
    from assay.retrievers.store.cache import Cache, default_root
    from benchmarks.experiment import CONFIGS

    progress = ConsoleProgress()
    resources = Resources(Cache(default_root()), progress, threads=options.threads)
    collection = load(name)
    asked = sample(collection.queries, options.queries)
    config = load_config(CONFIGS / "hybrid_rrf.yaml", HITS)
    with config.build(resources) as retriever:
        retriever.index(collection.documents)
        found = {
            query.text: retriever.search(query.text, config.depth).hits
            for query in progress.track(asked, f"{name}: searching", len(asked))
        }
    stages = [_build(way, options.depth, resources) for way in WAYS]
    scores, read = [], []
    for stage in progress.track([None, *stages], f"{name}: scoring", len(stages) + 1):
        answers = _Answers(found, stage)
        scored = score_queries(answers, collection, asked, MEASURE, config.depth)
        scores.append([scored[query.id] for query in asked])
        read.append(answers.read / len(asked))
    texts = list(found)[:: max(1, len(found) // options.timed)][: options.timed]
    contenders = [_clock(stage.without_query_cache(), found) for stage in stages]
    for contender in contenders:  # it loads its model
        contender(texts[0])
    taken = [[0.0], *alternate(contenders, texts, SECONDS, progress)]
    base = float(np.median(taken[1]))
    for keys, mine, pairs, times in zip(({}, *WAYS), scores, read, taken, strict=True):
        gain = estimate_mean(np.subtract(mine, scores[1]).tolist())
        p50, p95 = np.percentile(times, (50, 95)).tolist()
        yield Point(
            name, keys, float(np.mean(mine)), gain.value, gain.low, gain.high, pairs,
            p50, p95, base / p50 if p50 else 0.0, len(asked), len(times) if keys else 0,
        )  # fmt: skip


def _build(way: Keys, depth: int, resources: "Resources") -> "Stage":
    from assay.retrievers.stages.rerank import RerankSettings

    model = {key: value for key, value in way.items() if key in OF_THE_MODEL}
    rest = {key: value for key, value in way.items() if key not in OF_THE_MODEL}
    settings = {"type": "rerank", "model": model, "depth": depth, **rest}
    return RerankSettings.model_validate(settings).build(resources)


def _clock(stage: "Stage", found: Mapping[str, Sequence[Hit]]) -> Callable[[str], float]:
    def clock(text: str) -> float:
        begin = time.perf_counter()
        stage.apply(text, found[text])
        return (time.perf_counter() - begin) * 1000

    return clock


def _print(points: Sequence[Point], options: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.width = max(console.width, WIDTH)
    threads = "one core" if options.threads == 1 else f"{options.threads} threads"
    for name in dict.fromkeys(point.collection for point in points):
        own = [point for point in points if point.collection == name]
        title = f"{name}, {own[0].queries} queries: the first {options.depth} reranked on {threads}"
        table = Table(title=title, title_justify="left", title_style="bold")
        for heading in ("graph", "tokens", "enough", "read", MEASURE):
            table.add_column(heading, justify="left" if heading == "graph" else "right")
        for heading in ("difference, 95 % interval", "p50 ms", "p95 ms", "faster", ""):
            table.add_column(heading, justify="right" if heading else "left")
        for point in sorted(own, key=lambda item: item.p95):
            table.add_row(*_tell(point), style="" if point.front else "dim")
        console.print(table)
    console.print(
        "Difference: to all that the model reads, by the graph of its file. Front: no other point "
        "is both as fast (p95) and as good, by the estimates. Wanted: the first "
        f"{WANTED_DEPTH} in under {WANTED_P95:g} ms (p95), {WANTED_GAIN:g} times as fast, and no "
        f"more than {WANTED_LOSS} below."
    )


def _tell(point: Point) -> list[str]:
    keys = point.keys
    graph = "as given" if keys.get("fused") is False else "fused"
    marks = ["front"] if point.front else []
    if keys and point.difference >= -WANTED_LOSS and point.faster >= WANTED_GAIN:
        marks.append("wanted" if point.p95 < WANTED_P95 else "wanted but for p95")
    return [
        graph if keys else "none",
        str(keys.get("max_tokens", "")),
        f"{keys['enough']:g}" if keys.get("enough") is not None else "",
        f"{point.read:.1f}",
        f"{point.quality:.3f}",
        f"{point.difference:+.3f} ({point.low:+.3f} … {point.high:+.3f})",
        f"{point.p50:.1f}",
        f"{point.p95:.1f}",
        f"× {point.faster:.1f}" if keys else "",
        ", ".join(marks),
    ]


if __name__ == "__main__":
    main()
