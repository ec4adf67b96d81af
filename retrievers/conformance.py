"""The rules every retriever keeps, as checks that any implementation can be put to.

from assay.retrievers.conformance import check_retriever
def test_mine(): check_retriever(lambda: MyRetriever())

The rules for the parts of a pipeline are next to their contracts:
`assay.retrievers.legs.conformance`, and those of `query`, `stages`, `models`, `documents` and
`engines`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, TypeVar

from assay.retrievers.base import AssayError, Document, IndexReport, Ranking, Retriever
from assay.retrievers.base.adapted import AdaptedRetriever
from assay.retrievers.base.answers import rises
from assay.retrievers.conformance_sample import (
    DOCUMENTS,
    EDITED,
    ODD_QUERIES,
    OTHER_DOCUMENTS,
    QUERIES,
)
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

Make = Callable[[], Retriever]
S = TypeVar("S")


class ConformanceError(AssertionError):
    """A rule is broken."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a check: `make` returns the retriever for `documents` and `queries`.

    Its `search` may return any result that functions may return in a run.
    """

    make: Make
    documents: Sequence[Document] = DOCUMENTS
    queries: Sequence[str] = QUERIES

    def index(self, documents: Sequence[Document] | None = None) -> Retriever:
        """Return a new retriever that has indexed `documents`, by default its own."""
        retriever = AdaptedRetriever(self.make())
        retriever.index(self.documents if documents is None else documents)
        return retriever

    def search(self) -> Mapping[str, Ranking]:
        """Return the rankings of its queries."""
        with self.index() as retriever:
            return {query: retriever.search(query, 10) for query in self.queries}


@dataclass(frozen=True, slots=True)
class Rule(Generic[S]):
    """One rule by name, with the check that raises ConformanceError where it is broken."""

    name: str
    check: Callable[[S], None]

    def __str__(self) -> str:
        return self.name


def make_rules(*checks: Callable[[S], None]) -> tuple[Rule[S], ...]:
    """Return a rule for each of `checks`, by its name."""
    return tuple(Rule(check.__name__, check) for check in checks)


def answers_in_form(subject: Subject) -> None:
    """`index` returns an IndexReport, `search` a Ranking or what functions may return."""
    with AdaptedRetriever(subject.make()) as retriever:
        report: object = retriever.index(subject.documents)
        told = (
            f"index returned {report!r:.60}; return IndexReport(chunks=…) of assay.retrievers.base"
        )
        require(isinstance(report, IndexReport), told)
        try:
            retriever.search(subject.queries[0], 3)
        except AssayError as error:
            raise ConformanceError(str(error)) from error


def at_most_k(subject: Subject) -> None:
    """A search returns at most k hits, and a k beyond the collection is no error."""
    with subject.index() as retriever:
        for k in (1, 2, 3, 10_000):
            found = len(retriever.search(subject.queries[0], k).hits)
            require(found <= k, f"{found} hits were returned for k = {k}")


def no_chunk_twice(subject: Subject) -> None:
    """No chunk is returned twice."""
    for query, ranking in subject.search().items():
        ids = _ids(ranking)
        require(len(ids) == len(set(ids)), f"{query!r}: the same chunk was returned twice: {ids}")


def best_first(subject: Subject) -> None:
    """No score is higher than the one before it; scores are finite."""
    for query, ranking in subject.search().items():
        scores = [hit.score for hit in ranking.hits]
        require(all(map(math.isfinite, scores)), f"{query!r}: a score is not finite: {scores}")
        told = f"{query!r}: not best first: a score is higher than the one before it: {scores}"
        require(not rises(scores), f"{told}; a run judges the order returned, and warns")


def same_answer_again(subject: Subject) -> None:
    """The same call, on the same or on another instance, gives the same ranking."""
    with subject.index() as one, subject.index() as other:
        for query in subject.queries:
            first = _ids(one.search(query, 5))
            require(first == _ids(one.search(query, 5)), f"another answer to {query!r} again")
            require(first == _ids(other.search(query, 5)), f"two instances differ on {query!r}")


def smaller_k_is_a_prefix(subject: Subject) -> None:
    """A search for fewer hits returns the first of a search for more."""
    with subject.index() as retriever:
        for query in subject.queries:
            few, many = _ids(retriever.search(query, 2)), _ids(retriever.search(query, 5))
            require(few == many[:2], f"{query!r}: top 2 {few} is not the head of top 5 {many}")


def result_does_not_depend_on_the_order_of_documents(subject: Subject) -> None:
    """Documents given in another order are ranked the same, but for hits of equal scores."""
    with subject.index() as one, subject.index(subject.documents[::-1]) as other:
        for query in subject.queries:
            found = [
                sorted((-hit.score, hit.chunk.id) for hit in retriever.search(query, 10_000).hits)
                for retriever in (one, other)
            ]
            require(found[0] == found[1], f"{query!r}: order of documents matters: {found}")


def chunks_are_true(subject: Subject) -> None:
    """A chunk's text is what its document holds between its offsets, and is not blank."""
    texts = {document.id: document.text for document in subject.documents}
    for ranking in subject.search().values():
        for chunk in (hit.chunk for hit in ranking.hits):
            require(chunk.doc_id in texts, f"{chunk.doc_id!r} is no document of the collection")
            held = texts[chunk.doc_id][chunk.start : chunk.end]
            require(chunk.text == held, f"{chunk.id}: text differs from the document's")
            require(bool(chunk.text.strip()), f"{chunk.id}: a blank chunk was returned")


def finds_what_is_there(subject: Subject) -> None:
    """A query in a document's own words finds that document among the first three."""
    with subject.index() as retriever:
        for document in DOCUMENTS[:5]:
            sentence = document.text.split("\n\n")[1]
            found = [hit.chunk.doc_id for hit in retriever.search(sentence, 3).hits]
            require(document.id in found, f"{document.id} is not found by its own words: {found}")


def blank_finds_nothing(subject: Subject) -> None:
    """A blank query finds nothing."""
    with subject.index() as retriever:
        for query in ("", " \n\t"):
            found = _ids(retriever.search(query, 5))
            require(not found, f"{query!r} found {found}")


def odd_queries_are_answered(subject: Subject) -> None:
    """No text is an error: other scripts, control characters, operators, thousands of words."""
    with subject.index() as retriever:
        require_answers(lambda query: retriever.search(query, 5))


def indexing_replaces(subject: Subject) -> None:
    """Documents indexed before are gone after the next `index`."""
    with subject.index() as retriever:
        retriever.index(OTHER_DOCUMENTS)
        known = {document.id for document in OTHER_DOCUMENTS}
        for query in (*subject.queries, "lighthouse weather"):
            found = {hit.chunk.doc_id for hit in retriever.search(query, 10).hits}
            require(found <= known, f"stale documents after indexing anew: {found - known}")


def edits_are_seen(subject: Subject) -> None:
    """A document changed under its id is found by its new words, and nowhere by its old ones."""
    with subject.index() as retriever:
        for documents in ((EDITED, *DOCUMENTS[1:]), DOCUMENTS[1:]):
            retriever.index(documents)
            texts = {document.id: document.text for document in documents}
            for query in (*subject.queries, DOCUMENTS[0].text, EDITED.text):
                for chunk in (hit.chunk for hit in retriever.search(query, 10).hits):
                    held = texts.get(chunk.doc_id, "")[chunk.start : chunk.end]
                    require(chunk.text == held, f"stale text of {chunk.doc_id}: {chunk.text!r}")
            found = {hit.chunk.doc_id for hit in retriever.search(EDITED.text, 3).hits}
            require((EDITED.id in found) == (EDITED.id in texts), f"found for new words: {found}")


def threads_are_safe(subject: Subject) -> None:
    """Searches from several threads answer as they do one by one."""
    with subject.index() as retriever:
        require_safe_threads(lambda query: _ids(retriever.search(query, 5)), subject.queries)


def same_without_query_cache(subject: Subject) -> None:
    """`without_query_cache()` answers as the retriever itself."""
    with subject.index() as retriever:
        uncached = retriever.without_query_cache()
        for query in subject.queries:
            found = _ids(retriever.search(query, 5)), _ids(uncached.search(query, 5))
            require(found[0] == found[1], f"{query!r}: without_query_cache() differs: {found}")


def same_when_searched_plainly(subject: Subject) -> None:
    """`search_plain()` returns the chunks of `search()` in their order."""
    with subject.index() as retriever:
        for query in subject.queries:
            found = _ids(retriever.search(query, 5)), _ids(retriever.search_plain(query, 5))
            require(found[0] == found[1], f"{query!r}: search_plain() differs: {found}")


def trace_agrees(subject: Subject) -> None:
    """A trace has no negative time, names only chunks of the ranking, and ends with its hits."""
    for ranking in subject.search().values():
        require(all(entry.milliseconds >= 0 for entry in ranking.trace), "a negative time")
        known = {*_ids(ranking), *(chunk.id for chunk in ranking.others)}
        named = {id_ for entry in ranking.trace for id_, _ in entry.candidates}
        require(named <= known, f"the trace names chunks the ranking lacks: {named - known}")
        if ranking.trace:
            last = [id_ for id_, _ in ranking.trace[-1].candidates][: len(ranking.hits)]
            require(last == _ids(ranking), f"hits {_ids(ranking)} are not the last stage's {last}")


RULES = make_rules(
    answers_in_form,
    at_most_k,
    no_chunk_twice,
    best_first,
    same_answer_again,
    smaller_k_is_a_prefix,
    result_does_not_depend_on_the_order_of_documents,
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
    """Put what `make` returns to every rule.

    Args:
        make: Makes a new retriever that has indexed nothing; it is called once a rule or more.

    Raises:
        ConformanceError: At the first rule that is broken; its message names the rule.
    """
    for rule in RULES:
        rule.check(Subject(make))


def check_rules(
    rules: Sequence[Rule[Callable[[], S]]],
    build: Callable[[Resources], S],
    resources: Resources | None,
) -> None:
    """Check what `build` returns by every rule, by default with a cache that is then removed.

    Raises ConformanceError at the first rule that it breaks.
    """
    with TemporaryDirectory(prefix="assay-conformance-") as folder:
        given = resources or Resources(Cache(Path(folder)))
        for rule in rules:
            rule.check(lambda: build(given))


def require_answers(ask: Callable[[str], object]) -> None:
    """Raise ConformanceError if a blank or odd query, when it is asked, raises."""
    for query in ("", *ODD_QUERIES):
        try:
            ask(query)
        except Exception as error:
            raise ConformanceError(f"{query[:40]!r} raised {error!r}") from error


def require_safe_threads(ask: Callable[[str], object], queries: Sequence[str] = QUERIES) -> None:
    """Raise ConformanceError unless four threads get what one gets."""
    asked = [*queries] * 5
    alone = [ask(query) for query in asked]
    with ThreadPoolExecutor(4) as pool:
        require(alone == list(pool.map(ask, asked)), "threads disturb each other")


def _ids(ranking: Ranking) -> list[str]:
    return [hit.chunk.id for hit in ranking.hits]


def require(kept: bool, problem: str) -> None:
    """Raise ConformanceError, saying the `problem`, unless a rule is `kept`."""
    if not kept:
        raise ConformanceError(problem)
