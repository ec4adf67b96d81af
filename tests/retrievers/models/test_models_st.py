import os
import subprocess
import sys

import numpy as np
import pytest

from assay.retrievers.base import AssayError
from assay.retrievers.model_files.files import locate
from assay.retrievers.model_files.pins import find_pinned
from assay.retrievers.model_files.wheels import fetch
from assay.retrievers.models.cross_encoders import CrossEncoderSettings
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.models.st import StModel, StRecipe

pytestmark = pytest.mark.st

NAME = "all-MiniLM-L6-v2"
PASSAGES = [
    "Cats are small carnivorous mammals that people keep as pets.",
    "To install the package, run pip in a virtual environment.",
    "Vitamin D helps the body absorb calcium and keeps bones dense. " * 20,
]


@pytest.fixture
def folder(model_workshop):
    pin = find_pinned(NAME, "encoder", "st")
    assert pin is not None
    return fetch(pin, model_workshop).path


def test_the_fp32_and_the_int8_build_agree(model_workshop):
    fp32 = EncoderSettings(model=NAME, backend="st").build(model_workshop)
    int8 = EncoderSettings(model=NAME).build(model_workshop)
    assert fp32.identity != int8.identity
    cosines = (fp32.encode_passages(PASSAGES) * int8.encode_passages(PASSAGES)).sum(axis=1)
    assert cosines.min() > 0.995
    assert fp32.encode_query("bones") @ int8.encode_query("bones") > 0.995
    assert fp32.metadata()["build"] == "fp32, upstream weights"


def test_a_local_folder_and_prefixes(model_workshop, folder):
    own = EncoderSettings(model=str(folder)).build(model_workshop)
    prefixed = EncoderSettings(model=str(folder), query_prefix="query: ", passage_prefix="p: ")
    encoder = prefixed.build(model_workshop)
    assert encoder.metadata()["backend"] == "st"
    assert encoder.identity != own.identity
    assert np.array_equal(encoder.encode_query("bones"), own.encode_query("query: bones"))
    assert np.array_equal(encoder.encode_passages(["b"]), own.encode_passages(["p: b"]))


def test_reads_no_more_than_max_tokens(model_workshop):
    encoder = EncoderSettings(model=NAME, backend="st", max_tokens=10).build(model_workshop)
    words = "one two three four five six seven eight"
    vectors = encoder.encode_passages([words, f"{words} nine", "something else"])
    assert np.array_equal(vectors[0], vectors[1])
    assert not np.array_equal(vectors[0], vectors[2])


def test_pooling_is_the_models_own(model_workshop):
    with pytest.raises(AssayError, match="pooling: cls; sentence-transformers pools"):
        EncoderSettings(model=NAME, backend="st", pooling="cls").build(model_workshop)


def test_a_folder_without_a_model_is_one_line(tmp_path, model_workshop):
    (tmp_path / "empty").mkdir()
    encoder = EncoderSettings(model=str(tmp_path / "empty")).build(model_workshop)
    with pytest.raises(AssayError, match="sentence-transformers cannot load it") as caught:
        encoder.encode_query("x")
    assert "\n" not in str(caught.value)


def test_scores_with_any_cross_encoder(tmp_path, model_workshop):
    from sentence_transformers import CrossEncoder
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    pin = find_pinned(NAME, "encoder", "st")
    assert pin is not None
    tokenizer = AutoTokenizer.from_pretrained(str(fetch(pin, model_workshop).path))
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(**small, intermediate_size=16, num_labels=1)
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = CrossEncoderSettings(model=str(tmp_path), max_tokens=64).build(model_workshop)
    pairs = [("a query", text) for text in PASSAGES]
    wanted = CrossEncoder(str(tmp_path), max_length=64).predict(pairs, batch_size=1)
    assert model.score("a query", PASSAGES) == [float(score) for score in wanted]
    assert model.score("a query", PASSAGES[:1]) == [float(wanted[0])]
    assert model.score("a query", []) == []


ENCODE_FROM_HUB = """
import sys
from pathlib import Path
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache
encoder = EncoderSettings(model="owner/name").build(Resources(Cache(Path(sys.argv[1]))))
print(encoder.encode_passages(["a text"]).shape, encoder.metadata()["digest"])
"""
SHA = "b" * 40


def run_with_hub(code, folder, tmp_path, resources):
    """Run `code` where the hub is not reached and owner/name was downloaded from it; return what it
    prints.
    """
    model = tmp_path / "hub" / "models--owner--name"
    (model / "snapshots").mkdir(parents=True)
    (model / "snapshots" / SHA).symlink_to(folder)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(SHA)
    command = [sys.executable, "-c", code, str(resources.cache.root)]
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_hub_model_that_is_here_needs_no_hub(tmp_path, folder, model_workshop):
    told = run_with_hub(ENCODE_FROM_HUB, folder, tmp_path, model_workshop)
    assert told == [f"(1, 384) {SHA}"]


@pytest.fixture
def long_reader(folder, tmp_path):
    """A small ModernBERT of random weights that reads 8,192 tokens, as its large brothers do."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import AutoTokenizer, ModernBertConfig, ModernBertModel, set_seed

    set_seed(1)
    tokenizer = AutoTokenizer.from_pretrained(str(folder), model_max_length=8192)
    small = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = ModernBertConfig(
        **small, intermediate_size=16, vocab_size=len(tokenizer), reference_compile=False,
        pad_token_id=0, cls_token_id=101, sep_token_id=102, bos_token_id=101, eos_token_id=102,
    )  # fmt: skip
    bare, whole = tmp_path / "bare", tmp_path / "long"
    ModernBertModel(config).save_pretrained(bare)
    tokenizer.save_pretrained(bare)
    parts = [Transformer(str(bare)), Pooling(16, pooling_mode="mean")]
    SentenceTransformer(modules=parts, device="cpu").save_pretrained(str(whole))
    return whole


READ_LONG = """
import sys
from pathlib import Path
from assay.retrievers.base import Document, Quiet
from assay.retrievers.documents.preparation import DocumentSettings
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.pipeline.ingestion import ingest
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

long = "quay berth mooring " * 1000
documents = [Document("quay.md", long + "ferry"), Document("dogs.md", long + "dogs")]
resources = Resources(Cache(Path(sys.argv[1])), progress=Quiet())
for encoder in ({"model": "owner/name"}, {"model": "owner/name", "max_tokens": 512}):
    leg = {"type": "dense", "encoder": encoder}
    config = PipelineConfig(
        name="long", documents={"chunker": {"type": "document"}}, retriever={"legs": {"dense": leg}}
    )
    made = ingest(documents, config, resources)
    with config.build(resources) as retriever:
        retriever.index(documents)
        first, second = retriever.search("ferry", 2).hits
    print(made.window, sum(item.unread for item in made.documents), first.score == second.score)
"""


def test_an_encoder_of_the_hub_reads_8192_tokens(tmp_path, long_reader, model_workshop):
    told = run_with_hub(READ_LONG, long_reader, tmp_path, model_workshop)
    assert told == ["8192 0 False", "512 2 True"]


@pytest.mark.parametrize(("dtype", "least"), [("float16", 0.9995), ("bfloat16", 0.99)])
def test_half_the_bits_give_nearly_the_same_vectors(dtype, least, model_workshop):
    whole = EncoderSettings(model=NAME, backend="st").build(model_workshop)
    values = {"model": NAME, "backend": "st", "dtype": dtype}
    half = EncoderSettings.model_validate(values).build(model_workshop)
    assert half.identity != whole.identity
    assert half.metadata()["dtype"] == dtype
    vectors = half.encode_passages(PASSAGES)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)
    assert least < (vectors * whole.encode_passages(PASSAGES)).sum(axis=1).min() < 1 - 1e-9


class Gpu:
    """A model on a GPU whose memory holds two texts, or none."""

    def __init__(self, holds):
        import torch

        self.device = torch.device("cuda")
        self.holds = holds
        self.batches = []

    def predict(self, inputs, *, batch_size, **_):
        import torch

        self.batches.append(batch_size)
        if batch_size > self.holds:
            raise torch.OutOfMemoryError
        return [0.5] * len(inputs)


def make_gpu(holds, resources):
    files = locate(NAME, "st", "encoder", resources)
    model, gpu = StModel("CrossEncoder", files, StRecipe(), resources), Gpu(holds)
    model._loaded, model._batch = gpu, 8
    return model, gpu


def test_batches_get_smaller_until_the_gpu_holds_them(model_workshop):
    model, gpu = make_gpu(2, model_workshop)
    assert [len(model.run("predict", [("a", "b")] * 5)) for _ in range(2)] == [5, 5]
    assert gpu.batches == [8, 4, 2, 2]


def test_a_text_that_no_gpu_holds_is_one_line(model_workshop):
    model, _ = make_gpu(0, model_workshop)
    with pytest.raises(AssayError, match="memory does not hold a single text; allowed: a smaller"):
        model.run("predict", [("a", "b")])
