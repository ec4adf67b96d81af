"""Building and opening a collection of Zvec."""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from assay.retrievers.base import AssayError
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.zvec.settings import ZvecAnalyzerSettings, ZvecCollectionSettings
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    import zvec

DOCUMENTS_PER_INSERT = 1000  # the engine refuses more than 1,024


@cache
def set_up(threads: int) -> None:
    """Set up the engine, which a process does once; what it would log, it also raises."""
    import zvec

    zvec.init(log_level=zvec.LogLevel.FATAL, query_threads=threads, optimize_threads=threads)


def build_collection(
    path: Path,
    positions: Iterable[int],
    texts: Sequence[str],
    vectors: Vectors,
    settings: ZvecCollectionSettings,
    threads: int,
) -> "zvec.Collection":
    """Make a collection at `path` with one document a text, its position as id, and its indexes.

    `positions` are those of all texts, in order. The keyword index is made of all texts at once,
    which takes less than text by text.
    """
    import zvec

    set_up(threads)
    collection = zvec.create_and_open(str(path), _make_schema(vectors.shape[1], settings))
    for chosen in batch(positions, DOCUMENTS_PER_INSERT):
        statuses = collection.insert(
            [
                zvec.Doc(
                    str(i), fields={"text": texts[i], "position": i}, vectors={"dense": vectors[i]}
                )
                for i in chosen
            ]
        )
        if failed := [status.message() for status in statuses if not status.ok()]:
            raise AssayError(f"zvec: the engine did not take a text: {failed[0]}")
    collection.create_index("text", _make_analyzer(settings.analyzer), zvec.IndexOption(threads))
    collection.optimize(zvec.OptimizeOption(threads))
    return collection


def open_collection(path: Path, threads: int) -> "zvec.Collection":
    """Open the collection at `path` as one that nobody changes."""
    import zvec

    set_up(threads)
    return zvec.open(str(path), zvec.CollectionOption(read_only=True))


def _make_schema(dimensions: int, settings: ZvecCollectionSettings) -> "zvec.CollectionSchema":
    import zvec

    metric = getattr(zvec.MetricType, settings.metric.upper())
    index = (
        zvec.FlatIndexParam(metric)
        if settings.exact
        else zvec.HnswIndexParam(metric, settings.m, settings.ef_construction)
    )
    return zvec.CollectionSchema(
        "texts",
        fields=[
            zvec.FieldSchema("text", zvec.DataType.STRING),
            zvec.FieldSchema("position", zvec.DataType.INT64),
        ],
        vectors=zvec.VectorSchema("dense", zvec.DataType.VECTOR_FP32, dimensions, index),
    )


def _make_analyzer(settings: ZvecAnalyzerSettings) -> "zvec.FtsIndexParam":
    import zvec

    filters = ["lowercase"]
    if settings.ascii_folding:
        filters.append("ascii_folding")
    if settings.language is None:
        return zvec.FtsIndexParam(settings.tokenizer, filters)
    language = json.dumps({"stemmer_lang": settings.language})
    return zvec.FtsIndexParam(settings.tokenizer, [*filters, "stemmer"], language)
