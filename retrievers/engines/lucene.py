"""What servers on Lucene have in common: BM25, how an index is made, how terms are asked for."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from assay.retrievers.fusion.ranking import Positions
from assay.retrievers.settings import Settings

Analyzer = Literal[
    "standard", "simple", "whitespace", "stop", "arabic", "armenian", "basque", "bengali",
    "brazilian", "bulgarian", "catalan", "cjk", "czech", "danish", "dutch", "english", "estonian",
    "finnish", "french", "galician", "german", "greek", "hindi", "hungarian", "indonesian",
    "irish", "italian", "latvian", "lithuanian", "norwegian", "persian", "portuguese", "romanian",
    "russian", "sorani", "spanish", "swedish", "thai", "turkish",
]  # fmt: skip

# A hybrid query asks for all that it fused, and each list may have 10,000.
LEAST_WINDOW = 20_000
# Equal scores come in the order of documents in the index; with this it is that of positions.
SORTED = {"sort.field": "position", "sort.order": "asc"}


class LuceneBm25Settings(Settings):
    """Lucene's BM25, with idf = ln(1 + (N - df + 0.5) / (df + 0.5))."""

    analyzer: Analyzer = Field(
        "english",
        description=(
            "how texts become terms: a language with its stop words and stemming, or standard, "
            "simple, whitespace, stop, which do not stem"
        ),
    )
    k1: float = Field(1.2, ge=0, description="how fast repetitions of a term saturate")
    b: float = Field(
        0.75, ge=0, le=1, description="how much long chunks are discounted, against their mean"
    )


def make_body(
    bm25: LuceneBm25Settings,
    texts: int,
    fields: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return settings and mappings for texts, and for the further `fields` and `settings`.

    One shard, so that ranks and the statistics of terms are those of the whole collection.
    """
    return {
        "settings": {
            "index": {
                "number_of_shards": 1,
                "number_of_replicas": 0,
                "refresh_interval": "-1",
                "max_result_window": max(LEAST_WINDOW, texts),
                "similarity": {"default": {"type": "BM25", "k1": bm25.k1, "b": bm25.b}},
                **(settings or {}),
            }
        },
        "mappings": {
            "dynamic": "strict",
            "properties": {
                "position": {"type": "integer"},
                "text": {"type": "text", "analyzer": bm25.analyzer},
                **(fields or {}),
            },
        },
    }


def match(text: str, allowed: Positions | None = None) -> dict[str, Any]:
    """Return the query for texts that share a term with `text`, with `allowed` of these alone.

    Nothing in the text is an operator.
    """
    query = {"match": {"text": {"query": text, "operator": "or"}}}
    if allowed is None:
        return query
    return {"bool": {"must": [query], "filter": [list_ids(allowed)]}}


def list_ids(allowed: Positions) -> dict[str, Any]:
    """Return the query for the texts at these positions."""
    return {"ids": {"values": list(map(str, allowed.tolist()))}}
