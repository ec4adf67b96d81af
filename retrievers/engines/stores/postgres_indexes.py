"""The indexes of a table of PostgreSQL: of lexemes, and those of vectors that pgvector offers."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from assay.retrievers.settings import Settings


class TextSearchSettings(Settings):
    """Full-text search: any lexeme of the query is enough. It has no idf, so it is not BM25."""

    language: str = Field(
        "english",
        pattern=r"^[a-z_][a-z0-9_]*$",
        description="text search configuration of the server: parser, stop words, stemming",
    )
    rank: Literal["ts_rank", "ts_rank_cd"] = Field(
        "ts_rank",
        description=(
            "ts_rank: by counts of the lexemes, repetitions for ever less, their mean over the "
            "query's lexemes; ts_rank_cd: by cover density, which with any of several lexemes is "
            "a plain count. Neither heeds how rare a lexeme is"
        ),
    )
    normalisation: int = Field(
        1,
        ge=0,
        le=63,
        description=(
            "what rank is divided by, numbers added up: 0 nothing, 1 1 + log of the length, 2 the "
            "length, 4 mean distance of covers (ts_rank_cd), 8 distinct words, 16 1 + log of "
            "these, 32 rank + 1"
        ),
    )


# Small tables would be scanned instead.
USE_INDEX = {"enable_seqscan": "off", "enable_sort": "off"}


class ExactScan(Settings):
    """No index: each query is compared with every vector."""

    type: Literal["exact"] = "exact"

    @property
    def definition(self) -> str:
        """The SQL of the index after USING; empty for none."""
        return ""

    @property
    def session(self) -> dict[str, str]:
        """The server's settings for searching."""
        return {}


class Hnsw(Settings):
    """A graph of near neighbours; another one at each build, which draws levels at random."""

    type: Literal["hnsw"]
    m: int = Field(16, ge=2, le=100, description="edges of a node in a layer")
    ef_construction: int = Field(
        64, ge=4, le=1000, description="candidates when the graph is built; at least 2 × m"
    )
    ef_search: int = Field(
        100,
        ge=1,
        le=1000,
        description="candidates of a search, which without iterative_scan finds no more; "
        "pgvector's own default is 40",
    )
    iterative_scan: Literal["off", "strict_order", "relaxed_order"] = Field(
        "strict_order", description="search on until `depth` is reached; in exact order or nearly"
    )

    @model_validator(mode="after")
    def _has_candidates(self) -> "Hnsw":
        if self.ef_construction < 2 * self.m:
            raise ValueError("ef_construction must be at least 2 × m")
        return self

    @property
    def definition(self) -> str:
        """The SQL of the index after USING."""
        options = f"m = {self.m}, ef_construction = {self.ef_construction}"
        return f"hnsw (embedding vector_ip_ops) WITH ({options})"

    @property
    def session(self) -> dict[str, str]:
        """The server's settings for searching."""
        return {
            **USE_INDEX,
            "hnsw.ef_search": str(self.ef_search),
            "hnsw.iterative_scan": self.iterative_scan,
        }


class IvfFlat(Settings):
    """Vectors in lists around centres; others at each build, which samples at random."""

    type: Literal["ivfflat"]
    lists: int = Field(
        100, ge=1, le=32768, description="lists; rows / 1000 is pgvector's advice to a million"
    )
    probes: int = Field(
        10, ge=1, le=32768, description="lists searched; pgvector's own default is 1"
    )
    iterative_scan: Literal["off", "relaxed_order"] = Field(
        "relaxed_order", description="search further lists until `depth` is reached"
    )

    @property
    def definition(self) -> str:
        """The SQL of the index after USING."""
        return f"ivfflat (embedding vector_ip_ops) WITH (lists = {self.lists})"

    @property
    def session(self) -> dict[str, str]:
        """The server's settings for searching."""
        return {
            **USE_INDEX,
            "ivfflat.probes": str(self.probes),
            "ivfflat.iterative_scan": self.iterative_scan,
        }


DenseIndex = Annotated[ExactScan | Hnsw | IvfFlat, Field(discriminator="type")]
