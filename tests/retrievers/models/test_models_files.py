import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from assay.retrievers.base import AssayError
from assay.retrievers.model_files import files as files_module
from assay.retrievers.model_files.pins import find_pinned
from assay.retrievers.model_files.recipes import Recipe, read_recipe
from assay.retrievers.model_files.wheels import fetch
from assay.retrievers.models.cross_encoders import CrossEncoderSettings
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.models.late_interaction.token_vectors import TokenEncoderSettings
from assay.retrievers.models.sparse.sparse import SparseEncoderSettings

PREFIX = "Represent this sentence for searching relevant passages: "


def write(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


@pytest.fixture
def onnx_folder(tmp_path, model_workshop):
    """The pinned bge-small as a user might have exported it."""
    pin = find_pinned("bge-small-en-v1.5", "encoder")
    assert pin is not None
    source = fetch(pin, model_workshop).path
    folder = tmp_path / "my-model"
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").symlink_to(source / "model.onnx")
    (folder / "tokenizer.json").symlink_to(source / "tokenizer.json")
    return folder


def test_a_local_onnx_folder_reads_its_own_configuration(onnx_folder, model_workshop):
    write(onnx_folder, "1_Pooling/config.json", {"pooling_mode_cls_token": True})
    write(onnx_folder, "config_sentence_transformers.json", {"prompts": {"query": PREFIX}})
    write(onnx_folder, "sentence_bert_config.json", {"max_seq_length": 512})
    local = EncoderSettings(model=str(onnx_folder)).build(model_workshop)
    pinned = EncoderSettings(fused=False).build(model_workshop)
    texts = ["some text", "another"]
    assert np.array_equal(local.encode_passages(texts), pinned.encode_passages(texts))
    assert np.array_equal(local.encode_query("a"), pinned.encode_query("a"))
    assert local.metadata()["backend"] == "onnx"
    for name in ("1_Pooling/config.json", "config_sentence_transformers.json"):
        (onnx_folder / name).unlink()
    given = EncoderSettings(model=str(onnx_folder), pooling="cls", query_prefix=PREFIX)
    assert np.array_equal(given.build(model_workshop).encode_query("a"), pinned.encode_query("a"))


def test_another_tokenizer_is_another_identity(onnx_folder, model_workshop):
    settings = EncoderSettings(model=str(onnx_folder))
    before = settings.build(model_workshop).identity
    assert settings.build(model_workshop).identity == before
    tokenizer = onnx_folder / "tokenizer.json"
    content = tokenizer.read_text()
    tokenizer.unlink()
    tokenizer.write_text(content + "\n")
    assert settings.build(model_workshop).identity != before


def test_a_broken_onnx_file_is_one_line(tmp_path, model_workshop):
    (tmp_path / "model.onnx").write_bytes(b"nothing of the kind")
    (tmp_path / "tokenizer.json").write_text("{}")
    encoder = EncoderSettings(model=str(tmp_path)).build(model_workshop)
    with pytest.raises(AssayError) as caught:
        encoder.encode_query("x")
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_encoder_is_no_cross_encoder(onnx_folder, model_workshop):
    model = CrossEncoderSettings(model=str(onnx_folder)).build(model_workshop)
    with pytest.raises(AssayError, match="a cross-encoder that ranks gives one"):
        model.score("q", ["a text"])


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": True}, Recipe("mean")),
        ("1_Pooling/config.json", {"pooling_mode": "cls", "include_prompt": True}, Recipe("cls")),
        ("tokenizer_config.json", {"model_max_length": 10**30}, Recipe()),
        ("tokenizer_config.json", {"model_max_length": 128}, Recipe(max_tokens=128, positions=128)),
        ("config.json", {"max_position_embeddings": 1024}, Recipe(max_tokens=1024, positions=1024)),
        ("sentence_bert_config.json", {"max_seq_length": 256}, Recipe(max_tokens=256)),
        (
            "config_sentence_transformers.json",
            {"prompts": {"query": "q: ", "passage": "p: "}},
            Recipe(query_prefix="q: ", passage_prefix="p: "),
        ),
        (
            "config_sentence_transformers.json",
            {"prompts": {"any": "x: "}, "default_prompt_name": "any"},
            Recipe(query_prefix="x: ", passage_prefix="x: "),
        ),
        ("config_sentence_transformers.json", {"prompts": None}, Recipe()),
        ("modules.json", [{"type": "sentence_transformers.models.Normalize"}], Recipe()),
    ],
)
def test_reads_a_recipe(tmp_path, name, content, wanted):
    write(tmp_path, name, content)
    assert read_recipe(tmp_path) == wanted


CLS_AND_MEAN = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("1_Pooling/config.json", '{"pooling_mode_lasttoken": true}', "lasttoken.*: cls, mean"),
        ("1_Pooling/config.json", json.dumps(CLS_AND_MEAN), "allowed: cls, mean"),
        ("modules.json", '[{"type": "sentence_transformers.models.Dense"}]', "layer .*Dense"),
        ("config.json", "{", r"config\.json: not valid JSON"),
    ],
)
def test_refuses_a_recipe_it_cannot_follow(tmp_path, name, content, message):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(content)
    with pytest.raises(AssayError, match=message):
        read_recipe(tmp_path)


def test_a_missing_extra_is_named(model_workshop, monkeypatch):
    monkeypatch.setattr(files_module.importlib.util, "find_spec", lambda name: None)
    for settings in (
        EncoderSettings,
        CrossEncoderSettings,
        SparseEncoderSettings,
        TokenEncoderSettings,
    ):
        with pytest.raises(AssayError, match=r"needs the extra `st`: make extra NAME=st"):
            settings(model="owner/name").build(model_workshop)


RESOLVE = """
import os
from assay.retrievers.base import AssayError
from assay.retrievers.model_files.hub import resolve
try:
    print(resolve(os.environ["MODEL"]))
except AssayError as error:
    print(error)
"""


def resolve_elsewhere(**environment):
    """Run `RESOLVE` in a process of its own: the hub's library reads the environment once."""
    return subprocess.run(
        [sys.executable, "-c", RESOLVE],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


class Hub(BaseHTTPRequestHandler):
    """Knows one model."""

    def do_GET(self):
        known = self.path == "/api/models/owner/known"
        body = json.dumps({"id": "owner/known", "sha": "c" * 40} if known else {}).encode()
        self.send_response(200 if known else 404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("known", f"Commit(sha='{'c' * 40}', local=False)"),
        ("absent", "model owner/absent: the hub has no public model of that name and no copy is"),
    ],
)
def test_asks_the_hub_for_the_commit(name, wanted, tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        done = resolve_elsewhere(
            MODEL=f"owner/{name}",
            HF_ENDPOINT=address,
            HF_HUB_CACHE=str(tmp_path),
            HF_HUB_OFFLINE="",
        )
        server.shutdown()
    assert done.stdout.startswith(wanted)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("here", "wanted"),
    [
        (False, "model owner/name: the hub cannot be reached ("),
        (True, f"Commit(sha='{'a' * 40}', local=True)"),  # the copy here is taken
    ],
)
def test_a_hub_that_does_not_answer(here, wanted, tmp_path):
    if here:
        model = tmp_path / "models--owner--name"
        (model / "snapshots" / ("a" * 40)).mkdir(parents=True)
        (model / "refs").mkdir()
        (model / "refs" / "main").write_text("a" * 40)
    done = resolve_elsewhere(MODEL="owner/name", HF_HUB_CACHE=str(tmp_path), HF_HUB_OFFLINE="1")
    assert done.stdout.startswith(wanted)
    assert (done.stdout.count("\n"), done.stderr) == (1, "")
