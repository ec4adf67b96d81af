import numpy as np
import pytest
from samples.real_texts import real_texts
from tools.extras import skip_without

from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance.sample import encode
from assay.retrievers.engines.stores.faiss import FaissSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

skip_without("faiss", "faiss")

TEXTS = real_texts()
VECTORS = np.stack([encode(text) for text in TEXTS])
PQ = {"type": "ivf-pq", "bits": 5, "partitions": 8}


def index(folder, **settings):
    chosen = FaissSettings.model_validate({"type": "faiss", "index": settings})
    engine = chosen.build(Resources(Cache(folder)))
    engine.index(TEXTS, VECTORS, "hashing")
    return engine


def find_recall(folder, **settings):
    return index(folder, **settings).metadata()["recall_against_exact"]


def test_each_setting_moves_recall(tmp_path):
    few = {"type": "hnsw", "m": 4, "ef_construction": 8}
    poor = find_recall(tmp_path, **few, ef=1)
    assert 0 < poor < find_recall(tmp_path, **few, ef=350) <= 1
    narrow = find_recall(tmp_path, **PQ, nprobe=1)
    wide = find_recall(tmp_path, **PQ, nprobe=8)
    assert 0 < narrow < wide < find_recall(tmp_path, **PQ, nprobe=8, refine_factor=4) == 1


def test_training_follows_the_seed(tmp_path):
    def build(folder, seed):
        return index(tmp_path / folder, **PQ, seed=seed).dense(VECTORS[7], 50)

    assert build("one", 1) == build("again", 1)
    assert build("one", 1) != build("other", 2)


def test_a_graph_is_asked_for_as_many_candidates_as_texts(tmp_path):
    assert len(index(tmp_path, type="hnsw", ef=1).dense(VECTORS[0], 200)) == 200


def test_a_graph_of_8_bit_numbers_estimates_the_cosine(tmp_path):
    errors, sizes = [], []
    for kind, statement in (("hnsw", "the cosine"), ("hnsw-sq", "an estimate")):
        engine = index(tmp_path / kind, type=kind)
        found = engine.dense(VECTORS[3], 20)
        errors.append(max(abs(score - float(VECTORS[i] @ VECTORS[3])) for i, score in found))
        sizes.append(sum(file.stat().st_size for file in tmp_path.rglob(f"{kind}/**/store.faiss")))
        assert engine.formula.statement.startswith(statement)
    assert errors[0] < 1e-6 < errors[1] < 0.02
    assert sizes[0] - sizes[1] > VECTORS.nbytes / 2


def test_too_few_texts_to_train_are_searched_flat(tmp_path):
    engine = index(tmp_path, type="ivf-pq")  # 350 texts, 256 codes
    assert engine.formula.statement.startswith("an estimate")
    assert not engine.metadata()["exact"]
    engine.index(TEXTS[:255], VECTORS[:255], "hashing")
    assert engine.metadata()["exact"]
    assert engine.dense(VECTORS[9], 1)[0][1] == pytest.approx(1)


def test_what_cannot_be_is_told_in_one_line(tmp_path):
    with pytest.raises(AssayError, match=r"sub_vectors: 32 dimensions cannot be cut") as told:
        index(tmp_path, **PQ, sub_vectors=5)
    assert "\n" not in str(told.value)


def test_building_leaves_the_threads_of_the_process_as_they_were(tmp_path):
    import faiss

    before = faiss.omp_get_max_threads()
    index(tmp_path, type="hnsw")
    assert faiss.omp_get_max_threads() == before
