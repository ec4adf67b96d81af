"""`python -m benchmarks.dense_index ENGINE FOLDER VECTORS CACHE`: one engine on so many vectors.

Prints as JSON what making its index and asking it took. It is run by `benchmarks.scale`, in a
process of its own.
"""

import json
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from assay.retrievers.engines.base import StoreSettings
from assay.retrievers.engines.registry import EngineSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.digest import Texts
from benchmarks.consumption import MEGABYTE, consume
from benchmarks.synthetic_vectors import draw_vectors

ENGINES: Mapping[str, Mapping[str, Any]] = {
    "faiss-ivf-pq": {"type": "faiss", "index": {"type": "ivf-pq", "nprobe": 32}},
    "faiss-ivf-pq-96": {
        "type": "faiss",
        "index": {"type": "ivf-pq", "nprobe": 32, "sub_vectors": 96},
    },
    "lancedb-ivf-pq": {
        "type": "lancedb",
        "index": {"type": "ivf-pq", "nprobes": 32, "refine_factor": 4},
    },
    "faiss-hnsw-sq": {
        "type": "faiss",
        "index": {"type": "hnsw-sq", "m": 16, "ef_construction": 64, "ef": 200},
    },
    "faiss-hnsw": {"type": "faiss", "index": {"type": "hnsw"}},
    "qdrant-edge-hnsw": {"type": "qdrant-edge", "exact": False},
}
DEPTH = 100
WORDS = 1_000  # distinct texts: an engine that has a keyword index makes one
# Some engines take as many threads as there are cores, whatever they are told.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "LANCE_CPU_THREADS"), "1")


@dataclass(frozen=True, slots=True)
class DenseRow:
    """An engine's index of so many vectors.

    `cpu` are the seconds that making it took, `microseconds` those of each vector; `bytes` on disk,
    `peak`, the most memory at once, and `own`, what of it is no mapped file, are in MB; `p50` and
    `p95` of a query of the 100 nearest in milliseconds; `recall` of these against exact search,
    `hits` the share of queries whose planted neighbour came first.
    """

    engine: str
    vectors: int
    cpu: float
    microseconds: float
    peak: float
    own: float
    bytes: float
    p50: float
    p95: float
    recall: float
    hits: float


def measure_engine(data: Path, name: str, vectors: int, limit: float | None) -> DenseRow:
    """Run one engine in a process of its own. Raises AssayError where it fails."""
    draw_vectors(data, vectors)
    with tempfile.TemporaryDirectory(dir=data) as cache:
        command = [sys.executable, "-m", __spec__.name, name, data, str(vectors), cache]
        used = consume(f"{name}, {vectors:,} vectors", command, ONE_THREAD, limit)
    found = json.loads(used.output)
    each = found["cpu"] / vectors * 1e6
    return DenseRow(name, vectors, microseconds=each, peak=used.peak, own=used.own, **found)


def _measure(name: str, data: Path, vectors: int, cache: Path) -> dict[str, float]:
    """Make the index, find it again, and ask it. What finding it takes is no part of making it:
    opening, and the measurement of recall.
    """
    drawn = draw_vectors(data, vectors)
    texts = Texts(vectors, lambda i: f"text {i % WORDS}")
    settings: StoreSettings = TypeAdapter[Any](EngineSettings).validate_python(ENGINES[name])
    engine = settings.build(Resources(Cache(cache), threads=1))
    _ = texts.digest
    times = [time.process_time()]
    for _ in range(2):
        report = engine.index(texts, drawn.vectors, "drawn")
        times.append(time.process_time())
    taken, hits = [], 0
    for query, answer in zip(drawn.queries, drawn.answers, strict=True):
        begin = time.perf_counter()
        found = engine.dense(query, DEPTH)
        taken.append((time.perf_counter() - begin) * 1e3)
        hits += found[0][0] == answer
    recall = engine.metadata()["recall_against_exact"]
    engine.close()
    p50, p95 = np.percentile(taken, (50, 95))
    return {
        "cpu": times[1] - times[0] - (times[2] - times[1]),
        "bytes": (report.bytes or 0) / MEGABYTE,
        "p50": p50,
        "p95": p95,
        "recall": recall,
        "hits": hits / len(taken),
    }


if __name__ == "__main__":
    engine, folder, size, room = sys.argv[1:]
    print(json.dumps(_measure(engine, Path(folder), int(size), Path(room))))
