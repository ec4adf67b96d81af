"""A bench of a few hostile texts, on which an engine is looked at for real."""

from contextlib import closing

import numpy as np
from samples.report import QUERIES, make_collection

from assay.eval.configs.engine_settings import read_engine
from assay.eval.studies.stores.engines.engine_bench import Bench
from assay.eval.studies.stores.parity.running import examine
from assay.retrievers.base import Chunk, Quiet
from assay.retrievers.engines.conformance.sample import encode
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache


def make_bench():
    """Return the sample collection, cut into its paragraphs, with vectors of no model."""
    collection = make_collection()
    chunks = []
    for document in collection.documents:
        end = 0
        for part in document.text.split("\n\n"):
            start = document.text.index(part, end)
            end = start + len(part)
            chunks.append(Chunk(f"{document.id}#{start}", document.id, start, end, part))
    chunks.sort(key=lambda chunk: chunk.id, reverse=True)
    texts = tuple(chunk.text for chunk in chunks)
    return Bench(
        collection=collection,
        chunks=tuple(chunks),
        texts=texts,
        vectors=np.stack([encode(text) for text in texts]),
        encoder="hashing",
        identity="hashing",
        queries=collection.queries,
        encoded={id_: encode(text) for id_, (text, *_) in QUERIES.items()},
    )


def look(folder, *overrides, wrap=lambda engine: engine):
    """Return the parity of qdrant-edge, or of what `wrap` makes of it, on that bench."""
    configured = read_engine("qdrant-edge", overrides)
    engine = wrap(configured.build(Resources(Cache(folder))))
    with closing(engine):
        return examine(make_bench(), configured, engine, Quiet())
