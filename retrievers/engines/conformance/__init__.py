"""The rules that every engine keeps, as checks that any can be put to.

    check_engine(settings)

A rule alone is checked of a `make` that returns an engine that has indexed nothing, and closes it.
Any cache that several of them share must be the same at each call.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from json import dumps

import numpy as np

from assay.retrievers.base import AssayError
from assay.retrievers.conformance import (
    ConformanceError,
    check_rules,
    make_rules,
    require,
    require_safe_threads,
)
from assay.retrievers.engines.base import Engine, StoreSettings
from assay.retrievers.engines.capabilities import SEARCHES
from assay.retrievers.engines.conformance.filter_rules import (
    restricted_engines_find_the_rest_in_order,
)
from assay.retrievers.engines.conformance.order_rules import (
    equal_scores_are_ordered_by_position,
    index_built_again_ranks_the_same,
    linked_texts_stand_beside_each_other,
)
from assay.retrievers.engines.conformance.sample import (
    DIMENSIONS,
    FEW,
    ODD,
    QUERIES,
    TEXTS,
    encode,
    index,
    search,
    search_fully,
)
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.settings import Resources

Make = Callable[[], Engine]


def nothing_is_found_in_nothing(make: Make) -> None:
    """Without texts every search is empty, before `index` and after."""
    with closing(make()) as engine:
        for _ in range(2):
            for kind in engine.searches:
                require(search(engine, kind, "ferry", 5) == [], f"{kind} found texts")
            index(engine, ())


def what_is_missing_is_refused(make: Make) -> None:
    """A search that an engine lacks is refused in one line that names the engine."""
    with closing(make()) as engine:
        index(engine)
        for kind in SEARCHES:
            if kind in engine.searches:
                continue
            try:
                search(engine, kind, "ferry", 5)
            except AssayError as error:
                require("\n" not in str(error), "more than one line")
                require(f"no {kind} search" in str(error), f"{error} does not tell what is missing")
            else:
                raise ConformanceError(f"it has no {kind} search, and answers one")


def dense_is_cosine(make: Make) -> None:
    """Exact dense search gives the nearest texts with their cosine, best first."""
    with closing(make()) as engine:
        if "dense" not in engine.searches:
            return
        vectors = index(engine)
        if not engine.metadata().get("exact"):
            recall = engine.metadata().get("recall_against_exact")
            require(isinstance(recall, float), "recall_against_exact is not told")
            return
        for query in QUERIES:
            cosines = vectors @ encode(query)
            found = engine.dense(encode(query), 20)
            scores = [score for _, score in found]
            best = sorted(cosines, reverse=True)[:20]
            require(len(found) == 20, f"{len(found)} texts instead of 20")
            require(np.allclose(scores, best, atol=1e-4), f"{scores} are not {best}")
            told = [cosines[position] for position, _ in found]
            require(np.allclose(scores, told, atol=1e-4), "scores are those of other texts")


def keyword_finds_shared_terms(make: Make) -> None:
    """Any shared word is enough, no text without one is found, scores fall."""
    with closing(make()) as engine:
        if "keyword" not in engine.searches:
            return
        index(engine, FEW)
        found = {position for position, _ in engine.keyword("cats zebra", 10)}
        require(0 in found, "one of two words is not enough")
        require(found <= {0, 2}, f"{found} share no term with the query")
        require(engine.keyword("zebra", 10) == [], "found a text without the word")
        index(engine)
        for query in QUERIES:
            scores = [score for _, score in engine.keyword(query, 50)]
            require(bool(scores), f"{query!r} finds nothing")
            require(scores == sorted(scores, reverse=True), "scores do not fall")
            require(min(scores) > 0, "a score is not above 0")


def hybrid_is_fused_from_its_lists(make: Make) -> None:
    """Texts from `hybrid` are in one of the lists; if search is exact, fused as `formula` says."""
    with closing(make()) as engine:
        if "hybrid" not in engine.searches:
            return
        index(engine)
        for query in QUERIES:
            lists = engine.lists(query, encode(query))
            fused = engine.hybrid(query, encode(query), 300)
            listed = {position for found in lists for position, _ in found}
            positions = [position for position, _ in fused]
            require(len(set(positions)) == len(positions), "a text twice")
            require(_falls(fused), f"{fused[:9]} is not best first, ties by position")
            if not engine.metadata().get("exact"):
                continue
            require(set(positions) <= listed, "a text that is in no list")
            expected = engine.formula.fuse(*lists)
            require(
                _agree(fused, expected),
                f"{fused[:5]} is not {expected[:5]}: {engine.formula.statement}",
            )


def smaller_limits_give_heads(make: Make) -> None:
    """A list to a smaller limit is the head of that to a larger one, in scores."""
    with closing(make()) as engine:
        index(engine)
        for query in QUERIES:
            for kind in engine.searches:
                long, short = (search(engine, kind, query, limit) for limit in (1000, 3))
                if engine.metadata().get("exact"):
                    heads = [score for _, score in long[:3]], [score for _, score in short]
                    require(len(heads[0]) == len(heads[1]), "another length")
                    require(np.allclose(*heads, atol=1e-5), f"{heads[1]} is not {heads[0]}")
                require(len(short) <= 3, "more than the limit")


def same_answer_again(make: Make) -> None:
    """The same search gives the same list, also from an engine opened again."""

    def ask(engine: Engine) -> list[list[Scored]]:
        return [search_fully(engine, query, 50) for query in QUERIES]

    with closing(make()) as engine, closing(make()) as other:
        index(engine)
        first = ask(engine)
        require(ask(engine) == first, "another answer the second time")
        index(other)
        require(ask(other) == first, "another answer from the second engine")


def indexing_replaces(make: Make) -> None:
    """Texts indexed before are gone, and those of another model are others."""
    with closing(make()) as engine:
        index(engine)
        index(engine, ("one zebra", "two horses"))
        if "keyword" in engine.searches:
            require(engine.keyword("ferry", 5) == [], "an old text is found")
        found = [position for position, _ in search_fully(engine, "zebra", 5)]
        require(found[:1] == [0], "the new text is not found")
        require(set(found) <= {0, 1}, "an old text is found")
        if "dense" not in engine.searches:
            return
        texts = ("one zebra", "two horses")
        swapped = np.array([encode(text) for text in reversed(texts)], np.float32)
        engine.index(texts, swapped, "another model")
        nearest = engine.dense(encode("one zebra"), 1)
        require([position for position, _ in nearest] == [1], "vectors of the old model answer")


def odd_texts_are_data(make: Make) -> None:
    """Operators and quotes of any query language are words or nothing, indexed or asked."""
    with closing(make()) as engine:
        index(engine, (*ODD, *TEXTS))
        for query in ODD:
            for kind in engine.searches:
                search(engine, kind, query, 5)
        if "keyword" not in engine.searches:
            return
        found = {position for position, _ in engine.keyword("ferry -ticket", 1000)}
        require(bool(found), "an operator was obeyed")


def wrong_dimensions_are_told(make: Make) -> None:
    """A vector of another length is refused in one line."""
    with closing(make()) as engine:
        if "dense" not in engine.searches:
            return
        index(engine)
        try:
            engine.dense(np.ones(DIMENSIONS + 1, np.float32), 5)
        except AssayError as error:
            require("\n" not in str(error), "more than one line")
            require(str(DIMENSIONS) in str(error), f"{error} does not tell the right length")
        else:
            raise ConformanceError("a vector of another length was searched for")


def threads_are_safe(make: Make) -> None:
    """Four threads find what one finds."""
    with closing(make()) as engine:
        index(engine)
        require_safe_threads(lambda query: search_fully(engine, query, 20), QUERIES)


def facts_are_plain(make: Make) -> None:
    """Facts are JSON values with name, version and exactness; closing twice does no harm."""
    engine = make()
    index(engine)
    facts = dict(engine.metadata())
    dumps(facts)
    require({"engine", "version", "exact"} <= facts.keys(), f"{facts} lack some")
    require(bool(engine.formula.statement), "no statement of the formula")
    engine.close()
    engine.close()


RULES = make_rules(
    nothing_is_found_in_nothing,
    what_is_missing_is_refused,
    dense_is_cosine,
    keyword_finds_shared_terms,
    hybrid_is_fused_from_its_lists,
    smaller_limits_give_heads,
    same_answer_again,
    equal_scores_are_ordered_by_position,
    index_built_again_ranks_the_same,
    indexing_replaces,
    odd_texts_are_data,
    wrong_dimensions_are_told,
    threads_are_safe,
    facts_are_plain,
    restricted_engines_find_the_rest_in_order,
    linked_texts_stand_beside_each_other,
)


def check_engine(settings: StoreSettings, resources: Resources | None = None) -> None:
    """Put the engine of `settings` to every rule.

    Args:
        settings: The settings of the engine, as a config has them.
        resources: What is used to build it; by default a cache that is removed afterwards.

    Raises:
        ConformanceError: At the first rule that is broken; its message names the rule.
    """
    check_rules(RULES, settings.build, resources)


def _falls(found: Sequence[Scored]) -> bool:
    return list(found) == sorted(found, key=lambda pair: (-pair[1], pair[0]))


def _agree(found: Sequence[Scored], expected: Sequence[Scored]) -> bool:
    """Return True if both give the same texts scores that are equal but for rounding."""
    wanted = dict(expected[: len(found)])
    scores = [score for _, score in found], [score for _, score in expected[: len(found)]]
    if len(scores[0]) != len(scores[1]) or not np.allclose(*scores, rtol=1e-4, atol=1e-6):
        return False
    # Texts may change places only where their scores are as good as equal.
    last = expected[len(found) - 1][1] if found else 0.0
    return all(
        np.isclose(score, dict(expected).get(position, np.inf), rtol=1e-4, atol=1e-6)
        or score <= last * (1 + 1e-4)
        for position, score in found
        if position in wanted or score > last
    )
