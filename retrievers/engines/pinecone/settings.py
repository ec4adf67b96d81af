"""Where an index in Pinecone is made."""

from typing import Literal

from pydantic import Field

from assay.retrievers.settings import Settings


class PineconeIndexSettings(Settings):
    """Where an index is kept."""

    cloud: Literal["aws", "gcp", "azure"] = Field(
        "aws", description="whose machines keep the index"
    )
    region: str = Field("us-east-1", min_length=1, description="the region, by the cloud's name")
