"""What a container in Azure Cosmos DB for NoSQL is made with."""

from pydantic import Field

from assay.retrievers.settings import Settings


class CosmosIndexSettings(Settings):
    """What a container is made with."""

    language: str = Field(
        "en-US",
        pattern=r"[a-z]{2}-[A-Z]{2}",
        description=(
            "the language whose stemming and stop words the full-text index has, by Azure's name; "
            "BM25 has no setting"
        ),
    )
    exact: bool = Field(
        True,
        description="compare with every vector; false: through a DiskANN index",
    )
