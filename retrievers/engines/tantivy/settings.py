"""What Tantivy can be told: how texts become terms."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.engines.analyzer_coverage import LANGUAGES, WordKey
from assay.retrievers.engines.base import StoreSettings
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.settings import Settings
from assay.retrievers.text.analyzers import AnalyzerSettings

Language = Literal[
    "arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian",
    "italian", "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "tamil",
    "turkish",
]  # fmt: skip
WITHOUT_STOP_WORDS = frozenset({"arabic", "greek", "romanian", "tamil", "turkish"})


class TantivyTextSettings(Settings):
    """Tantivy's BM25, of fixed k1 = 1.2 and b = 0.75, with idf = ln(1 + (N - df + 0.5) /
    (df + 0.5)): terms in lower case; lengths of texts beyond 40 terms are rounded down, as Lucene
    does.
    """

    tokenizer: Literal["simple", "whitespace"] = Field(
        "simple", description="simple splits at all but letters and digits; whitespace"
    )
    language: Language | None = Field(
        "english", description="language of the Snowball stemmer; null: no stemming"
    )
    stop_words: bool = Field(False, description="drop the language's stop words")
    ascii_folding: bool = Field(False, description="strip diacritics")
    max_token_length: int = Field(40, ge=1, description="bytes; longer terms are dropped")
    analyzer: AnalyzerSettings | None = Field(
        None,
        description=(
            "an analyzer of this project, as the leg bm25 has it, whose terms are indexed as they "
            "are, in place of all of these; null: the engine's"
        ),
    )

    @model_validator(mode="after")
    def _has_stop_words(self) -> "TantivyTextSettings":
        if self.stop_words and (self.language is None or self.language in WITHOUT_STOP_WORDS):
            known = "a language" if self.language is None else f"a list for {self.language}"
            raise ValueError(f"stop_words: Tantivy needs {known}; leave stop_words out")
        return self


class TantivyIndexSettings(StoreSettings):
    """What Tantivy can be told."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "here",
        lists=("keyword",),
        extra="tantivy",
        modules=("tantivy",),
        packages=("tantivy",),
        restricts=True,
    )
    words: ClassVar[WordKey | None] = WordKey(
        "text.analyzer", {name: (name, *LANGUAGES) for name in LANGUAGES}
    )
    type: Literal["tantivy"]
    text: TantivyTextSettings = Field(
        default_factory=TantivyTextSettings, description="the engine's keyword index"
    )
