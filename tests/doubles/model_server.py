"""A server on this machine that embeds and reranks in the forms of each provider.

It refuses what their references do not allow: unknown keys, blank texts, too many of them, texts
that are too long, a missing key. Vectors are hashes of words, of no unit length; those of texts
that are read together lean to that of all.
"""

import base64
import json
import re
import struct
import zlib

import numpy as np
from doubles.language_model_server import KEY, Body, LanguageModelServer

SIZE = 16  # dimensions of a vector
LONGEST = 200  # words of a text
KINDS = {"search_document", "search_query", "document", "query"}
KINDS |= {"RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY", "retrieval.passage", "retrieval.query"}


class RefusedError(Exception):
    """What a provider answers with a status that is no success."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def embed(text, size=SIZE):
    """Return a vector that tells texts of other words, or the same in another case, apart."""
    vector = np.zeros(size)
    for number, word in enumerate([*text.split(), text]):
        seed = zlib.crc32(word.encode("utf-8", "surrogatepass"))
        vector += np.random.default_rng(seed).normal(size=size) / (1 + number % 3)
    return [float(value) for value in vector * 3]


def rate(query, text):
    """Return how many words of the query a text holds, between 0 and 1."""
    words = set(re.findall(r"\w+", query.lower()))
    held = words & set(re.findall(r"\w+", text.lower()))
    return (1 + len(held)) / (2 + len(words))


def count(texts):
    """Return the tokens of texts: their words, and one each."""
    return sum(len(text.split()) + 1 for text in texts)


class ModelServer(LanguageModelServer):
    """Answers as the provider of the path does, unless `react` returns something else."""

    def __init__(self, react=lambda call: None):
        super().__init__(react)
        self.asked = []  # every text that was embedded

    def _reply(self, call, reaction):
        try:
            answer = self._find(call)(call.body)
        except RefusedError as error:
            return error.status, json.dumps({"message": str(error)}).encode()
        return 200, json.dumps(answer).encode()

    def _find(self, call):
        path, headers = call.path, call.headers
        open_to_all = path.startswith(("/tei/", "/local/"))
        held = headers.get("authorization", "")
        if not open_to_all and held.removeprefix("Bearer ") != KEY:
            raise RefusedError(401, f"wrong key {held}")
        speak = {
            "/openai/embeddings": self._openai_embeddings,
            "/local/embeddings": self._openai_embeddings,
            "/cohere/v2/embed": self._cohere_embed,
            "/cohere/v2/rerank": self._cohere_rerank,
            "/voyage/embeddings": self._voyage_embeddings,
            "/voyage/rerank": self._voyage_rerank,
            "/jina/embeddings": self._jina_embeddings,
            "/jina/rerank": self._jina_rerank,
            "/local/rerank": self._jina_rerank,
            "/tei/rerank": self._tei_rerank,
        }.get(path)
        if speak is None:
            raise RefusedError(404, f"no such path: {path}")
        return speak

    def _openai_embeddings(self, body):
        allow(body, "model input", "encoding_format dimensions user")
        texts = self._take(body["input"], 2048, "maximum context length is 200 tokens")
        vectors = [embed(text, body.get("dimensions") or SIZE) for text in texts]
        rows = list_rows(vectors, body.get("encoding_format"))
        tokens = count(texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": rows, "model": body["model"], "usage": usage}

    def _cohere_embed(self, body):
        optional = "output_dimension truncate max_tokens priority"
        allow(body, "model texts input_type embedding_types", optional)
        allow_kind(body["input_type"], "search_")
        texts = self._take(body["texts"], 96, "too many tokens" * (body["truncate"] == "NONE"))
        vectors = [embed(text, body.get("output_dimension") or SIZE) for text in texts]
        forms = dict.fromkeys(body["embedding_types"], vectors)
        billed = {"billed_units": {"input_tokens": count(texts)}}
        meta = {"api_version": {"version": "2"}, **billed}
        return {"id": "1", "embeddings": forms, "texts": texts, "meta": meta}

    def _cohere_rerank(self, body):
        allow(body, "model query documents", "top_n max_tokens_per_doc priority")
        results = self._ranked(body["query"], body["documents"], 1000)
        searches = -(-len(body["documents"]) // 100)
        return {"id": "1", "results": results, "meta": {"billed_units": {"search_units": searches}}}

    def _voyage_embeddings(self, body):
        optional = "input_type truncation output_dimension output_dtype encoding_format"
        allow(body, "model input", optional)
        allow_kind(body["input_type"], "")
        long = "" if body.get("truncation", True) else "max allowed tokens"
        texts = self._take(body["input"], 1000, long)
        vectors = [embed(text, body.get("output_dimension") or SIZE) for text in texts]
        rows = list_rows(vectors, body.get("encoding_format"))
        usage = {"total_tokens": count(texts)}
        return {"object": "list", "data": rows, "model": body["model"], "usage": usage}

    def _voyage_rerank(self, body):
        allow(body, "model query documents", "top_k truncation return_documents")
        ranked = self._ranked(body["query"], body["documents"], 1000)
        usage = {"total_tokens": count([body["query"], *body["documents"]])}
        return {"object": "list", "data": ranked, "model": body["model"], "usage": usage}

    def _jina_embeddings(self, body):
        allow(body, "model input", "task dimensions truncate")
        allow_kind(body["task"], "retrieval.")
        texts = self._take(body["input"], 512, "" if body.get("truncate") else "too large")
        rows = list_rows([embed(text, body.get("dimensions") or SIZE) for text in texts])
        return {"data": rows, "usage": {"total_tokens": count(texts)}}

    def _jina_rerank(self, body):
        allow(body, "model query documents", "top_n return_documents")
        ranked = self._ranked(body["query"], body["documents"], 2048)
        return {"results": ranked, "usage": {"total_tokens": count(body["documents"])}}

    def _tei_rerank(self, body):
        allow(body, "query texts", "raw_scores return_text truncate truncation_direction")
        rows = self._ranked(body["query"], body["texts"], 32)
        return [{"index": row["index"], "score": row["relevance_score"]} for row in rows]

    def _take(self, texts, most, long, blank=False):
        """Return texts, cut to what is read; refuse what may not be sent."""
        texts = [texts] if isinstance(texts, str) else texts
        if not texts or len(texts) > most:
            raise RefusedError(400, f"{len(texts)} texts; allowed: 1 to {most}")
        if not blank and not all(text.strip() for text in texts):
            raise RefusedError(400, "input cannot be an empty string")
        if long and any(len(text.split()) > LONGEST for text in texts):
            raise RefusedError(400, long)
        with self._lock:
            self.asked += texts
        return [" ".join(text.split(" ")[:LONGEST]) for text in texts]

    def _ranked(self, query, texts, most):
        self._take([query, *texts], most + 1, "")
        scores = [(rate(query, text), i) for i, text in enumerate(texts)]
        return [{"index": i, "relevance_score": score} for score, i in sorted(scores)[::-1]]


def allow(body, needed, optional):
    """Refuse a body that lacks a key, or has one that the provider does not know."""
    keys = set(needed.split())
    if missing := keys - body.keys():
        raise RefusedError(422, f"missing: {min(missing)}")
    if other := body.keys() - keys - set(optional.split()):
        raise RefusedError(422, f"unknown: {min(other)}")


def allow_kind(kind, prefix):
    """Refuse a kind of text that the provider does not know."""
    if kind not in KINDS or not kind.startswith(prefix):
        raise RefusedError(400, f"{kind}: no such kind of text")


def list_rows(vectors, form=None):
    """Return rows in another order than the texts."""
    rows = [
        {"object": "embedding", "index": i, "embedding": encode(vector, form)}
        for i, vector in enumerate(vectors)
    ]
    return rows[::-1]


def encode(vector, form):
    """Return a vector as the caller wants it: the SDKs ask for base64."""
    if form != "base64":
        return vector
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def answer(vectors, **more):
    """Return an answer in OpenAI's form, of whatever vectors."""
    rows = [{"index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    return Body(json.dumps({"data": rows, "usage": {"prompt_tokens": 1}, **more}).encode())
