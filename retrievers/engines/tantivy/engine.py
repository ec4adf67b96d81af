"""Tantivy: words alone, by BM25 in Rust."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.retrievers.base import IndexReport
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.engines.one_list import OneList
from assay.retrievers.engines.raw_client import BareClient, Request
from assay.retrievers.engines.tantivy.settings import TantivyIndexSettings, TantivyTextSettings
from assay.retrievers.fusion.ranking import Scored, ordered
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources
from assay.retrievers.text import analyzers

if TYPE_CHECKING:
    import tantivy


FOLDER = "index"
TERMS, POSITION = "terms", "position"
TOKENIZER = "assay"
# Bytes of terms after which another segment is begun. One thread and one segment keep the texts in
# their order, by which the engine orders equal scores.
HEAP = 1_000_000_000

Analyze = Callable[[str], list[str]]


class OpenIndex(NamedTuple):
    """An index, what turns a text into terms and into the query for them.

    Where it is `whole`, of one segment, equal scores come by position.
    """

    searcher: "tantivy.Searcher"
    analyze: Analyze
    make_query: Callable[[str], "tantivy.Query"]
    whole: bool
    schema: "tantivy.Schema"


def make_analyze(settings: TantivyTextSettings) -> Analyze:
    """Return what turns a text into terms: this project's analyzer where one is set."""
    if settings.analyzer is None:
        analyze: Analyze = _make_analyzer(settings).analyze
        return analyze
    return settings.analyzer.build().analyze


def build_index(
    path: Path, positions: Iterable[int], texts: Sequence[str], settings: TantivyTextSettings
) -> None:
    """Write an index with one document a text: its terms and its position.

    `positions` are those of all texts, in order.
    """
    import tantivy

    path.mkdir()
    index = tantivy.Index(_make_schema(), path=str(path))
    index.register_tokenizer(TOKENIZER, _make_analyzer(settings))
    writer = index.writer(HEAP, 1)
    analyze = None if settings.analyzer is None else make_analyze(settings)
    for position in positions:
        text = texts[position]
        document = tantivy.Document()
        document.add_unsigned(POSITION, position)
        if analyze is None:
            document.add_text(TERMS, text)
        else:
            tokens = [tantivy.Token(term, i, 0, 0) for i, term in enumerate(analyze(text))]
            document.add_pre_tokenized_text(TERMS, tantivy.PreTokenizedString("", tokens))
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


def open_index(path: Path, settings: TantivyTextSettings) -> OpenIndex:
    """Open the index for reading. Raises what Tantivy raises where it is broken."""
    import tantivy

    index = tantivy.Index.open(str(path))
    index.config_reader("manual", 0)  # else a thread looks for changes
    searcher, analyze = index.searcher(), make_analyze(settings)
    make_query = _prepare_queries(index.schema, analyze)
    return OpenIndex(searcher, analyze, make_query, searcher.num_segments == 1, index.schema)


def _prepare_queries(
    schema: "tantivy.Schema", analyze: Analyze
) -> Callable[[str], "tantivy.Query"]:
    """Return what makes the query for any term of a text; one that is repeated weighs as often."""
    from tantivy import Occur, Query

    # A search takes so little that each look-up counts.
    should, find, boost, unite = (
        Occur.Should, Query.term_query, Query.boost_query, Query.boolean_query
    )  # fmt: skip

    def make_query(text: str) -> "tantivy.Query":
        counts: dict[str, int] = {}
        for term in analyze(text):
            counts[term] = counts.get(term, 0) + 1
        clauses = []
        for term, count in counts.items():
            query = find(schema, TERMS, term, "freq")
            clauses.append((should, query if count == 1 else boost(query, count)))
        return unite(clauses)

    return make_query


def _make_schema() -> "tantivy.Schema":
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field(TERMS, tokenizer_name=TOKENIZER, index_option="freq")
    builder.add_unsigned_field(POSITION, fast=True, indexed=True)
    return builder.build()


def _make_analyzer(settings: TantivyTextSettings) -> "tantivy.TextAnalyzer":
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    tokenizer = Tokenizer.simple() if settings.tokenizer == "simple" else Tokenizer.whitespace()
    builder = TextAnalyzerBuilder(tokenizer)
    # The engine drops what is as long as its limit.
    builder = builder.filter(Filter.remove_long(settings.max_token_length + 1))
    builder = builder.filter(Filter.lowercase())
    if settings.ascii_folding:
        builder = builder.filter(Filter.ascii_fold())
    if settings.language and settings.stop_words:
        builder = builder.filter(Filter.stopword(settings.language))
    if settings.language:
        builder = builder.filter(Filter.stemmer(settings.language))
    return builder.build()


K1, B = 1.2, 0.75


def _decode_length(code: int) -> int:
    """Return the length that a byte stands for, as Lucene's SmallFloat.byte4ToInt does."""
    exact = 24
    if code < exact:
        return code
    bits, shift = (code - exact) & 7, ((code - exact) >> 3) - 1
    return exact + (bits if shift < 0 else (bits | 8) << shift)


LENGTHS = [_decode_length(code) for code in range(256)]


class Bm25:
    """Scores texts given as terms; the mean length is of whole lengths, each text's is rounded."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._texts = len(texts)
        self._mean = sum(map(len, texts)) / len(texts) if texts else 0.0
        self._lengths = [LENGTHS[bisect_right(LENGTHS, len(text)) - 1] for text in texts]
        self._counts: dict[str, dict[int, int]] = defaultdict(dict)
        for position, text in enumerate(texts):
            for term, count in Counter(text).items():
                self._counts[term][position] = count

    def score(self, terms: Sequence[str]) -> list[Scored]:
        """Return all texts that share a term, best first; a repeated term weighs as often."""
        scores: dict[int, float] = defaultdict(float)
        for term, weight in Counter(terms).items():
            found = self._counts.get(term, {})
            idf = log(1 + (self._texts - len(found) + 0.5) / (len(found) + 0.5))
            for position, count in found.items():
                length = 1 - B + B * self._lengths[position] / self._mean
                scores[position] += weight * idf * (1 + K1) * count / (count + K1 * length)
        return ordered(scores.items())


STATEMENT = (
    f"sum over terms of ln(1 + (N - df + 0.5) / (df + 0.5)) × {1 + K1} tf / (tf + {K1} × "
    f"({1 - B} + {B} × length / mean length)), lengths rounded as Lucene's"
)


class TantivySettings(TantivyIndexSettings):
    """Tantivy, in this process: words alone, by BM25 in Rust; fused here with other legs."""

    def build(self, resources: Resources) -> "TantivyEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `tantivy` is not installed.
        """
        return TantivyEngine(self, resources)


class TantivyEngine(EmbeddedEngine[TantivySettings, OpenIndex]):
    """An index of terms and positions, read by any number of processes; equal scores by position.

    The version of its format is that of the package.
    """

    @property
    def formula(self) -> Formula:
        """The engine's BM25."""
        return OneList("keyword", STATEMENT)

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Find the index, or make it, and open it; `vectors` are left alone."""
        report = super().index(texts, vectors, "")
        self._indexed = texts
        self._stated: Bm25 | None = None
        return report

    def score_terms(self, text: str) -> list[Scored]:
        """Return all texts that share terms with `text`, scored here by the formula."""
        if self._opened is None:
            return []
        analyze = self._opened.analyze
        if self._stated is None:
            self._stated = Bm25([analyze(indexed) for indexed in self._indexed])
        return self._stated.score(analyze(text))

    def metadata(self) -> Mapping[str, Any]:
        """Return also the constants of the engine's BM25."""
        return {**super().metadata(), "k1": K1, "b": B}

    @property
    def _orders_ties(self) -> bool:
        return self._opened is not None and self._opened.whole

    @property
    def _exact(self) -> bool:
        return True

    def _list_versions(self) -> Sequence[str]:
        """Return also those that decide the terms of an analyzer of this project."""
        analyzer = self._settings.text.analyzer
        used = analyzers.find_versions(analyzer).values() if analyzer else ()
        return [*super()._list_versions(), *used]

    def _shape(self) -> Sequence[Any]:
        return [self._settings.text]

    def _build(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        build_index(folder / FOLDER, self._track(len(texts)), texts, self._settings.text)

    def _open(self, folder: Path) -> OpenIndex:
        return open_index(folder / FOLDER, self._settings.text)

    def _search_keyword(self, opened: OpenIndex, text: str, limit: int) -> list[Scored]:
        from tantivy import Query

        query = opened.make_query(text)
        if self._allowed is not None:
            wanted = Query.term_set_query(opened.schema, POSITION, self._allowed.tolist())
            query = query.and_must_match(Query.const_score_query(wanted, 0.0))
        return _ask(opened, query, limit)

    def _open_bare(self, opened: OpenIndex) -> BareClient:
        """Return the index's searcher itself: it has no client."""

        def keyword(text: str, limit: int) -> Request:
            query = opened.make_query(text)
            return lambda: _ask(opened, query, limit)

        return BareClient(None, keyword, lambda: None)


def _ask(opened: OpenIndex, query: "tantivy.Query", limit: int) -> list[Scored]:
    """Return (position, score) of a query's hits."""
    hits = opened.searcher.search(query, limit, count=False).hits
    if not hits:
        return []
    positions = opened.searcher.fast_field_values(POSITION, [address for _, address in hits])
    return list(zip(positions, (score for score, _ in hits), strict=True))
