"""How long the points of a space will take, by what the config as given took on its collection."""

import time
from collections.abc import Sequence

from assay.eval.collections.collection import Collection, Query
from assay.eval.configs.config import RunConfig
from assay.eval.report.formats import count
from assay.eval.running.point_order import name_shared
from assay.eval.runs.execution.unstored import score_queries
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.preparation import prepare
from assay.retrievers.models.caching import CachingEncoder
from assay.retrievers.models.choice import EncoderChoice
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.pipeline.variants import Variants, name_leg
from assay.retrievers.settings import Resources


def forecast_time(
    configs: Sequence[RunConfig],
    collection: Collection,
    queries: Sequence[Query],
    measure: str,
    resources: Resources,
    what: str = "point",
) -> str:
    """Return in words how many points there are after the first config, and about how long they
    and their embeddings take; `what` names one.

    The first is searched, twice: what its legs found is remembered, so that the second time is that
    of a point that shares them. What later points find in the cache is not taken off. Documents are
    cut as every config asks; nothing else is embedded. Embeddings of a service, and those whose
    pace is not known, have no time.
    """
    given, *points = configs
    alone, sharing = _time(given, collection, queries, measure, resources)
    kinds: dict[tuple[str, str], list[RunConfig]] = {}
    for config in configs:
        kinds.setdefault(name_shared(config), []).append(config)
    legs = {(*name_shared(config), *_name_legs(config)) for config in points}
    seconds = len(legs) * alone + (len(points) - len(legs)) * sharing
    wanted: dict[str, set[str]] = {}
    paces: dict[str, float | None] = {}
    for sharing_chunks in kinds.values():
        documents = sharing_chunks[0].documents
        texts = Corpus(prepare(collection.documents, documents, resources).chunks).texts
        for name, encoder in _find_encoders(sharing_chunks, resources).items():
            if name not in paces:
                known = None if encoder.charged else encoder.recall_seconds(texts)
                paces[name] = known and known / len(texts)
            wanted.setdefault(name, set()).update(encoder.find_missing(texts))
    missing = sum(map(len, wanted.values()))
    embedding = sum(len(texts) * (paces[name] or 0.0) for name, texts in wanted.items())
    told = f"{count(len(points), what)} on {count(len(kinds), 'kind')} of chunks: about "
    if any(texts and paces[name] is None for name, texts in wanted.items()):
        return f"{told}{_round(seconds)} s, and {missing:,} chunks to embed, of unknown pace"
    embeds = f", {_round(embedding)} of them to embed {missing:,} chunks" if missing else ""
    return f"{told}{_round(seconds + embedding)} s{embeds}"


def _time(
    config: RunConfig,
    collection: Collection,
    queries: Sequence[Query],
    measure: str,
    resources: Resources,
) -> tuple[float, float]:
    """Return the seconds of the first and second time that a config is searched."""
    seconds = []
    # Without a digest of the code no list is read from the cache, which would take no time.
    with Variants(resources, [config]) as variants, variants.build(config) as retriever:
        retriever.index(collection.documents)
        for _ in range(2):
            begin = time.perf_counter()
            score_queries(retriever, collection, queries, measure, config.depth, {})
            seconds.append(time.perf_counter() - begin)
    return seconds[0], seconds[1]


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
