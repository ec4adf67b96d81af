"""`assay.step`: what stands in the spans of somebody's own functions."""

import asyncio
import json

import pytest
from doubles.spans import Emitter
from opentelemetry import trace

import assay
from assay.eval.studies.traces.documents import RecordedDocument, read_documents
from assay.retrievers.base import AssayError


@pytest.fixture
def emitter(monkeypatch):
    made = Emitter()
    monkeypatch.setattr(trace, "get_tracer", made.provider.get_tracer)
    return made


def read(emitter):
    [span] = emitter.spans
    return read_documents((span.attributes or {}).get("gen_ai.retrieval.documents"))


def test_a_decorated_function_tells_its_query_its_list_and_nothing_else(emitter):
    @assay.step("bm25", kind="leg")
    def search(query, k=2):
        """Search."""
        return [("c1", 2.0), ("c2", 1.0)][:k]

    assert search("dogs", k=1) == [("c1", 2.0)]
    assert search.__doc__ == "Search."
    [span] = emitter.spans
    assert span.name == "bm25"
    assert span.attributes == {
        "assay.step.kind": "leg",
        "openinference.span.kind": "RETRIEVER",
        "gen_ai.retrieval.query.text": "dogs",
        "input.value": "dogs",
        "gen_ai.retrieval.documents": '[["c1", 2.0]]',
    }
    assert read(emitter) == [RecordedDocument("c1", "", 2.0, (), None)]


def test_a_coroutine_and_an_error(emitter):
    @assay.step("rerank")
    async def rerank(query, documents):
        if not documents:
            raise KeyError(query)
        return documents[::-1]

    assert asyncio.run(rerank("dogs", ["c1", "c2"])) == ["c2", "c1"]
    assert [item.id for item in read(emitter) or ()] == ["c2", "c1"]
    with pytest.raises(KeyError):
        asyncio.run(rerank("dogs", []))
    assert not emitter.spans[1].status.is_ok


def langchain():
    from langchain_core.documents import Document

    return Document(id="c1", page_content="Dogs travel.", metadata={"source": "dogs.md"})


def llamaindex():
    from llama_index.core.schema import NodeWithScore, TextNode

    metadata = {"source": "dogs.md"}
    node = TextNode(id_="c1", text="Dogs travel.", metadata=metadata, start_char_idx=7)
    return NodeWithScore(node=node, score=0.5)


@pytest.mark.parametrize(
    ("make", "known"),
    [
        (lambda: {"id": "c1", "text": "Dogs travel."}, ("c1", "Dogs travel.", None, (), None)),
        (langchain, ("c1", "Dogs travel.", None, ("dogs.md",), None)),
        (lambda: (langchain(), 0.5), ("c1", "Dogs travel.", 0.5, ("dogs.md",), None)),
        (llamaindex, ("c1", "Dogs travel.", 0.5, ("dogs.md",), 7)),
    ],
)
def test_documents_of_frameworks(make, known, emitter):
    with assay.step("search", kind="leg", query="dogs") as recorded:
        recorded.record([make()])
    assert read(emitter) == [RecordedDocument(*known)]


def test_a_list_of_more_than_the_attributes_of_a_span(emitter):
    with assay.step("search", kind="leg", query="dogs") as recorded:
        recorded.record(f"c{i}" for i in range(1000))
    assert len(read(emitter) or ()) == 1000
    assert not emitter.spans[0].dropped_attributes


def test_a_step_within_a_step_and_calls_within_calls(emitter):
    @assay.step("walk", kind="leg")
    def walk(query, depth):
        return [query, *(walk(query, depth - 1) if depth else [])]

    walk("dogs", 2)
    lists = [
        json.loads(str((span.attributes or {})["gen_ai.retrieval.documents"]))
        for span in emitter.spans
    ]
    assert [len(listed) for listed in lists] == [1, 2, 3]


def test_a_kind_that_there_is_not():
    wrong = assay.step
    with pytest.raises(AssayError, match="allowed: query, leg, fusion, stage"):
        wrong("rerank", kind="rerank")
