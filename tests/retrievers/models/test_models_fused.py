"""The fused graph: the model of the file, in other numbers by rounding alone."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.retrievers.base import AssayError
from assay.retrievers.model_files.files import LocalFiles
from assay.retrievers.models import fused_bert
from assay.retrievers.models.cross_encoders import CrossEncoderSettings
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.models.onnx import OnnxModel, WrittenGraph
from assay.retrievers.models.onnx_files import GraphWriter, read_graph
from assay.retrievers.settings import Resources

TEXTS = [
    "Cats are small carnivorous mammals that people keep as pets.",
    "The interest rate of the central bank rose by half a point in March.",
    "x",
    "",
    "Vitamin D helps the body absorb calcium and keeps bones dense. " * 20,
    "Berlin had a population of 3,520,031 registered inhabitants. " * 5,
]


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_vectors_are_those_of_the_files_graph_but_for_rounding(pooling, model_workshop):
    fused = EncoderSettings.model_validate({"pooling": pooling}).build(model_workshop)
    as_given = EncoderSettings.model_validate({"pooling": pooling, "fused": False})
    plain = as_given.build(model_workshop)
    assert fused.metadata()["graph"] == "fused"
    assert plain.metadata()["graph"] == "as given"
    assert fused.identity != plain.identity
    cosines = (fused.encode_passages(TEXTS) * plain.encode_passages(TEXTS)).sum(axis=1)
    assert cosines.min() > 0.98
    assert abs(float(fused.encode_query("x") @ plain.encode_query("x")) - 1) < 0.02


def test_scores_are_those_of_the_files_graph_but_for_rounding(model_workshop):
    fused = CrossEncoderSettings().build(model_workshop)
    plain = CrossEncoderSettings(fused=False).build(model_workshop)
    assert fused.identity != plain.identity
    scores, wanted = (m.score("how many people live in Berlin", TEXTS) for m in (fused, plain))
    assert np.abs(np.subtract(scores, wanted)).max() < 1  # of twenty; int8 rounds by up to a half
    assert np.argmax(scores) == np.argmax(wanted) == 5


def test_a_model_that_cannot_be_fused_runs_as_given(model_workshop):
    identities = [
        EncoderSettings(model="all-MiniLM-L6-v2", fused=fused).build(model_workshop).identity
        for fused in (True, False)
    ]
    assert identities[0] == identities[1]


def test_neither_order_nor_threads_change_a_vector(model_workshop):
    short = TEXTS[:4] + TEXTS[5:]
    encoders = [
        EncoderSettings().open(Resources(model_workshop.cache, threads=threads))
        for threads in (1, 3)
    ]
    alone = np.array([encoders[0].encode_passages([text])[0] for text in short])

    @settings(max_examples=15, deadline=None)
    @given(order=st.permutations(range(len(short))), encoder=st.sampled_from(encoders))
    def check(order, encoder):
        rows = encoder.encode_passages([short[i] for i in order])
        assert np.abs(rows - alone[order]).max() <= 1e-6

    check()


def test_a_written_graph_runs_and_is_read_back(tmp_path):
    import onnxruntime

    writer = GraphWriter()
    rows = writer.constant(np.array([[1.5, -2.0], [0.25, 300.0]], np.float32))
    bytes_of = writer.constant(np.array([-128, 127, 0], np.int8))
    picked = writer.add("Gather", rows, "ids")
    summed = writer.add("ReduceMean", picked, writer.constant(np.array([-1])), keepdims=0)
    path = tmp_path / "model.onnx"
    path.write_bytes(writer.write(["ids"], writer.add("LeakyRelu", summed, alpha=0.5)))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"ids": np.array([[0, 1, 1]])})
    assert found.tolist() == [[-0.125, 150.125, 150.125]]
    graph = read_graph(path)
    assert [node.operator for node in graph.nodes] == ["Gather", "ReduceMean", "LeakyRelu"]
    assert graph.tensors[rows].tolist() == [[1.5, -2.0], [0.25, 300.0]]
    assert graph.tensors[bytes_of].tolist() == [-128, 127, 0]


def test_a_weight_of_another_type_is_refused(tmp_path):
    tensor = b"\x10\x0b\x42\x01w\x4a\x08" + bytes(8)  # one float64, named w
    initialiser = b"\x2a" + bytes([len(tensor)]) + tensor
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x3a" + bytes([len(initialiser)]) + initialiser)
    with pytest.raises(ValueError, match="the weight w is of a type that is not known here: 11"):
        read_graph(path)


FUSED = WrittenGraph("fused", 1, partial(fused_bert.fuse, heads=2, first_only=True))


@pytest.mark.parametrize("graph", [None, FUSED])
@pytest.mark.parametrize("content", [b"", b"\x3a\xff", bytes(100)], ids=["empty", "cut", "zeros"])
def test_a_damaged_file_is_told_in_one_line(content, graph, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    (tmp_path / "tokenizer.json").touch()
    with pytest.raises(AssayError) as caught:
        OnnxModel(LocalFiles("own", tmp_path, path), 8, graph).run("x")
    assert str(caught.value).startswith(f"{path}: cannot be loaded: ")
    assert "\n" not in str(caught.value)
