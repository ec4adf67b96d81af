"""The fielded keyword leg: BM25F over a chunk's body and what stands above and about it."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from assay.retrievers.base import Chunk, IndexReport
from assay.retrievers.base.frontmatter import Frontmatter
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.summary import summarise
from assay.retrievers.fusion.ranking import best_matches
from assay.retrievers.legs import bm25
from assay.retrievers.legs.base import Kind, Leg, LegResult, LegSettings
from assay.retrievers.legs.bm25f import FieldScorer, FieldTerms
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.store.digest import digest
from assay.retrievers.store.sources import digest_imports
from assay.retrievers.text import analyzers
from assay.retrievers.text.analyzers import AnalyzerSettings
from assay.retrievers.text.languages import LanguageAnalyzerSettings

FieldName = Literal[
    "title", "headings", "keywords", "description", "tags", "aliases", "author", "category",
    "summary", "body",
]  # fmt: skip


class FieldWeights(Settings):
    """How much an occurrence counts in each field; 0 leaves the field out."""

    title: float = Field(3.0, ge=0, description="the chunk's own title, else its document's")
    headings: float = Field(2.5, ge=0, description="the path of headings above the chunk")
    keywords: float = Field(2.5, ge=0, description="the frontmatter's keywords")
    description: float = Field(2.0, ge=0, description="the frontmatter's description")
    tags: float = Field(2.0, ge=0, description="the frontmatter's tags")
    aliases: float = Field(1.5, ge=0, description="the frontmatter's aliases")
    author: float = Field(1.0, ge=0, description="the frontmatter's author")
    category: float = Field(1.0, ge=0, description="the frontmatter's category")
    summary: float = Field(
        0.0, ge=0, description="the frontmatter's description, else the document's first paragraph"
    )
    body: float = Field(1.0, ge=0, description="the chunk's text with its context")


class FieldedLegSettings(LegSettings):
    """BM25F: words count by the field they stand in, a title's more than the body's."""

    kind: ClassVar[Kind] = "keyword"
    plain: ClassVar[str] = "bm25"
    type: Literal["bm25f"]
    weights: FieldWeights = Field(
        default_factory=FieldWeights, description="how much an occurrence counts in each field"
    )
    analyzer: AnalyzerSettings = Field(
        default_factory=LanguageAnalyzerSettings,
        description="how texts become terms: a language (english, thai), plain, words, or settings",
    )
    variant: bm25.Variant = Field(
        bm25.VARIANT, description="whose idf: Lucene's, or that of rank-bm25's BM25Okapi"
    )
    k1: float = Field(bm25.K1, gt=0, description="how fast repetitions of a term saturate")
    b: float = Field(bm25.B, ge=0, le=1, description="how much long fields are discounted")
    field_b: dict[FieldName, Annotated[float, Field(ge=0, le=1)]] = Field(
        default_factory=dict, description="b of single fields, in place of `b`"
    )
    epsilon: float = Field(
        0.25,
        ge=0,
        description=(
            "okapi: the idf of a term that more than half of the chunks hold, as a share of the "
            "mean idf"
        ),
    )

    def build(self, resources: Resources) -> "FieldedLeg":
        """Return the leg, which has indexed nothing yet."""
        return FieldedLeg(self, resources)


class FieldedLeg(Leg):
    """Finds chunks that share terms with the query, in any field; a hit has a score above 0.

    What a document says of itself counts for each of its chunks.
    """

    def __init__(self, settings: FieldedLegSettings, resources: Resources) -> None:
        self._settings = settings
        self._resources = resources
        self._analyzer = settings.analyzer.build()
        self._scorer: FieldScorer | None = None

    def index(self, corpus: Corpus) -> IndexReport:
        """Analyse the fields and tabulate their scores, or find this done in the cache."""
        weights = self._settings.weights.model_dump()
        fields = [name for name in get_args(FieldName) if weights[name]]
        summaries = _summarise(corpus) if weights["summary"] else {}
        texts = [_read_fields(chunk, corpus, summaries) for chunk in corpus.chunks]
        self._scorer = None
        self._analyzer = corpus.find_analyzer(self._settings.analyzer)
        if not any(self._analyzer.analyze(text[name]) for text in texts for name in fields):
            return IndexReport(len(texts))
        settings = self._settings
        if reason := analyzers.doubt(settings.analyzer, (text["body"] for text in texts)):
            self._resources.progress.say(f"warning: bm25f: {reason}")
        scorer = FieldScorer(
            bm25.Formula(settings.variant, settings.k1, settings.b, settings.epsilon)
        )

        def make(folder: Path) -> None:
            scorer.build([self._analyse(name, texts) for name in fields], folder)

        folder, _ = self._resources.cache.load("bm25f", self._key(texts), make, scorer.load)
        self._scorer = scorer
        return IndexReport(
            chunks=len(texts),
            seconds={"keyword": folder.seconds},
            bytes=sum(file.stat().st_size for file in folder.path.iterdir()),
            cached=("keyword",) if folder.cached else (),
        )

    def search(self, query: str, depth: int) -> LegResult:
        """Return the best chunks with a score above 0."""
        begin = time.perf_counter()
        terms = self._analyzer.analyze(query)
        analysed = time.perf_counter()
        candidates = best_matches(self._scorer.score(terms), depth) if self._scorer else []
        end = time.perf_counter()
        return LegResult(
            candidates,
            {"analyse": (analysed - begin) * 1e3, "search": (end - analysed) * 1e3},
            counts={"query_tokens": len(terms)},
        )

    def facts(self) -> Mapping[str, Any]:
        """Return the libraries that stem and bring stop words, with their versions."""
        return analyzers.find_versions(self._settings.analyzer)

    def _analyse(self, name: FieldName, texts: list[dict[FieldName, str]]) -> FieldTerms:
        """Return the terms of one field. The chunks of a document share most of its texts."""
        terms = {text: self._analyzer.analyze(text) for text in {text[name] for text in texts}}
        return FieldTerms(
            weight=getattr(self._settings.weights, name),
            b=self._settings.field_b.get(name, self._settings.b),
            passages=[terms[text[name]] if text[name] else None for text in texts],
        )

    def _key(self, texts: list[dict[FieldName, str]]) -> str:
        settings = self._settings.model_dump(mode="json", exclude={"depth"})
        versions = analyzers.find_versions(self._settings.analyzer)
        return digest(digest_imports(__name__), settings, versions, texts)


def _summarise(corpus: Corpus) -> Mapping[str, str]:
    """Return the summary of each document, by id."""
    return {id_: summarise(structure) for id_, structure in corpus.structures.items()}


def _read_fields(
    chunk: Chunk, corpus: Corpus, summaries: Mapping[str, str]
) -> dict[FieldName, str]:
    """Return the text of each field of a chunk; what is blank is empty."""
    about = corpus.frontmatter.get(chunk.doc_id, Frontmatter())
    document = corpus.documents.get(chunk.doc_id)
    title = chunk.title or about.title or (document.title if document else "")
    fields: dict[FieldName, str] = {
        "title": title,
        "headings": "\n".join(chunk.headings),
        "keywords": "\n".join(about.keywords),
        "description": about.description,
        "tags": "\n".join(about.tags),
        "aliases": "\n".join(about.aliases),
        "author": about.author,
        "category": about.category,
        "summary": summaries.get(chunk.doc_id, ""),
        "body": f"{chunk.context}\n\n{chunk.text}",
    }
    return {name: text if text.strip() else "" for name, text in fields.items()}
