"""The hybrid search of vector stores, including those that are no engine here."""

from typing import Literal

Strategy = Literal["native", "fallback", "refused"]

STRATEGIES: dict[str, Strategy] = {
    "azure-ai-search": "native",
    "weaviate": "native",
    "qdrant": "native",
    "mongodb": "native",
    "azure-cosmos-nosql": "native",
    "postgres": "fallback",
    "pinecone": "fallback",
    "chromadb": "fallback",
    "faiss": "fallback",
    "in-memory": "fallback",
    "sql-server": "fallback",
    "azure-cosmos-mongo": "refused",
}
"""By provider: `native` fuses dense and keyword search itself; with `fallback` a keyword index of
its own (BM25 here, or `opensearch`) is searched beside it and this project fuses the two."""


# The engine of a provider that has another name here.
ENGINES = {"chromadb": "chroma"}
# Why a provider is no engine, and what can be done.
_REFUSALS = {
    "azure-cosmos-mongo": (
        "has no hybrid search: MongoDB vCore speaks another interface than Atlas, whose provider "
        "is mongodb; it is supported neither natively nor with a fallback"
    ),
    "in-memory": (
        "is no engine; the pipeline hybrid does the same: legs of type dense and bm25, fused here"
    ),
}


def describe_missing(provider: str) -> str:
    """Return in one line why a known provider cannot be an engine, and what can be done."""
    if provider in ENGINES:
        return f"{provider} is called {ENGINES[provider]} here: engine {ENGINES[provider]}"
    return f"{provider} {_REFUSALS[provider]}"
