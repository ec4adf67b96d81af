"""Retrievers of LangChain, LlamaIndex and Haystack, given as objects, of the real packages."""

from types import SimpleNamespace

import pytest
from tools import framework_retrievers
from tools.framework_retrievers import TEXTS, documents

from assay import compare, run
from assay.retrievers.base import AssayError

PACKAGES = {"langchain": "langchain_core", "llamaindex": "llama_index", "haystack": "haystack"}
COLLECTION = {
    "documents": TEXTS,
    "queries": {"q1": "when does the ferry sail?", "q2": "the night train"},
    "judgments": {"q1": {"guides/ferry.md": 1}, "q2": {"guides/train.md": 1}},
    "name": "guides",
}


def list_hits(result):
    rankings = result.stored.rankings.items()
    return {query: [(hit.chunk.id, hit.score) for hit in each.hits] for query, each in rankings}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PACKAGES)
def test_an_object_is_judged_as_by_its_path(kind):
    pytest.importorskip(PACKAGES[kind], reason=f"needs the extra `{kind}`")
    made = getattr(framework_retrievers, kind)(documents())
    framework_retrievers.made = made  # type: ignore[attr-defined]
    path = {"type": kind, "object": "tools.framework_retrievers:made", "nondeterministic": True}
    by_path = run({"name": "by-path", "retriever": path}, collection=COLLECTION, track=False)
    given = run(made, collection=COLLECTION, track=False)
    assert list_hits(given) == list_hits(by_path)
    assert list_hits(given)["q1"]
    assert given.tables["measures"].equals(by_path.tables["measures"])
    assert given.name == type(made).__name__
    # What it holds is unknown, so that it is asked again.
    assert run(made, collection=COLLECTION, track=False).id != given.id
    assert compare(by_path, given).tables["differences"]["difference"].eq(0).all()


def test_a_pipeline_of_haystack_is_one_as_a_component():
    haystack = pytest.importorskip("haystack", reason="needs the extra `haystack`")
    pipeline = haystack.Pipeline()
    pipeline.add_component("words", framework_retrievers.haystack(documents()))
    whole = haystack.SuperComponent(
        pipeline,
        input_mapping={"query": ["words.query"]},
        output_mapping={"words.documents": "documents"},
    )
    given = run(whole, collection=COLLECTION, name="whole", track=False)
    assert list_hits(given)["q1"][0][0].startswith("guides/ferry.md")


class LooksLikeLangChain:
    def invoke(self, query):
        if "night" in query:
            raise RuntimeError("out\nof order")
        return [SimpleNamespace(page_content="The ferry sails at noon.", metadata={}, id=None)]


class Engine:
    def run(self, steps):
        raise AssertionError("what takes no query is not called")


def test_an_object_is_told_by_its_method_and_its_fault_in_a_line():
    only = {**COLLECTION, "queries": {"q1": "ferry"}, "judgments": {"q1": {"guides/ferry.md": 1}}}
    assert list_hits(run(LooksLikeLangChain(), collection=only, track=False))["q1"]
    with pytest.raises(AssayError, match=r"LooksLikeLangChain.*night.*out of order") as told:
        run(LooksLikeLangChain(), collection=COLLECTION, track=False)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("what", [Engine(), 3, object(), LooksLikeLangChain])
def test_anything_else_is_a_type_error_that_says_what_is_allowed(what):
    with pytest.raises(TypeError, match=r"allowed: a config") as told:
        run(what, collection=COLLECTION, track=False)
    assert isinstance(told.value, AssayError)
    assert "\n" not in str(told.value)
    for name in (".invoke", ".retrieve", ".run", "f(query, k)", "TREC"):
        assert name in str(told.value)
