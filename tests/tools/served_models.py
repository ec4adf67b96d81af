"""Served models as configs choose them, each before the server that keeps its provider's form."""

from collections.abc import Callable

import numpy as np
from doubles.language_model_server import Call, LanguageModelServer, Reaction
from doubles.model_server import SIZE, ModelServer, embed
from tools.part_settings import read_settings

from assay.retrievers.base import Chunk, Hit
from assay.retrievers.models.registry import AnyCrossEncoder, AnyEncoder

Serve = Callable[..., ModelServer]
Ask = Callable[[Callable[[Call], Reaction]], LanguageModelServer]


def choose_encoder(server, type_="openai", **keys):
    return read_settings(AnyEncoder, _write(server, type_, keys))


def choose_reranker(server, type_, **keys):
    return read_reranker(_write(server, type_, keys))


def read_reranker(values):
    return read_settings(AnyCrossEncoder, values)


def choose_llm(server, type_="llm", **keys):
    model = {"type": "openai", "model": "some", "base_url": f"{server.url}/v1"}
    return read_reranker({"type": type_, "model": model, "backoff_seconds": 0.01, **keys})


def make_hits(texts):
    chunks = [Chunk(f"c{i}", "d", 0, len(text), text) for i, text in enumerate(texts)]
    return [Hit(chunk, 1.0 - i / 1000) for i, chunk in enumerate(chunks)]


def unit(text, size=SIZE):
    vector = np.array(embed(text, size))
    return vector / np.linalg.norm(vector)


def _write(server, type_, keys):
    values = {"type": type_, "url": f"{server.url}/{type_}", "model": "some"}
    quick = {"backoff_seconds": 0.01, "attempts": 3, "key_variable": "MY_KEY"}
    return {**values, **quick, **keys}
