"""The rules every retriever keeps, as checks that any implementation can be put to.

from retrievers.conformance import check_retriever
def test_mine(): check_retriever(lambda: MyRetriever())

The rules of the parts of a pipeline stand beside their contracts: `retrievers.legs.conformance`,
and those of `query`, `stages`, `models`, `documents` and `engines`.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, ParamSpec, TypeVar

from retrievers.base import Document, Ranking, Retriever
from retrievers.settings import Workshop
from retrievers.store.cache import Cache

Make = Callable[[], Retriever]
P = ParamSpec("P")
S = TypeVar("S")

DOCUMENTS = tuple(
    Document(f"doc{number}.md", text)
    for number, text in enumerate(
        (
            "# Ferries\n\nThe ferry to the northern islands sails twice a day in winter.",
            "# Refunds\n\nA cancelled sailing is refunded in full within five working days.",
            "# Luggage\n\nEach passenger may carry two suitcases and one bicycle free of charge.",
            "# Dogs\n\nDogs travel on open deck, see [[doc2]]; guide dogs may enter the saloon.",
            "# API\n\nCall `getSailingById` to look a sailing up by its identifier.",
            "# Twin\n\nThis very sentence stands in two documents of the collection.",
            "# Twin\n\nThis very sentence stands in two documents of the collection.",
            "# Größe\n\nÜbergepäck kostet zwölf Euro; naïve café owners pay 東京 prices.",
            "",
        )
    )
)
OTHER_DOCUMENTS = (
    Document("other.md", "# Lighthouse\n\nThe lighthouse keeper logs the weather every hour."),
    Document("more.md", "# Harbour\n\nThe harbour master assigns berths by draught."),
)
EDITED = Document(DOCUMENTS[0].id, "# Ferries\n\nA night train replaces every boat from April.")
QUERIES = (
    "When does the ferry to the islands sail?",
    "refund for a cancelled sailing",
    "getSailingById",
    "dogs",
    "this very sentence stands in two documents",
    "Übergepäck",
)
ODD_QUERIES = (
    "東京",
    "🛳️",
    "\x00\x07",
    '"' * 40,
    "AND OR NOT ( ) * : ~ ^",
    "word " * 3000,
    "\n\t x",
)


class ConformanceError(AssertionError):
    """A rule is broken."""


@dataclass(frozen=True, slots=True)
class Rule(Generic[P]):
    """One rule by name, with the check that raises ConformanceError where it is broken."""

    name: str
    check: Callable[P, None]

    def __str__(self) -> str:
        return self.name


def make_rules(*checks: Callable[P, None]) -> tuple[Rule[P], ...]:
    """Return a rule for each of `checks`, by its name."""
    return tuple(Rule(check.__name__, check) for check in checks)


def at_most_k(make: Make) -> None:
    """A search returns at most k hits, and a k beyond the collection is no error."""
    with _indexed(make) as retriever:
        for k in (1, 2, 3, 10_000):
            found = len(retriever.search(QUERIES[0], k).hits)
            require(found <= k, f"{found} hits were returned for k = {k}")


def no_chunk_twice(make: Make) -> None:
    """No chunk is returned twice."""
    for ranking in _search_all(make):
        ids = [hit.chunk.id for hit in ranking.hits]
        require(len(ids) == len(set(ids)), f"the same chunk was returned twice: {ids}")


def best_first(make: Make) -> None:
    """Hits stand by descending score, equal scores by descending chunk id; scores are finite."""
    for ranking in _search_all(make):
        keys = [(hit.score, hit.chunk.id) for hit in ranking.hits]
        require(all(math.isfinite(score) for score, _ in keys), f"a score is not finite: {keys}")
        for above, below in pairwise(keys):
            told = f"not best first, equal scores by descending id: {above} stands above {below}"
            require(above >= below, told)


def same_answer_again(make: Make) -> None:
    """The same call, on the same or on another instance, gives the same ranking."""
    with _indexed(make) as one, _indexed(make) as other:
        for query in QUERIES:
            first = _ids(one.search(query, 5))
            require(first == _ids(one.search(query, 5)), f"another answer to {query!r} again")
            require(first == _ids(other.search(query, 5)), f"two instances differ on {query!r}")


def smaller_k_is_a_prefix(make: Make) -> None:
    """A search for fewer hits returns the first of a search for more."""
    with _indexed(make) as retriever:
        for query in QUERIES:
            few, many = _ids(retriever.search(query, 2)), _ids(retriever.search(query, 5))
            require(few == many[:2], f"{query!r}: top 2 {few} is not the head of top 5 {many}")


def order_of_documents_is_nothing(make: Make) -> None:
    """Documents given in another order are ranked the same."""
    with _indexed(make) as one, _indexed(make, DOCUMENTS[::-1]) as other:
        for query in QUERIES:
            found = _ids(one.search(query, 5)), _ids(other.search(query, 5))
            require(found[0] == found[1], f"{query!r}: order of documents matters: {found}")


def chunks_are_true(make: Make) -> None:
    """A chunk's text is what its document holds between its offsets, and is not blank."""
    texts = {document.id: document.text for document in DOCUMENTS}
    for ranking in _search_all(make):
        for chunk in (hit.chunk for hit in ranking.hits):
            require(chunk.doc_id in texts, f"{chunk.doc_id!r} is no document of the collection")
            held = texts[chunk.doc_id][chunk.start : chunk.end]
            require(chunk.text == held, f"{chunk.id}: text differs from the document's")
            require(bool(chunk.text.strip()), f"{chunk.id}: a blank chunk was returned")


def finds_what_is_there(make: Make) -> None:
    """A query in a document's own words finds that document among the first three."""
    with _indexed(make) as retriever:
        for document in DOCUMENTS[:5]:
            sentence = document.text.split("\n\n")[1]
            found = [hit.chunk.doc_id for hit in retriever.search(sentence, 3).hits]
            require(document.id in found, f"{document.id} is not found by its own words: {found}")


def blank_finds_nothing(make: Make) -> None:
    """A blank query finds nothing."""
    with _indexed(make) as retriever:
        for query in ("", " \n\t"):
            found = _ids(retriever.search(query, 5))
            require(not found, f"{query!r} found {found}")


def odd_queries_are_answered(make: Make) -> None:
    """No text is an error: other scripts, control characters, operators, thousands of words."""
    with _indexed(make) as retriever:
        for query in ODD_QUERIES:
            try:
                retriever.search(query, 5)
            except Exception as error:
                raise ConformanceError(f"{query[:40]!r} raised {error!r}") from error


def indexing_replaces(make: Make) -> None:
    """Documents indexed before are gone after the next `index`."""
    with _indexed(make) as retriever:
        retriever.index(OTHER_DOCUMENTS)
        known = {document.id for document in OTHER_DOCUMENTS}
        for query in (*QUERIES, "lighthouse weather"):
            found = {hit.chunk.doc_id for hit in retriever.search(query, 10).hits}
            require(found <= known, f"stale documents after indexing anew: {found - known}")


def edits_are_seen(make: Make) -> None:
    """A document changed under its id is found by its new words, and nowhere by its old ones."""
    with _indexed(make) as retriever:
        for documents in ((EDITED, *DOCUMENTS[1:]), DOCUMENTS[1:]):
            retriever.index(documents)
            texts = {document.id: document.text for document in documents}
            for query in (*QUERIES, DOCUMENTS[0].text, EDITED.text):
                for chunk in (hit.chunk for hit in retriever.search(query, 10).hits):
                    held = texts.get(chunk.doc_id, "")[chunk.start : chunk.end]
                    require(chunk.text == held, f"stale text of {chunk.doc_id}: {chunk.text!r}")
            found = {hit.chunk.doc_id for hit in retriever.search(EDITED.text, 3).hits}
            require((EDITED.id in found) == (EDITED.id in texts), f"found for new words: {found}")


def threads_are_safe(make: Make) -> None:
    """Searches from several threads answer as they do one by one."""
    with _indexed(make) as retriever:
        queries = QUERIES * 5
        alone = [_ids(retriever.search(query, 5)) for query in queries]
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda query: _ids(retriever.search(query, 5)), queries))
        require(alone == together, "answers differ when several threads search at once")


def same_without_query_cache(make: Make) -> None:
    """`without_query_cache()` answers as the retriever itself."""
    with _indexed(make) as retriever:
        uncached = retriever.without_query_cache()
        for query in QUERIES:
            found = _ids(retriever.search(query, 5)), _ids(uncached.search(query, 5))
            require(found[0] == found[1], f"{query!r}: without_query_cache() differs: {found}")


def same_when_searched_plainly(make: Make) -> None:
    """`search_plain()` returns the chunks of `search()` in their order."""
    with _indexed(make) as retriever:
        for query in QUERIES:
            found = _ids(retriever.search(query, 5)), _ids(retriever.search_plain(query, 5))
            require(found[0] == found[1], f"{query!r}: search_plain() differs: {found}")


def trace_agrees(make: Make) -> None:
    """A trace has no negative time, names only chunks of the ranking, and ends with its hits."""
    for ranking in _search_all(make):
        require(all(entry.milliseconds >= 0 for entry in ranking.trace), "a negative time")
        known = {*_ids(ranking), *(chunk.id for chunk in ranking.others)}
        named = {id_ for entry in ranking.trace for id_, _ in entry.candidates}
        require(named <= known, f"the trace names chunks the ranking lacks: {named - known}")
        if ranking.trace:
            last = [id_ for id_, _ in ranking.trace[-1].candidates][: len(ranking.hits)]
            require(last == _ids(ranking), f"hits {_ids(ranking)} are not the last stage's {last}")


RULES = make_rules(
    at_most_k,
    no_chunk_twice,
    best_first,
    same_answer_again,
    smaller_k_is_a_prefix,
    order_of_documents_is_nothing,
    chunks_are_true,
    finds_what_is_there,
    blank_finds_nothing,
    odd_queries_are_answered,
    indexing_replaces,
    edits_are_seen,
    threads_are_safe,
    same_without_query_cache,
    same_when_searched_plainly,
    trace_agrees,
)


def check_retriever(make: Make) -> None:
    """Put what `make` returns to every rule. Raises ConformanceError at the first it breaks."""
    for rule in RULES:
        rule.check(make)


def check_rules(
    rules: Sequence[Rule[[Callable[[], S]]]],
    build: Callable[[Workshop], S],
    workshop: Workshop | None,
) -> None:
    """Put what `build` returns to every rule, by default in a workshop whose cache is then removed.

    Raises ConformanceError at the first rule that it breaks.
    """
    with TemporaryDirectory(prefix="assay-conformance-") as folder:
        given = workshop or Workshop(Cache(Path(folder)))
        for rule in rules:
            rule.check(lambda: build(given))


def _indexed(make: Make, documents: Sequence[Document] = DOCUMENTS) -> Retriever:
    retriever = make()
    retriever.index(documents)
    return retriever


def _search_all(make: Make) -> list[Ranking]:
    with _indexed(make) as retriever:
        return [retriever.search(query, 10) for query in QUERIES]


def _ids(ranking: Ranking) -> list[str]:
    return [hit.chunk.id for hit in ranking.hits]


def require(kept: bool, problem: str) -> None:
    """Raise ConformanceError, saying the `problem`, unless a rule is `kept`."""
    if not kept:
        raise ConformanceError(problem)
