"""Building and opening an index of Tantivy."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assay.retrievers.engines.tantivy.settings import TantivyTextSettings

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
