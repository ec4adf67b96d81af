"""The keyword leg: BM25 over analysed chunks, or BM25F over their fields."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from assay.retrievers.base import Chunk, IndexReport
from assay.retrievers.base.frontmatter import Frontmatter
from assay.retrievers.base.installation import read_version
from assay.retrievers.base.stopwatch import Stopwatch
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.summary import summarise
from assay.retrievers.fusion.ranking import Scored, best_matches
from assay.retrievers.legs.base import Kind, LegResult, LegSettings, ScoringLeg
from assay.retrievers.legs.bm25 import (
    K1,
    VARIANT,
    B,
    Formula,
    RankBm25Scorer,
    Scorer,
    TableScorer,
    Variant,
    okapi_idf,
)
from assay.retrievers.legs.bm25f import FieldScorer, FieldTerms
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.store.cache import Folder
from assay.retrievers.store.digest import digest
from assay.retrievers.text import analyzers
from assay.retrievers.text.analyzers import AnalyzerSettings
from assay.retrievers.text.languages import LanguageAnalyzerSettings
from assay.retrievers.text.term_counts import TermCounts

FieldName = Literal[
    "title", "headings", "keywords", "description", "tags", "aliases", "author", "category",
    "summary", "body",
]  # fmt: skip


class FieldWeights(Settings):
    """The weight of an occurrence in each field; 0 leaves the field out."""

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

    @model_validator(mode="after")
    def _counts_some(self) -> "FieldWeights":
        if not any(self.model_dump().values()):
            raise ValueError("0 for every field, so that nothing could be found")
        return self

    def list_used(self) -> dict[FieldName, float]:
        """Return the weights above 0, by field."""
        weights = self.model_dump()
        return {name: weights[name] for name in get_args(FieldName) if weights[name]}


def read_fields(corpus: Corpus, weights: FieldWeights) -> list[dict[FieldName, str]]:
    """Return the text of each field of each chunk; blank ones become empty.

    The metadata of a document counts for each of its chunks.
    """
    structures = corpus.structures if weights.summary else {}
    summaries = {id_: summarise(structure) for id_, structure in structures.items()}
    return [_read_fields(chunk, corpus, summaries) for chunk in corpus.chunks]


def _read_fields(
    chunk: Chunk, corpus: Corpus, summaries: Mapping[str, str]
) -> dict[FieldName, str]:
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


REVISION = 1  # raise it when the index of the same terms comes to differ
TINY = 100  # chunks; in more of them few words stand in exactly half


class KeywordLegSettings(LegSettings):
    """BM25 over words, stems and identifiers; with `weights` BM25F, a title's before a body's."""

    kind: ClassVar[Kind] = "keyword"
    prefix_stable: ClassVar[bool] = True
    tunable: ClassVar[Mapping[str, Sequence[Any]]] = {
        "k1": (0.5, 0.9, 1.2, 1.5, 2.0, 3.0),
        "b": (0.25, 0.4, 0.6, 0.75, 0.9, 1.0),
        "variant": ("okapi", "lucene"),
    }
    type: Literal["bm25"] = "bm25"
    analyzer: AnalyzerSettings = Field(
        default_factory=LanguageAnalyzerSettings,
        description="how texts become terms: a language (english, thai), plain, words, or settings",
    )
    weights: FieldWeights | None = Field(
        None,
        description=(
            "BM25F: how much an occurrence counts in each field of a chunk, {} for the defaults; "
            "null: a chunk is one text"
        ),
    )
    scorer: Literal["bm25s", "rank-bm25"] = Field(
        "bm25s",
        description="bm25s: a table of each term's scores, made when indexing, which is the method "
        "of that library; rank-bm25: that library, the slow reference, for okapi alone",
    )
    variant: Variant = Field(
        VARIANT,
        description="lucene: the formula of Lucene; okapi: that of rank-bm25's BM25Okapi",
    )
    k1: float = Field(K1, gt=0, description="how fast repetitions of a term saturate")
    b: float = Field(B, ge=0, le=1, description="how much long chunks or fields are discounted")
    epsilon: float = Field(
        0.25,
        ge=0,
        description=(
            "okapi: the idf of a term that more than half of the chunks hold, as a share of the "
            "mean idf"
        ),
    )

    @model_validator(mode="after")
    def _can_score(self) -> "KeywordLegSettings":
        if self.scorer == "rank-bm25" and self.variant != "okapi":
            raise ValueError(
                f"scorer rank-bm25 has no variant {self.variant}; set `variant: okapi` beside it"
            )
        if self.scorer == "rank-bm25" and self.weights is not None:
            raise ValueError("scorer rank-bm25 has no fields; take `weights` out")
        return self

    def build(self, resources: Resources) -> "KeywordLeg":
        """Return the leg, which has indexed nothing yet."""
        return KeywordLeg(self, resources)


class KeywordLeg(ScoringLeg):
    """Finds chunks that share terms with the query.

    A hit has a score above 0: chunks without a term of the query have 0, and so do, or less,
    those whose only terms occur nearly everywhere in a very small collection.
    """

    def __init__(self, settings: KeywordLegSettings, resources: Resources) -> None:
        self._settings = settings
        self._resources = resources
        self._analyzer = settings.analyzer.build()
        self._formula = Formula(settings.variant, settings.k1, settings.b, settings.epsilon)
        self._scorer: Scorer | FieldScorer | None = None
        self._asked: tuple[str, NDArray[np.float64]] | None = None  # last, with all scores

    def index(self, corpus: Corpus) -> IndexReport:
        """Weigh the terms of the corpus, or find this done in the cache."""
        self._scorer = self._asked = None
        self._analyzer = corpus.find_analyzer(self._settings.analyzer)
        weights = self._settings.weights
        stored = (
            self._index_texts(corpus) if weights is None else self._index_fields(corpus, weights)
        )
        if stored is None:
            return IndexReport(len(corpus.chunks))
        folder, seconds, size = stored
        return IndexReport(
            chunks=len(corpus.chunks),
            seconds={"keyword": seconds + folder.seconds},
            bytes=size + sum(file.stat().st_size for file in folder.path.iterdir()),
            cached=("keyword",) if folder.cached else (),
        )

    def search(self, query: str, depth: int) -> LegResult:
        """Return the best chunks with a score above 0."""
        watch = Stopwatch()
        terms = self._analyzer.analyze(query)
        watch.stop("analyse")
        candidates: Sequence[Scored] = []
        if self._scorer is not None and terms:
            scores = self._scorer.score(terms)
            self._asked = query, scores
            candidates = best_matches(scores, depth, self._allowed)
        watch.stop("search")
        return LegResult(
            candidates,
            watch.wall,
            counts={"query_tokens": len(terms)},
            cpu=watch.cpu,
        )

    def deepen(self, query: str, depth: int, found: Mapping[str, Sequence[Scored]]) -> LegResult:
        """Search as `search` does, without scoring the last query again."""
        asked = self._asked
        if asked is None or asked[0] != query:
            return self.search(query, depth)
        return LegResult(best_matches(asked[1], depth, self._allowed), {})

    def metadata(self) -> Mapping[str, Any]:
        """Return the libraries that score and stem, with their versions."""
        return self._versions()

    def _index_texts(self, corpus: Corpus) -> tuple[Folder, float, int] | None:
        """Return the index of whole chunks, and the seconds and bytes of its counts.

        None if no chunk has a term.
        """
        settings = self._settings
        counted = corpus.count_terms(settings.analyzer, self._resources)
        counts = counted.counts
        if not counts.vocabulary:
            return None
        if settings.variant == "okapi" and len(corpus.chunks) <= TINY:
            self._warn_of_idle_words(counts)
        scorer = (TableScorer if settings.scorer == "bm25s" else RankBm25Scorer)(self._formula)
        folder, _ = self._resources.cache.load(
            "bm25",
            self._key(counted.key),
            lambda folder: scorer.build(counts, folder),
            lambda folder: scorer.load(counts, folder),
        )
        self._scorer = scorer
        return folder, counted.seconds, counted.bytes

    def _index_fields(
        self, corpus: Corpus, weights: FieldWeights
    ) -> tuple[Folder, float, int] | None:
        """Index the fields of chunks as `_index_texts` does texts; nothing is counted before."""
        texts, used = read_fields(corpus, weights), weights.list_used()
        if not any(self._analyzer.analyze(text[name]) for text in texts for name in used):
            return None
        if reason := analyzers.doubt(self._settings.analyzer, (text["body"] for text in texts)):
            self._resources.progress.say(f"warning: {reason}")
        scorer = FieldScorer(self._formula)
        folder, _ = self._resources.cache.load(
            "bm25f",
            self._key(texts),
            lambda folder: scorer.build(
                [self._analyse([text[name] for text in texts], name, used[name]) for name in used],
                folder,
            ),
            scorer.load,
        )
        self._scorer = scorer
        return folder, 0.0, 0

    def _analyse(self, texts: Sequence[str], name: FieldName, weight: float) -> FieldTerms:
        """Return the terms of one field. The chunks of a document share most of its texts."""
        terms = {text: self._analyzer.analyze(text) for text in set(texts)}
        return FieldTerms(
            weight=weight,
            passages=[terms[text] if text else None for text in texts],
        )

    def _warn_of_idle_words(self, counts: TermCounts) -> None:
        """Warn if Okapi's idf gives more than one word in twenty no weight."""
        words, size = len(counts.vocabulary), len(counts.lengths)
        idf = okapi_idf(counts.frequencies, size, self._settings.epsilon)
        idle = int((idf <= 0).sum())
        if idle > words / 20:
            self._resources.progress.say(
                f"warning: okapi gives {idle} of {words} words no weight among {size} chunks: what "
                "holds only such words of a query is not found; variant: lucene finds it"
            )

    def _key(self, content: Any) -> str:
        settings = self._settings.model_dump(mode="json", exclude={"depth"})
        return digest(REVISION, settings, self._versions(), content)

    def _versions(self) -> dict[str, str]:
        own = analyzers.find_versions()
        scorer = self._settings.scorer
        return {scorer: read_version(scorer), **own} if scorer == "rank-bm25" else own
