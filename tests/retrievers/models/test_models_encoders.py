import os
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from assay.retrievers.base import AssayError
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.settings import Resources

PASSAGES = [
    "Cats are small carnivorous mammals that people keep as pets.",
    "The interest rate of the central bank rose by half a point in March.",
    "To install the package, run pip in a virtual environment.",
    "Vitamin D helps the body absorb calcium and keeps bones dense. " * 20,
    "",
]
ENCODE = """
import sys
from pathlib import Path
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache
texts = [f"number {n} of a few" for n in range(int(sys.argv[2]))]
encoded = EncoderSettings().build(Resources(Cache(Path(sys.argv[1])))).encode(texts)
print(encoded.fresh, len(encoded.vectors))
"""


def encode_elsewhere(root, texts):
    command = [sys.executable, "-c", ENCODE, str(root), str(texts)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def stored(root):
    path = root / "embeddings.sqlite"
    if not path.exists():
        return 0
    with sqlite3.connect(path, timeout=60) as database:
        try:
            return int(database.execute("SELECT count(*) FROM checked").fetchone()[0])
        except sqlite3.OperationalError:  # the table is not there yet
            return 0


@pytest.mark.parametrize("name", ["bge-small-en-v1.5", "all-MiniLM-L6-v2"])
def test_a_query_is_nearest_to_its_passage(name, model_workshop):
    encoder = EncoderSettings(model=name).build(model_workshop)
    vectors = encoder.encode_passages(PASSAGES)
    assert vectors.shape == (len(PASSAGES), 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for query, wanted in (
        ("which pets eat meat", 0),
        ("monetary policy", 1),
        ("how do I set it up", 2),
        ("bone density", 3),
    ):
        vector = encoder.encode_query(query)
        assert vector.shape == (384,)
        assert int(np.argmax(vectors @ vector)) == wanted


def test_the_query_prefix_changes_queries_only(model_workshop):
    own = EncoderSettings().build(model_workshop)
    none = EncoderSettings(query_prefix="").build(model_workshop)
    assert own.identity == none.identity
    assert not np.array_equal(own.encode_query("bones"), none.encode_query("bones"))
    assert np.array_equal(none.encode_query("bones"), none.encode_passages(["bones"])[0])
    assert own.metadata()["query_prefix"].startswith("Represent this sentence")


@pytest.mark.parametrize(
    "change", [{"passage_prefix": "passage: "}, {"max_tokens": 16}, {"pooling": "mean"}]
)
def test_what_changes_a_passages_vector_changes_the_identity(change, model_workshop):
    own = EncoderSettings().build(model_workshop)
    other = EncoderSettings.model_validate(change).build(model_workshop)
    assert own.identity != other.identity
    long = PASSAGES[3:4]
    assert not np.array_equal(own.encode_passages(long), other.encode_passages(long))


def test_reads_no_more_than_max_tokens(model_workshop):
    encoder = EncoderSettings(max_tokens=10).build(model_workshop)
    words = "one two three four five six seven eight"  # with [CLS] and [SEP] exactly ten
    vectors = encoder.encode_passages([words, f"{words} nine", words.replace("eight", "nine")])
    assert np.array_equal(vectors[0], vectors[1])
    assert not np.array_equal(vectors[0], vectors[2])


def test_equal_texts_are_encoded_once_and_rows_keep_their_order(model_workshop):
    encoder = EncoderSettings().build(model_workshop)
    first = encoder.encode(["b", "a", "b", "a"])
    assert first.fresh == 2
    assert np.array_equal(first.vectors[0], first.vectors[2])
    again = encoder.encode(["a", "c", "b"])
    assert again.fresh == 1
    assert np.array_equal(again.vectors[[0, 2]], first.vectors[[1, 0]])
    assert encoder.encode(["c", "a"]).fresh == 0


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(texts=st.lists(st.sampled_from(["x", "y", "z", "x y", "ü", "🙂", "\n", ""]), max_size=8))
def test_the_cache_changes_no_vector(model_workshop, texts):
    encoder = EncoderSettings().build(model_workshop)
    vectors = encoder.encode_passages(texts)
    assert len(vectors) == len(texts)
    for text, row in zip(texts, vectors, strict=True):
        assert np.array_equal(encoder.encode_passages([text])[0], row)
    alone = EncoderSettings().open(Resources(model_workshop.cache, threads=1))
    for text, row in zip(texts, vectors, strict=True):
        assert np.array_equal(alone.encode_passages([text])[0], row)


@pytest.mark.slow
def test_a_killed_process_loses_little_and_two_at_once_agree(model_workshop):
    root, texts = model_workshop.cache.root, 1200
    killed = encode_elsewhere(root, texts)
    while not stored(root) and killed.poll() is None:
        time.sleep(0.005)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    kept = stored(root)
    assert 64 <= kept < texts
    both = [encode_elsewhere(root, texts) for _ in range(2)]
    outputs = [process.communicate()[0].split() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert all(int(fresh) <= texts - kept and int(rows) == texts for fresh, rows in outputs)
    assert stored(root) == texts


def test_importing_and_a_full_cache_load_no_runtime(model_workshop):
    EncoderSettings().build(model_workshop).encode_passages(["number 0 of a few"])
    heavy = "{'onnxruntime', 'tokenizers', 'sentence_transformers', 'torch', 'huggingface_hub'}"
    check = f"{ENCODE}\nassert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)"
    arguments = [str(model_workshop.cache.root), "1"]
    done = subprocess.run(
        [sys.executable, "-c", check, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "1"]


def test_a_name_alone_stands_for_the_settings():
    adapter = TypeAdapter(EncoderSettings)
    assert adapter.validate_python("all-MiniLM-L6-v2") == EncoderSettings(model="all-MiniLM-L6-v2")
    kinds = {part.get("type") for part in adapter.json_schema()["anyOf"]}
    assert kinds == {"string", "object"}
    with pytest.raises(ValidationError, match="modell"):
        adapter.validate_python({"modell": "all-MiniLM-L6-v2"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "nix"}, "model nix: unknown; allowed: bge-small-en-v1.5, all-MiniLM-L6-v2, an"),
        ({"model": "./no/such/folder"}, "model ./no/such/folder: unknown; allowed: bge-small"),
        ({"model": "owner/name", "backend": "onnx"}, "model owner/name: the backend onnx takes"),
        ({"max_tokens": 513}, "max_tokens: 513; the model bge-small-en-v1.5 reads at most 512"),
        ({"dtype": "float16"}, "dtype: float16; ONNX Runtime computes bge-small-en-v1.5 as its"),
        ({"model": "ms-marco-MiniLM-L-12-v2"}, "model ms-marco-MiniLM-L-12-v2: unknown"),
    ],
)
def test_refuses_what_cannot_work(given, message, model_workshop):
    with pytest.raises(AssayError) as caught:
        EncoderSettings.model_validate(given).build(model_workshop)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
