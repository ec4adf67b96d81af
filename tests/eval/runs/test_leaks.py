"""What a principal may not read is never shown, and every way to show it all the same is found."""

from dataclasses import replace

import pytest

from assay.eval.collections.in_memory import make_collection
from assay.eval.runs.execution.searching import index, search
from assay.eval.runs.summary.summary import describe_bound
from assay.retrievers.base import AssayError, Hit, LeakError, Quiet
from assay.retrievers.legs.graph import GraphLeg
from assay.retrievers.legs.leg_set import LegGroup
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.pipeline.pipeline import Pipeline
from assay.retrievers.pipeline.query_cache import Answers
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import Stage
from assay.retrievers.stages.definitions import Definitions
from assay.retrievers.stages.passages import Neighbours, Parents
from assay.retrievers.store.cache import Cache

PERMISSIONS = {
    "fields": {"readers": "list of text", "year": "number"},
    "readers": "readers",
    "principals": {"anna": ["staff", "all"], "carl": ["all"]},
}
DOCUMENTS = {
    "open.md": {
        "text": "# Valves\n\nA valve closes the pipe. See [the secret](secret.md).\n\n"
        "## More\n\nThe Flow Code is printed on each valve.\n",
        "metadata": {"readers": ["all"], "year": 2020},
    },
    "secret.md": {
        "text": "# Glossary\n\n## Definitions\n\n**Flow Code** means the valve number.\n\n"
        "## Margin\n\nThe margin of a valve is ten.\n",
        "metadata": {"readers": ["staff"], "year": 2024},
    },
    "nobody.md": {"text": "# Lost\n\nA valve that nobody may read of.\n", "metadata": {}},
}
QUERIES = {
    "q1": {"text": "valve", "principal": "anna"},
    "q2": {"text": "valve", "principal": "carl"},
    "q3": {"text": "valve", "filter": {"field": "year", "range": {"ge": 2021}}},
}
JUDGMENTS = {id_: {"open.md": 1, "secret.md": 1} for id_ in QUERIES}
MAY = {
    "q1": {"open.md", "secret.md"},
    "q2": {"open.md"},
    "q3": {"secret.md"},
}
KEYWORD = {"type": "bm25"}
EVERY = {
    "legs": {"keyword": KEYWORD, "graph": {"type": "graph", "hops": 2}},
    "fusion": {"type": "rrf"},
    "stages": [
        {"type": "neighbours", "score_delta": None},
        {"type": "definitions"},
        {"type": "context"},
    ],
    "cache": {"type": "memory"},
}
PARENTS = {"legs": {"keyword": KEYWORD}, "stages": [{"type": "parents"}]}
ENGINE = {"legs": {"keyword": {"type": "engine_keyword", "engine": {"type": "sqlite"}}}}


@pytest.fixture(scope="module")
def collection():
    judgments = {id_: [("open.md", 10, 34), ("secret.md", 80, 100)] for id_ in QUERIES}
    return make_collection(DOCUMENTS, QUERIES, judgments, permissions=PERMISSIONS)


def build(retriever, collection, tmp_path):
    chunker = {"type": "parent_child"} if retriever is PARENTS else {"type": "sections"}
    config = PipelineConfig.model_validate(
        {"name": "p", "retriever": retriever, "documents": {"chunker": chunker}}
    )
    pipeline = config.build(Resources(Cache(tmp_path), Quiet()))
    assert isinstance(pipeline, Pipeline)
    index(pipeline, collection)
    return pipeline


def search_all(pipeline, collection):
    return {query.id: search(pipeline, collection, query, 10) for query in collection.queries}


@pytest.mark.slow
@pytest.mark.parametrize("retriever", [EVERY, PARENTS, ENGINE])
def test_each_query_finds_all_that_it_may_and_nothing_else(retriever, collection, tmp_path):
    with build(retriever, collection, tmp_path) as pipeline:
        for _ in range(2):  # the second time from the query cache, if there is one
            for id_, ranking in search_all(pipeline, collection).items():
                assert {hit.chunk.doc_id for hit in ranking.hits} == MAY[id_]
    assert {item.doc_id for item in collection.gold["q2"]} == {"open.md"}


def drop_restriction(patch):
    def search_unrestricted(self, name, request, allowed, depth, found):
        return self._search(name, self._legs[name], request, depth, found)

    patch.setattr(LegGroup, "_search_allowed", search_unrestricted)


def share_answers(patch):
    key = Answers.key
    patch.setattr(Answers, "key", lambda self, query, k, allowed="": key(self, query, k))


def follow_every_edge(patch):
    patch.setattr(GraphLeg, "restrict", lambda self, allowed: self)


def define_from_everywhere(patch):
    patch.setattr(Definitions, "restrict", Stage.restrict)


def reach_into_others(stage):
    """Return what makes `stage` pull in a chunk of another document."""

    def seed(patch):
        indexing, applying = stage.index, stage.apply

        def take(self, corpus, top):
            self.all_chunks = corpus.chunks
            indexing(self, corpus, top)

        def add(self, query, hits):
            result = applying(self, query, hits)
            score = min((hit.score for hit in result.hits), default=1.0)
            held = {hit.chunk.id for hit in result.hits}
            pulled = [Hit(chunk, score) for chunk in self.all_chunks if chunk.id not in held]
            return replace(result, hits=[*result.hits, *pulled])

        patch.setattr(stage, "index", take)
        patch.setattr(stage, "apply", add)

    return seed


def pool_more(patch):
    """Let what a reranker would be given, and drops, hold what may not be read."""
    searching = Pipeline._search

    def seed(self, query, k):
        return replace(searching(self, query, k), others=tuple(self.list_chunks()))

    patch.setattr(Pipeline, "_search", seed)


@pytest.mark.parametrize(
    ("retriever", "seed"),
    [
        (EVERY, drop_restriction),
        (ENGINE, drop_restriction),
        (EVERY, share_answers),
        (EVERY, follow_every_edge),
        (EVERY, define_from_everywhere),
        (EVERY, reach_into_others(Neighbours)),
        (PARENTS, reach_into_others(Parents)),
        (EVERY, pool_more),
    ],
)
def test_a_seeded_leak_is_an_error_that_names_query_and_chunk(
    retriever, seed, collection, tmp_path, monkeypatch
):
    seed(monkeypatch)
    with (
        build(retriever, collection, tmp_path) as pipeline,
        pytest.raises(
            LeakError, match=r"leak: query q\d shows .* (secret|nobody)\.md, which principal"
        ) as raised,
    ):
        search_all(pipeline, collection)
    assert raised.value.status == 1


def test_the_bound_is_of_queries_with_a_principal(collection):
    queries = {query.id: query for query in collection.queries}
    told = describe_bound(queries, "2026-11-28")
    assert told.startswith("No leak in 2 queries with a principal, as of 2026-11-28: ")
    assert "100.0%" in told
    assert describe_bound({"q3": queries["q3"]}, "2026-11-28") == ""


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"principal": "ann"}, "no such one: ann; allowed: anna, carl; did you mean anna"),
        ({"filter": {"field": "yaer", "equals": 1}}, "no such field: yaer; allowed: readers, year"),
        ({"filter": {"field": "year", "equals": "x"}}, "year: 'x' is no number"),
    ],
)
def test_a_query_that_asks_what_the_card_does_not_know_is_refused(query, told):
    with pytest.raises(AssayError, match=f"queries.*{told}"):
        make_collection(
            DOCUMENTS,
            {"q": {"text": "valve", **query}},
            {"q": ["open.md"]},
            permissions=PERMISSIONS,
        )
