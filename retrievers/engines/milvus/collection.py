"""Collections of Milvus: made, filled and asked."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from assay.retrievers.base import AssayError
from assay.retrievers.engines.adapter import Listed
from assay.retrievers.engines.milvus.settings import DEEPEST, MilvusIndexSettings
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    from pymilvus import AnnSearchRequest, MilvusClient


DENSE, KEYWORD = "dense", "keyword"
LONGEST = 65_535  # bytes of a VARCHAR
MOST_LISTED = 20_000  # of each, its parser makes a node
ROWS_PER_INSERT = 1000
BYTES_PER_INSERT = 8_000_000


def create_collection(
    client: "MilvusClient",
    name: str,
    dimensions: int,
    settings: MilvusIndexSettings,
    **options: Any,
) -> None:
    """Make an empty collection of texts, their vectors, and terms that BM25 makes of the texts."""
    from pymilvus import DataType, Function, FunctionType

    schema = client.create_schema(auto_id=False)
    schema.add_field("position", DataType.INT64, is_primary=True)
    schema.add_field(
        "text",
        DataType.VARCHAR,
        max_length=LONGEST,
        enable_analyzer=True,
        analyzer_params=settings.bm25.analyzer,
    )
    schema.add_field(DENSE, DataType.FLOAT_VECTOR, dim=dimensions)
    schema.add_field(KEYWORD, DataType.SPARSE_FLOAT_VECTOR)
    schema.add_function(Function("bm25", FunctionType.BM25, ["text"], [KEYWORD]))
    indexes = client.prepare_index_params()
    # One level deeper, as in the protocol: the client would flatten it.
    graph = {} if settings.exact else {"M": settings.m, "efConstruction": settings.ef_construction}
    indexes.add_index(
        DENSE,
        index_type="FLAT" if settings.exact else "HNSW",
        metric_type="COSINE",
        params={"params": graph},
    )
    indexes.add_index(
        KEYWORD,
        index_type="SPARSE_INVERTED_INDEX",
        metric_type="BM25",
        params={"params": {"bm25_k1": settings.bm25.k1, "bm25_b": settings.bm25.b}},
    )
    client.create_collection(
        name,
        schema=schema,
        index_params=indexes,
        consistency_level="Strong",
        num_shards=1,
        **options,
    )


def make_rows(
    positions: Iterable[int], texts: Sequence[str], vectors: Vectors
) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a collection, as many at once as one request may hold.

    `positions` are those of all texts, in order.

    Raises AssayError for a text that is longer than Milvus keeps.
    """
    for position, text in enumerate(texts):
        if (bytes_ := len(text.encode())) > LONGEST:
            raise AssayError(
                f"milvus: text {position} has {bytes_} bytes, and {LONGEST} are the most that "
                "Milvus keeps; let the chunker make shorter ones"
            )
    width = 4 * vectors.shape[1]
    for chosen in batch(
        positions, ROWS_PER_INSERT, lambda i: width + 4 * len(texts[i]), BYTES_PER_INSERT
    ):
        yield [{"position": i, "text": texts[i], DENSE: vectors[i].tolist()} for i in chosen]


def search_dense(
    client: "MilvusClient",
    name: str,
    vector: Vectors,
    limit: int,
    settings: MilvusIndexSettings,
    listed: Listed | None = None,
    **options: Any,
) -> list[Scored]:
    """Return the texts of greatest cosine."""
    limit = min(limit, DEEPEST)
    found = client.search(
        name,
        data=[vector.tolist()],
        anns_field=DENSE,
        limit=limit,
        search_params=_choose_candidates(settings, limit),
        filter=express(listed),
        output_fields=[],
        **options,
    )
    return _read(found)


def search_keyword(
    client: "MilvusClient",
    name: str,
    text: str,
    limit: int,
    listed: Listed | None = None,
    **options: Any,
) -> list[Scored]:
    """Return the texts that share terms; Milvus Lite gives their scores below 0."""
    found = client.search(
        name,
        data=[text],
        anns_field=KEYWORD,
        limit=min(limit, DEEPEST),
        filter=express(listed),
        output_fields=[],
        **options,
    )
    return [(position, abs(score)) for position, score in _read(found)]


def search_both(
    client: "MilvusClient",
    name: str,
    text: str,
    vector: Vectors,
    settings: MilvusIndexSettings,
    listed: Listed | None = None,
    **options: Any,
) -> list[Scored]:
    """Return all that Milvus fuses of both lists."""
    from pymilvus import RRFRanker, WeightedRanker

    depth, weights = settings.depth, settings.weights
    ranker = (
        RRFRanker(settings.k)
        if settings.fusion == "rrf"
        else WeightedRanker(weights.dense, weights.keyword, norm_score=True)
    )
    found = client.hybrid_search(
        name,
        _make_requests(text, vector, settings, express(listed)),
        ranker,
        limit=depth.dense + depth.keyword,
        output_fields=[],
        **options,
    )
    return _read(found)


def _make_requests(
    text: str, vector: Vectors, settings: MilvusIndexSettings, filtered: str
) -> list["AnnSearchRequest"]:
    from pymilvus import AnnSearchRequest

    depth = settings.depth
    candidates = _choose_candidates(settings, depth.dense)
    return [
        AnnSearchRequest([vector.tolist()], DENSE, candidates, depth.dense, filtered),
        AnnSearchRequest([text], KEYWORD, {}, depth.keyword, filtered),
    ]


def express(listed: Listed | None) -> str:
    """Return the filter that is met by the texts that may be found; "" where all may be."""
    if listed is None:
        return ""
    return f"position {'not in' if listed.others else 'in'} {listed.positions}"


def _choose_candidates(settings: MilvusIndexSettings, limit: int) -> dict[str, Any]:
    return {} if settings.exact else {"params": {"ef": max(settings.ef, limit)}}


def _read(found: Any) -> list[Scored]:
    """Return (position, score) of the only query's hits."""
    return [(int(hit["position"]), float(hit["distance"])) for hit in found[0]]
