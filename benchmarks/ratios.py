"""How much longer our legs and adapters take than the libraries that could be called directly.

`python -m benchmarks.ratios` asks all of them each query by turns, in one process on one core: the
legs of `bm25` and `semantic` beside bm25s and FAISS' flat index, the adapter of qdrant-edge
beside its client. Each goes from a query's words or vector to 100 hits with their
scores: whoever calls a client has its request to make, too. Reranking ten hits stands beside ONNX
Runtime with the model's file, one pair at a time, as a padded batch takes longer. What embeds
queries is left out on both sides; bm25s, which has no analyzer, is given the terms. It ends with 1
where a ratio of medians lies above its stated one with its whole interval. With `--control` each of
ours stands beside itself: how far such a ratio lies from 1 is what the others may be wrong by.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from assay.eval import no_telemetry
from assay.retrievers.base import Progress

# Light imports only: the process must be on its core before any library counts the cores.
from benchmarks.latency import ending_in_one_line, frozen, pin, positive

if TYPE_CHECKING:
    from assay.eval.statistics.estimates import Estimate
    from assay.retrievers.corpus.corpus import Corpus
    from assay.retrievers.legs.dense import DenseLegSettings
    from assay.retrievers.models.base import Vectors
    from assay.retrievers.settings import Resources

DEPTH = 100
RERANKED = 10
QUERIES_RERANKED = 60  # fewer, as each takes a while
ROUNDS = 3
WARM_UP = 10  # queries that all answer before, untimed
SEED = 20_240_517
STATED = {"leg bm25": 1.0, "leg dense": 1.5, "qdrant-edge": 1.2, "rerank": 1.0}

Ask = Callable[[str], float]  # asks a query and returns its milliseconds


@dataclass(frozen=True, slots=True)
class Pair:
    """One of ours, and the library that could be called in its place."""

    name: str
    library: str
    ours: Ask
    direct: Ask
    stated: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """Median milliseconds of ours and of the library, and their ratio with its 95 % interval."""

    name: str
    library: str
    ours: float
    direct: float
    ratio: "Estimate"
    stated: float

    @property
    def verdict(self) -> str:
        """Whether the whole interval lies within what is stated, or beyond."""
        if self.ratio.high <= self.stated:
            return "within"
        return "over" if self.ratio.low > self.stated else "cannot tell"


def measure(chunks: int, queries: int, control: bool, progress: Progress) -> list[Ratio]:
    """Return all ratios; with `control` to itself.

    Raises AssayError where a library, an input or memory is missing.
    """
    from assay.eval.studies.ingestion.running import forgetful
    from assay.eval.studies.targets import synthetic_corpus as growth
    from assay.retrievers.corpus.corpus import Corpus
    from assay.retrievers.documents.preparation import DocumentSettings, prepare
    from assay.retrievers.legs.dense import DenseLegSettings
    from assay.retrievers.settings import Resources
    from assay.retrievers.store.cache import Cache, default_root
    from benchmarks import texts
    from benchmarks.memory import check_memory

    check_memory(chunks)
    dense = DenseLegSettings(type="dense")
    with ExitStack() as stack:
        lasting = Resources(Cache(default_root()), progress, threads=1)
        resources = stack.enter_context(forgetful(lasting))
        sources, _ = texts.read_sources(resources)
        asked = texts.sample_queries(sources, queries)
        passages = growth.compose(sources, chunks)
        growth.embed([dense.encoder], passages, resources)
        documents = growth.make_documents(passages)
        corpus = Corpus(prepare(documents, DocumentSettings(), resources).chunks, documents)
        encoder = dense.encoder.build(resources)
        encoded = {query: encoder.encode_query(query) for query in asked}
        pairs = [
            pair_keyword(corpus, resources),
            pair_dense(dense, corpus, encoded, resources),
            *pair_engine(corpus, encoded, resources, stack),
        ]
        reranker = [pair_reranker(corpus, resources)]
        if control:
            pairs, reranker = (
                [replace(pair, library="itself", direct=pair.ours) for pair in group]
                for group in (pairs, reranker)
            )
        return [
            *compare(pairs, asked, progress),
            *compare(reranker, asked[:QUERIES_RERANKED], progress),
        ]


def compare(pairs: Sequence[Pair], queries: Sequence[str], progress: Progress) -> list[Ratio]:
    """Return the ratios of pairs that take turns."""
    asks = [ask for pair in pairs for ask in (pair.ours, pair.direct)]
    taken = iter(time_apart(asks, queries, progress))
    return [find_ratio(pair, next(taken), next(taken)) for pair in pairs]


def time_apart(
    asks: Sequence[Ask], queries: Sequence[str], progress: Progress
) -> list[list[float]]:
    """Return the milliseconds of each, paired by query: the median of the rounds.

    All take turns, in an order drawn anew each time, and each is at a query of its own: who was
    asked the same just after another would find the processor's caches warm.
    """
    draw = random.Random(SEED)
    taken: list[list[list[float]]] = [[[] for _ in queries] for _ in asks]
    for query in queries[:WARM_UP]:
        for ask in asks:
            ask(query)
    with frozen():
        for number in range(ROUNDS):
            for i in progress.track(range(len(queries)), f"round {number + 1}", len(queries)):
                for who in draw.sample(range(len(asks)), len(asks)):
                    mine = (i + who * len(queries) // len(asks)) % len(queries)
                    taken[who][mine].append(asks[who](queries[mine]))
    return [[median(times) for times in each] for each in taken]


def find_ratio(pair: Pair, ours: Sequence[float], direct: Sequence[float]) -> Ratio:
    """Return what the milliseconds of a pair, paired by query, come to."""
    from assay.eval.statistics.estimates import estimate_percentile_ratio

    ratio = estimate_percentile_ratio(direct, ours, 50)
    return Ratio(pair.name, pair.library, median(ours), median(direct), ratio, pair.stated)


def pair_keyword(corpus: "Corpus", resources: "Resources") -> Pair:
    """Return the keyword leg of `bm25`, and bm25s with its formula and terms."""
    import bm25s

    from assay.retrievers.legs.keyword import KeywordLegSettings

    settings = KeywordLegSettings()
    leg = settings.build(resources)
    leg.index(corpus)
    analyzer = settings.analyzer.build()
    library = bm25s.BM25(method="lucene", k1=settings.k1, b=settings.b)
    library.index([analyzer.analyze(text) for text in corpus.texts], show_progress=False)

    def ask(query: str) -> float:
        terms = [analyzer.analyze(query)]
        return clock(lambda: library.retrieve(terms, k=DEPTH, show_progress=False))

    def ours(query: str) -> float:
        return clock(lambda: leg.search(query, DEPTH))

    return Pair("leg bm25", "bm25s", ours, ask, STATED["leg bm25"])


def pair_dense(
    settings: "DenseLegSettings",
    corpus: "Corpus",
    encoded: Mapping[str, "Vectors"],
    resources: "Resources",
) -> Pair:
    """Return the exact dense leg without its embedding, and FAISS' flat index."""
    import faiss

    leg = settings.build(resources)
    leg.index(corpus)
    faiss.omp_set_num_threads(1)
    vectors = corpus.encode(settings.encoder.build(resources)).vectors
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)

    def ask(query: str) -> float:
        vector = encoded[query][None]
        return clock(lambda: index.search(vector, DEPTH))

    def ours(query: str) -> float:
        return leg.search(query, DEPTH).milliseconds["search"]

    return Pair("leg dense", "faiss flat", ours, ask, STATED["leg dense"])


def pair_engine(
    corpus: "Corpus",
    encoded: Mapping[str, "Vectors"],
    resources: "Resources",
    stack: ExitStack,
) -> Iterator[Pair]:
    """Yield the lists of qdrant-edge, asked of its adapter and of the shard itself, which can be
    open only once; `stack` closes it.
    """
    import qdrant_edge as q

    from assay.retrievers.engines.stores.qdrant_edge import QdrantEdgeSettings, make_embedder
    from assay.retrievers.models.encoders import EncoderSettings

    encoder, settings = EncoderSettings().build(resources), QdrantEdgeSettings()
    engine = stack.enter_context(closing(settings.build(resources)))
    engine.index(corpus.texts, corpus.encode(encoder).vectors, encoder.identity)
    assert engine._opened is not None
    shard, embedder = engine._opened.shard, make_embedder(settings.bm25)

    def ready_dense(vector: "Vectors") -> q.QueryRequest:
        near = q.Query.Nearest(vector.tolist(), using="dense")
        return q.QueryRequest(limit=DEPTH, query=near, params=q.SearchParams(exact=True))

    def ready_keyword(text: str) -> q.QueryRequest:
        near = q.Query.Nearest(embedder.embed_query(text), using="keyword")
        return q.QueryRequest(limit=DEPTH, query=near)

    lists: list[tuple[str, Any, Callable[[Any], q.QueryRequest], Callable[[str], Any]]] = [
        ("dense", engine.dense, ready_dense, lambda query: encoded[query]),
        ("keyword", engine.keyword, ready_keyword, lambda query: query),
    ]
    for kind, adapter, ready, choose in lists:
        yield Pair(
            f"qdrant-edge, {kind}",
            "qdrant-edge's client",
            partial(_ask_adapter, adapter, choose),
            partial(_ask_shard, shard, ready, choose),
            STATED["qdrant-edge"],
        )


def pair_reranker(corpus: "Corpus", resources: "Resources") -> Pair:
    """Return the stage `rerank`, and the model as its file has it, on the same pairs."""
    import numpy as np
    import onnxruntime
    from tokenizers import Tokenizer

    from assay.retrievers.base import Hit
    from assay.retrievers.legs.keyword import KeywordLegSettings
    from assay.retrievers.stages.rerank import RerankSettings

    settings = RerankSettings(type="rerank", depth=RERANKED)
    stage = settings.build(resources).without_query_cache()
    leg = KeywordLegSettings().build(resources)
    leg.index(corpus)
    places = settings.model.locate("cross-encoder", resources).location()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(places["model"]), options)
    inputs = [item.name for item in session.get_inputs()]
    tokenizer = Tokenizer.from_file(str(places["tokenizer"]))
    tokenizer.enable_truncation(settings.model.max_tokens)
    tokenizer.no_padding()
    names = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}

    def find(query: str) -> list[Hit]:
        found = leg.search(query, RERANKED).candidates
        return [Hit(corpus.chunks[position], score) for position, score in found]

    def ours(query: str) -> float:
        hits = find(query)
        return clock(lambda: stage.apply(query, hits))

    def score(query: str, texts: Sequence[str]) -> None:
        for text in texts:
            read = tokenizer.encode(query, text)
            session.run(None, {name: np.array([getattr(read, names[name])]) for name in inputs})

    def ask(query: str) -> float:
        texts = [hit.chunk.text for hit in find(query)]
        return clock(lambda: score(query, texts))

    return Pair(f"rerank, {RERANKED} hits", "onnxruntime", ours, ask, STATED["rerank"])


def clock(call: Callable[[], object]) -> float:
    """Return the milliseconds of a call."""
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1e3


def _ask_adapter(adapter: Any, choose: Callable[[str], Any], query: str) -> float:
    return clock(lambda: adapter(choose(query), DEPTH))


def _ask_shard(
    shard: Any, ready: Callable[[Any], Any], choose: Callable[[str], Any], query: str
) -> float:
    return clock(lambda: [(point.id, point.score) for point in shard.query(ready(choose(query)))])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row a pair; end the process with 1 where one is over, 2 where it cannot be run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ratios", description=__doc__)
    parser.add_argument("--chunks", type=positive, default=10_000)
    parser.add_argument("--queries", type=positive, default=200)
    parser.add_argument("--control", action="store_true", help="ask each of ours beside itself")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    options = parser.parse_args(arguments)
    no_telemetry.disable()
    pin()
    from assay.eval.progress import ConsoleProgress

    with ending_in_one_line():
        ratios = measure(options.chunks, options.queries, options.control, ConsoleProgress())
    if options.json:
        rows = [{**asdict(item), "verdict": item.verdict} for item in ratios]
        print(json.dumps({"chunks": options.chunks, "ratios": rows}, indent=1))
    else:
        print(f"{'ours':<22} {'directly':<22} ms      directly  ratio (95 %)          stated")
        for item in ratios:
            interval = f"({item.ratio.low:.2f} – {item.ratio.high:.2f})"
            print(
                f"{item.name:<22} {item.library:<22} {item.ours:<7.3f} {item.direct:<9.3f} "
                f"{item.ratio.value:.2f} {interval:<15}  {item.stated:.1f}: {item.verdict}"
            )
    sys.exit(any(item.verdict == "over" for item in ratios))


if __name__ == "__main__":
    main()
