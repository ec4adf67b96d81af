"""A forecast of the time for the points of a space, from a few queries with the given config."""

import time
from collections.abc import Sequence

from assay.eval.collections.collection import Collection, Query
from assay.eval.configs.config import RunConfig
from assay.eval.report.formats import count
from assay.eval.running.point_order import name_shared
from assay.eval.runs.execution.searching import index, sample, search_plain
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.preparation import prepare
from assay.retrievers.models.caching import CachingEncoder
from assay.retrievers.models.choice import EncoderChoice
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.pipeline.variants import Variants, name_leg
from assay.retrievers.settings import Resources

TIMED = 20  # queries


def describe_work(
    points: Sequence[RunConfig],
    collection: Collection,
    resources: Resources,
    given: RunConfig | None = None,
    seconds: float = 0.0,
    what: str = "point",
) -> str:
    """Describe the number of points, and about how long they and their embeddings take.

    `given` is a config that was searched already, `seconds` is the time of the searches, 0 if it is
    not known; `what` names a point. Documents are cut as every config requires; nothing is
    embedded. Embeddings of a service, and those of unknown speed, have no time.
    """
    kinds: dict[tuple[str, str], list[RunConfig]] = {}
    for config in [given, *points] if given else points:
        kinds.setdefault(name_shared(config), []).append(config)
    wanted: dict[str, set[str]] = {}
    paces: dict[str, float | None] = {}
    for sharing in kinds.values():
        documents = sharing[0].documents
        texts = Corpus(prepare(collection.documents, documents, resources).chunks).texts
        for name, encoder in _find_encoders(sharing, resources).items():
            if name not in paces:
                known = None if encoder.charged else encoder.recall_seconds(texts)
                paces[name] = known and known / len(texts)
            wanted.setdefault(name, set()).update(encoder.find_missing(texts))
    missing = sum(map(len, wanted.values()))
    embedding = sum(len(texts) * (paces[name] or 0.0) for name, texts in wanted.items())
    told = f"{count(len(points), what)} on {count(len(kinds), 'kind')} of chunks"
    if any(texts and paces[name] is None for name, texts in wanted.items()):
        searching = f"about {_round(seconds)} s, and " if seconds else ""
        return f"{told}: {searching}{missing:,} chunks to embed, of unknown pace"
    if not missing:
        return f"{told}: about {_round(seconds)} s" if seconds else f"{told}, which are embedded"
    if not seconds:
        return f"{told}: about {_round(embedding)} s to embed {missing:,} chunks"
    embeds = f"{_round(embedding)} of them to embed {missing:,} chunks"
    return f"{told}: about {_round(seconds + embedding)} s, {embeds}"


def time_searches(
    given: RunConfig,
    points: Sequence[RunConfig],
    collection: Collection,
    queries: Sequence[Query],
    resources: Resources,
) -> float:
    """Estimate the seconds that the searches of `points` take, including those stored before.

    The `given` config searches a few of the queries twice: the results of its legs are kept, so the
    second time estimates a point that shares them.
    """
    chosen, seconds = sample(queries, TIMED), []
    # Without a digest of the code no list is read from the cache, so the searches are timed.
    with Variants(resources, [given]) as variants, variants.build(given) as retriever:
        index(retriever, collection)
        for _ in range(2):
            begin = time.perf_counter()
            for query in chosen:
                search_plain(retriever, collection, query, given.depth, {})
            seconds.append((time.perf_counter() - begin) * len(queries) / max(len(chosen), 1))
    legs = {(*name_shared(config), *_name_legs(config)) for config in points}
    return len(legs) * seconds[0] + (len(points) - len(legs)) * seconds[1]


def _name_legs(config: RunConfig) -> list[str]:
    retriever = config.retriever
    legs = retriever.active if isinstance(retriever, PipelineSettings) else {}
    return sorted(map(name_leg, legs.values()))


def _find_encoders(configs: Sequence[RunConfig], resources: Resources) -> dict[str, CachingEncoder]:
    """Return the encoders of all legs, by their identity."""
    encoders = (
        value.build(resources)
        for config in configs
        if isinstance(config.retriever, PipelineSettings)
        for leg in config.retriever.active.values()
        for _, value in leg
        if isinstance(value, EncoderChoice)
    )
    return {encoder.identity: encoder for encoder in encoders}


def _round(seconds: float) -> str:
    return f"{max(seconds, 1.0):,.0f}"
