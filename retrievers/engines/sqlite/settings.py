"""What SQLite can be told: its keyword index and how its lists are fused."""

from typing import ClassVar, Literal

from pydantic import Field

from assay.retrievers.engines.analyzer_coverage import WordKey
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.statements import StatementSettings


class SqliteFileSettings(StatementSettings):
    """What SQLite can be told."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "statement",
        extra="sqlite",
        modules=("apsw", "sqlite_vec"),
        packages=("apsw", "sqlite-vec"),
        live=True,
        restricts=True,
    )
    words: ClassVar[WordKey | None] = WordKey("", {})
    type: Literal["sqlite"]
    tokenizer: Literal["porter unicode61", "unicode61", "trigram"] = Field(
        "porter unicode61",
        description=(
            "FTS5's: unicode61 splits at all but letters and digits; porter also stems English; "
            "trigram finds the words of a query also inside of words, from three letters on. None "
            "drops stop words. BM25 has FTS5's fixed k1 = 1.2 and b = 0.75"
        ),
    )
    remove_diacritics: bool = Field(True, description="strip diacritics")
