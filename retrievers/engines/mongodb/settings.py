"""What a collection in MongoDB is made with."""

from pydantic import Field

from assay.retrievers.settings import Settings


class MongoIndexSettings(Settings):
    """What the indexes of a collection are made with."""

    analyzer: str = Field(
        "lucene.english",
        pattern=r"[\w.]+",
        description=(
            "the analyzer by its name in Atlas: lucene.english stems and drops stop words, "
            "lucene.standard does neither; BM25 has Lucene's k1 = 1.2 and b = 0.75"
        ),
    )
