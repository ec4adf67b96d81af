"""The engines that keep a folder of their own in the cache, as their tests make them."""

from pathlib import Path
from typing import Any

import numpy as np
from samples.real_texts import real_texts
from tools.part_settings import read_settings

from assay.retrievers.base import IndexReport
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.conformance.sample import encode
from assay.retrievers.engines.registry import EngineSettings
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

QUERIES = ["add an argument to the parser", "print usage", "Namespace", "optional prefix chars"]
TEXTS = real_texts()


def make(kind: str, folder: Path, **settings: Any) -> Engine:
    chosen = read_settings(EngineSettings, {"type": kind, **settings})
    return chosen.build(Resources(Cache(folder)))


def embed(texts: list[str]) -> Vectors:
    return np.stack([encode(text) for text in texts])


def index(engine: Engine, texts: list[str]) -> IndexReport:
    return engine.index(texts, embed(texts), "hashing")


VECTORS = embed(TEXTS)
