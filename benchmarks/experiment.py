"""The experiment: at each size every contender answers each query, one after the other."""

import gc
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks import texts
from benchmarks.contenders import (
    Contender,
    embedding_milliseconds,
    make_bm25s,
    make_pipeline,
    make_rank_bm25,
)
from benchmarks.memory import check_memory
from benchmarks.report import Report, Samples, Size, make_row
from eval import environment
from eval.cli.config import RunConfig, load_config
from retrievers.base import Document, Passage, Progress
from retrievers.legs.dense import DenseLegSettings
from retrievers.legs.keyword import KeywordLegSettings
from retrievers.legs.kinds import LegSettings
from retrievers.legs.native import NativeHybridSettings
from retrievers.models.encoders import CachingEncoder, EncoderSettings
from retrievers.recipe import PipelineSettings
from retrievers.settings import Workshop
from retrievers.store.cache import Cache, default_root

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
PIPELINES = ("semantic", "bm25", "hybrid_rrf", "native_hybrid")
WARM_UP = 10  # queries that every contender answers before, untimed
EMBEDDED = 64  # real passages that are embedded for real


def run(sizes: Sequence[int], queries: int, core: int | None, progress: Progress) -> Report:
    """Time all contenders at each of `sizes`, which ascend.

    Raises AssayError when memory does not suffice or an input is missing.
    """
    check_memory(sizes[-1])
    configs = [load_config(CONFIGS / f"{name}.yaml") for name in PIPELINES]
    with _workshop(progress) as workshop:
        sources, absent = texts.read_sources(workshop)
        asked = texts.sample_queries(sources, queries)
        progress.say(f"composing {sizes[-1]:,} passages and their vectors …")
        passages = texts.compose(sources, sizes[-1])
        rates = _embed(configs, passages, workshop)
        measured = [_measure(configs, passages[:size], asked, workshop) for size in sizes]
    return Report(
        sizes=tuple(measured),
        queries=len(asked),
        core=core,
        embedding_rates=rates,
        sources={source.name: len(source.passages) for source in sources},
        absent=tuple(absent),
        environment=environment.describe(),
    )


@contextmanager
def _workshop(progress: Progress) -> Iterator[Workshop]:
    """Yield a workshop of one thread, its cache empty but for the models."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        cache = Cache(Path(folder))
        models = Cache(default_root() / "models").root
        (cache.root / "models").symlink_to(models)
        yield Workshop(cache, progress, threads=1)


def _embed(
    configs: Sequence[RunConfig], passages: Sequence[str], workshop: Workshop
) -> dict[str, float]:
    """Put a vector of each passage into the cache, for each model of `configs`.

    Return the real passages that each model embeds in a second.
    """
    rates = {}
    for settings in _encoders(configs):
        encoder = settings.build(workshop)
        encoder.encode_query("loads the model")
        begin = time.perf_counter()
        vectors = encoder.encode_passages(passages[:EMBEDDED])
        rates[settings.model] = len(vectors) / (time.perf_counter() - begin)
        scattered = texts.scatter(vectors, len(passages))
        prepared = dict(zip(passages, scattered, strict=True))
        stand_in = texts.PreparedEncoder(encoder.identity, prepared)
        CachingEncoder(stand_in, "prepared vectors", workshop).encode(passages)
    return rates


def _encoders(configs: Sequence[RunConfig]) -> list[EncoderSettings]:
    legs = [leg for config in configs for leg in _legs(config)]
    embedding = (DenseLegSettings, NativeHybridSettings)
    return list(dict.fromkeys(leg.encoder for leg in legs if isinstance(leg, embedding)))


def _legs(config: RunConfig) -> list[LegSettings]:
    assert isinstance(config.retriever, PipelineSettings)
    return list(config.retriever.legs.values())


def _measure(
    configs: Sequence[RunConfig],
    passages: Sequence[str],
    queries: Sequence[str],
    workshop: Workshop,
) -> Size:
    """Index `passages` in every contender, and time all of them."""
    size = f"{len(passages):,} chunks"
    documents = [
        Document(f"{number:07}", text, passages=(Passage(f"{number:07}", 0, len(text)),))
        for number, text in enumerate(passages)
    ]
    with ExitStack() as stack:
        contenders = []
        for config in configs:
            workshop.progress.say(f"{size}: indexing {config.name} …")
            retriever = stack.enter_context(config.build(workshop))
            contenders.append(make_pipeline(config.name, retriever, documents))
        workshop.progress.say(f"{size}: indexing in the libraries called directly …")
        analyzer = KeywordLegSettings().analyzer.build()
        terms = [analyzer.analyze(text) for text in passages]
        terms_of = {query: analyzer.analyze(query) for query in queries}
        contenders += [make_bm25s(terms, terms_of), make_rank_bm25(terms, terms_of)]
        samples = _interleave(contenders, queries, size, workshop.progress)
    workshop.progress.say(f"{size}: intervals …")
    rows = [make_row(one, samples[one.name], len(passages)) for one in contenders]
    return Size(len(passages), tuple(rows))


def _interleave(
    contenders: Sequence[Contender], queries: Sequence[str], size: str, progress: Progress
) -> dict[str, Samples]:
    """Return milliseconds a query of each contender, by name.

    The order of the contenders is drawn anew for each query: none always follows the same one.
    """
    draw = random.Random(texts.SEED)
    for query in queries[:WARM_UP]:
        for contender in contenders:
            contender.search(query)
    samples = {contender.name: Samples([], []) for contender in contenders}
    with _frozen():
        for query in progress.track(queries, f"{size}: timing", len(queries)):
            for contender in draw.sample(contenders, len(contenders)):
                begin = time.perf_counter()
                answer = contender.search(query)
                total = (time.perf_counter() - begin) * 1000
                samples[contender.name].add(total, embedding_milliseconds(answer))
    return samples


@contextmanager
def _frozen() -> Iterator[None]:
    """Keep the garbage collector off the indexes.

    Otherwise one contender would be charged with a walk through the objects of all the others.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
