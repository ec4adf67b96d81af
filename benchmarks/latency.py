"""`python -m benchmarks.latency`: time per query by number of chunks, on one core."""

import argparse
import gc
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Light imports only: the process must be on its core before any library counts the cores.
from assay.eval import no_telemetry
from assay.retrievers.base import AssayError, Document, Progress, Ranking, Retriever

if TYPE_CHECKING:
    from assay.eval.report.blocks import Report
    from assay.eval.statistics.estimates import OpenEstimate

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
PIPELINES = ("semantic", "bm25", "hybrid_rrf", "native_hybrid")
DEPTH = 100
WARM_UP = 10  # queries that every contender answers before, untimed
WANTED_CHUNKS = 10_000
WANTED_P95 = {"bm25": 5.0, "semantic": 10.0, "hybrid_rrf": 15.0, "native_hybrid": 15.0}


@dataclass(frozen=True, slots=True)
class Contender:
    """Something that answers queries over passages it has indexed.

    `search` returns the best 100 passages for a query, in a form of its own; it is what is timed.
    `index_seconds` leaves out the embedding of passages; `index_bytes` is None for an index of
    Python objects.
    """

    name: str
    search: Callable[[str], Any]
    index_seconds: float
    index_bytes: int | None


@dataclass(frozen=True, slots=True)
class Row:
    """Percentiles of milliseconds a query, of a contender or of its embedding of queries.

    `wanted` is None where no p95 is wanted, else it is so many milliseconds.
    """

    name: str
    chunks: int
    p50: "OpenEstimate"
    p95: "OpenEstimate"
    index_seconds: float | None = None
    index_bytes: int | None = None
    wanted: float | None = None

    @property
    def verdict(self) -> str:
        """Whether p95 is as wanted: met or missed, "" where nothing is wanted."""
        return "" if self.wanted is None else "met" if self.p95.value < self.wanted else "missed"


def measure(sizes: Sequence[int], queries: int, progress: Progress) -> tuple[list[Row], list[str]]:
    """Time all contenders at each of `sizes`, which ascend; return the rows, and notes on them.

    Raises AssayError when memory does not suffice or an input is missing.
    """
    from assay.eval.configs.config import load_config
    from assay.eval.studies.ingestion.running import forgetful
    from assay.eval.studies.targets import synthetic_corpus as growth
    from assay.retrievers.settings import Resources
    from assay.retrievers.store.cache import Cache, default_root
    from benchmarks import texts
    from benchmarks.memory import check_memory

    check_memory(sizes[-1])
    configs = [load_config(CONFIGS / f"{name}.yaml") for name in PIPELINES]
    rows = []
    with forgetful(Resources(Cache(default_root()), progress, threads=1)) as resources:
        sources, absent = texts.read_sources(resources)
        asked = texts.sample_queries(sources, queries)
        progress.say(f"composing {sizes[-1]:,} passages and their vectors …")
        passages = growth.compose(sources, sizes[-1])
        rates = growth.embed(growth.find_encoders(configs), passages, resources)
        for size in sizes:
            documents = growth.make_documents(passages[:size])
            with ExitStack() as stack:
                pipelines = [
                    make_pipeline(name, stack.enter_context(config.build(resources)), documents)
                    for name, config in zip(PIPELINES, configs, strict=True)
                ]
                contenders = [*pipelines, *make_libraries(passages[:size], asked)]
                rows += interleave(contenders, asked, size, progress)
    real = ", ".join(f"{source.name} {len(source.passages):,}" for source in sources)
    rate = ", ".join(f"{rate:.0f} with {model}" for model, rate in rates.items())
    return rows, [f"Real passages: {real}.", f"Passages embedded a second: {rate}.", *absent]


def make_pipeline(name: str, retriever: Retriever, documents: Sequence[Document]) -> Contender:
    """Return a pipeline as it ships, with every per-query cache off."""
    report = retriever.index(documents)
    timed = retriever.without_query_cache()
    own = sum(taken for step, taken in report.seconds.items() if not step.endswith(".embed"))
    return Contender(name, lambda query: timed.search(query, DEPTH), own, report.bytes)


def make_libraries(passages: Sequence[str], queries: Sequence[str]) -> Iterator[Contender]:
    """Yield bm25s and rank-bm25 with their defaults, given the terms of `bm25`'s analyzer."""
    import bm25s
    from rank_bm25 import BM25Okapi

    from assay.retrievers.legs.keyword import KeywordLegSettings

    analyzer = KeywordLegSettings().analyzer.build()
    terms = [analyzer.analyze(text) for text in passages]
    of: Mapping[str, Sequence[str]] = {query: analyzer.analyze(query) for query in queries}
    depth, positions = min(DEPTH, len(terms)), range(len(terms))
    begin = time.perf_counter()
    fast = bm25s.BM25()
    fast.index(terms, show_progress=False)
    middle = time.perf_counter()
    plain = BM25Okapi(terms)
    end = time.perf_counter()
    yield Contender(
        "bm25s, called directly",
        lambda query: fast.retrieve([of[query]], k=depth, show_progress=False),
        middle - begin,
        sum(fast.scores[part].nbytes for part in ("data", "indices", "indptr")),
    )
    yield Contender(
        "rank-bm25, called directly",
        lambda query: plain.get_top_n(of[query], positions, n=DEPTH),
        end - middle,
        None,
    )


def interleave(
    contenders: Sequence[Contender], queries: Sequence[str], chunks: int, progress: Progress
) -> Iterator[Row]:
    """Let each contender answer each query; yield the rows of each.

    The order of the contenders is drawn anew for each query: none always follows the same one.
    """
    draw = random.Random(20_240_517)
    for query in queries[:WARM_UP]:
        for contender in contenders:
            contender.search(query)
    taken: dict[str, list[tuple[float, float]]] = {one.name: [] for one in contenders}
    with frozen():
        for query in progress.track(queries, f"{chunks:,} chunks: timing", len(queries)):
            for contender in draw.sample(contenders, len(contenders)):
                begin = time.perf_counter()
                answer = contender.search(query)
                total = (time.perf_counter() - begin) * 1000
                taken[contender.name].append((total, find_embedding(answer)))
    for contender in contenders:
        yield from make_rows(contender, taken[contender.name], chunks)


def find_embedding(answer: Any) -> float:
    """Return the milliseconds in which a search embedded its query; 0 for a library's answer."""
    if not isinstance(answer, Ranking):
        return 0.0
    return sum(step.milliseconds for step in answer.trace if step.name.endswith(".encode"))


def make_rows(
    contender: Contender, taken: Sequence[tuple[float, float]], chunks: int
) -> Iterator[Row]:
    """Yield the row of a contender, and that of its embedding of queries if it embeds any.

    `taken` has the milliseconds of each query: in all, and those of its embedding.
    """
    from assay.eval.statistics.estimates import estimate_percentile

    def estimate(values: Sequence[float]) -> "tuple[OpenEstimate, OpenEstimate]":
        return estimate_percentile(values, 50), estimate_percentile(values, 95)

    totals, embedding = ([pair[i] for pair in taken] for i in (0, 1))
    wanted = WANTED_P95.get(contender.name) if chunks == WANTED_CHUNKS else None
    index = contender.index_seconds, contender.index_bytes
    yield Row(contender.name, chunks, *estimate(totals), *index, wanted)
    if any(embedding):
        yield Row(f"{contender.name}: embedding the query", chunks, *estimate(embedding))


def report(rows: Sequence[Row], notes: Sequence[str], core: int | None) -> "Report":
    """Return the figures as blocks."""
    from assay.eval.report.blocks import Column, Prose, Report, Table
    from assay.eval.runs import environment

    columns = (
        Column("name", "Contender"),
        Column("chunks", "Chunks", "count"),
        Column("p50", "p50, ms", "ms"),
        Column("p95", "p95, ms", "ms"),
        Column("wanted", "wanted p95", "ms"),
        Column("verdict", "Verdict"),
        Column("index_seconds", "Index, s", "amount"),
        Column("index_bytes", "Index, size", "size"),
    )
    described = environment.describe()
    where = "one core" if core is not None else "one thread (no single core: not possible)"
    words = " ".join((f"Measured on {where} of {described['processor']}.", *notes))
    table = Table("times", "Milliseconds a query", columns, rows)
    missed = ", ".join(row.name for row in rows if row.verdict == "missed")
    verdict = f"Slower than wanted: {missed}." if missed else "Nothing is slower than is wanted."
    title, blocks = "Latency by number of chunks", [table, Prose("Notes", words)]
    return Report("latency", "latency", title, [verdict], blocks=blocks)


@contextmanager
def frozen() -> Iterator[None]:
    """Keep the garbage collector off the indexes.

    Otherwise one contender would be charged with a walk through the objects of all the others.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def positive(text: str) -> int:
    """Return the number that an option's `text` is."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


@contextmanager
def ending_in_one_line() -> Iterator[None]:
    """End the process with 2, and one line on what to mend, where a benchmark cannot be run."""
    try:
        yield
    except AssayError as error:
        print(f"benchmark: {error}", file=sys.stderr)
        sys.exit(2)
    except subprocess.CalledProcessError as error:  # which said why
        print(f"benchmark: {' '.join(map(str, error.cmd))} failed", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def pin() -> int | None:
    """Keep this process on one core and return its number; None where the system cannot."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark; end the process with 1 where a time is beyond what is wanted.

    It ends with 2 and one line on what to mend where it cannot be run.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    sizes = [1_000, 10_000, 100_000]
    parser.add_argument("--chunks", type=positive, nargs="+", default=sizes, metavar="N")
    parser.add_argument("--queries", type=positive, default=200, metavar="N", help="at each size")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no tables")
    options = parser.parse_args(arguments)
    no_telemetry.disable()
    core = pin()
    from assay.eval.progress import ConsoleProgress
    from assay.eval.report.renderers import markdown

    with ending_in_one_line():
        chunks = sorted(set(options.chunks))
        rows, notes = measure(chunks, options.queries, ConsoleProgress())
    if options.json:
        told = [asdict(row) | {"verdict": row.verdict} for row in rows]
        print(json.dumps({"core": core, "notes": notes, "rows": told}, ensure_ascii=False))
    else:
        print(markdown.render(report(rows, notes, core)))
    sys.exit(any(row.verdict == "missed" for row in rows))


if __name__ == "__main__":
    main()
