"""The experiment: at each size every contender answers each query, one after the other."""

import gc
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from assay.eval.configs.config import RunConfig, load_config
from assay.eval.runs import environment
from assay.eval.studies.ingestion.running import forgetful
from assay.eval.studies.targets import synthetic_corpus as growth
from assay.retrievers.base import Progress
from assay.retrievers.legs.keyword import KeywordLegSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root
from benchmarks import texts
from benchmarks.memory import check_memory
from benchmarks.report import (
    Contender,
    Report,
    Samples,
    Size,
    embedding_milliseconds,
    make_bm25s,
    make_pipeline,
    make_rank_bm25,
    make_row,
)

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
PIPELINES = ("semantic", "bm25", "hybrid_rrf", "native_hybrid")
WARM_UP = 10  # queries that every contender answers before, untimed


def run(sizes: Sequence[int], queries: int, core: int | None, progress: Progress) -> Report:
    """Time all contenders at each of `sizes`, which ascend.

    Raises AssayError when memory does not suffice or an input is missing.
    """
    check_memory(sizes[-1])
    configs = [load_config(CONFIGS / f"{name}.yaml") for name in PIPELINES]
    with forgetful(Resources(Cache(default_root()), progress, threads=1)) as resources:
        sources, absent = texts.read_sources(resources)
        asked = texts.sample_queries(sources, queries)
        progress.say(f"composing {sizes[-1]:,} passages and their vectors …")
        passages = growth.compose(sources, sizes[-1])
        rates = growth.embed(growth.find_encoders(configs), passages, resources)
        measured = [_measure(configs, passages[:size], asked, resources) for size in sizes]
    return Report(
        sizes=tuple(measured),
        queries=len(asked),
        core=core,
        embedding_rates=rates,
        sources={source.name: len(source.passages) for source in sources},
        absent=tuple(absent),
        environment=environment.describe(),
    )


def _measure(
    configs: Sequence[RunConfig],
    passages: Sequence[str],
    queries: Sequence[str],
    resources: Resources,
) -> Size:
    """Index `passages` in every contender, and time all of them."""
    size = f"{len(passages):,} chunks"
    documents = growth.make_documents(passages)
    with ExitStack() as stack:
        contenders = []
        for config in configs:
            resources.progress.say(f"{size}: indexing {config.name} …")
            retriever = stack.enter_context(config.build(resources))
            contenders.append(make_pipeline(config.name, retriever, documents))
        resources.progress.say(f"{size}: indexing in the libraries called directly …")
        analyzer = KeywordLegSettings().analyzer.build()
        terms = [analyzer.analyze(text) for text in passages]
        terms_of = {query: analyzer.analyze(query) for query in queries}
        contenders += [make_bm25s(terms, terms_of), make_rank_bm25(terms, terms_of)]
        samples = _interleave(contenders, queries, size, resources.progress)
    resources.progress.say(f"{size}: intervals …")
    rows = [make_row(one, samples[one.name], len(passages)) for one in contenders]
    return Size(len(passages), tuple(rows))


def _interleave(
    contenders: Sequence[Contender], queries: Sequence[str], size: str, progress: Progress
) -> dict[str, Samples]:
    """Return milliseconds a query of each contender, by name.

    The order of the contenders is drawn anew for each query: none always follows the same one.
    """
    draw = random.Random(growth.SEED)
    for query in queries[:WARM_UP]:
        for contender in contenders:
            contender.search(query)
    samples = {contender.name: Samples([], []) for contender in contenders}
    with frozen():
        for query in progress.track(queries, f"{size}: timing", len(queries)):
            for contender in draw.sample(contenders, len(contenders)):
                begin = time.perf_counter()
                answer = contender.search(query)
                total = (time.perf_counter() - begin) * 1000
                samples[contender.name].add(total, embedding_milliseconds(answer))
    return samples


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
