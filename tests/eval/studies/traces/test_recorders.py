"""What the exporters of LangSmith and OpenLLMetry record is read as the searches that were made."""

import json
from pathlib import Path
from typing import Any

import pytest
from tools.read_traces import read

from assay.eval.studies.traces.spans import SpanError, read_span
from assay.eval.studies.traces.traces import REPEATED

DOGS, FERRY = "Dogs travel on deck.", "The ferry sails twice a day."
TEXTS = [(DOGS, "dogs.md"), (FERRY, "times.md")]


def test_spans_of_openllmetry():
    """tests/samples/openllmetry_traces/record.py says how the file was made."""
    path = Path(__file__).parents[3] / "samples/openllmetry_traces/spans.json"
    found, faults = read(path)
    assert [(i.query, i.session, i.answer) for i in found] == [
        ("may dogs travel", "s1", "on deck"),
        ("when does the ferry sail", "s1", "on deck"),
    ]
    # The retriever of LangChain hands on what its database found.
    assert [[(step.name, step.kind, step.inferred) for step in i.steps] for i in found] == [
        [("chroma.query", "leg", False)]
    ] * 2
    assert [(i.id, i.content, i.score, i.names) for i in found[0].found] == [
        ("c2", DOGS, 0.0, ("dogs.md",)),
        ("c1", FERRY, -2.0, ("times.md",)),  # by its distance
    ]
    assert [i.id for i in found[1].found] == ["c1", "c2"]
    assert faults == {
        "search without a query": 1,
        "answer of a database to several queries, which its events mix": 1,
    }


def test_openllmetry_without_a_database_reads_the_retriever():
    documents = [{"page_content": DOGS, "metadata": {"source": "dogs.md"}}, {"page_content": FERRY}]
    attributes = {
        "gen_ai.operation.name": "vector_db_retrieve",
        "traceloop.span.kind": "task",
        "traceloop.entity.input": json.dumps({"query": "dogs", "kwargs": {"name": "R"}}),
        "traceloop.entity.output": json.dumps({"documents": documents, "count": 2}),
    }
    raw = {"traceId": "a1", "spanId": "b1", "startTimeUnixNano": 1, "attributes": attributes}
    span = read_span(raw)
    assert (span.kind, span.query) == ("RETRIEVER", "dogs")
    assert span.found is not None
    assert [item.content for item in span.found] == [DOGS, FERRY]


def test_milvus_events_of_several_queries_are_refused():
    def make(*queries):
        name = "db.search.result"
        events = [
            {
                "name": name,
                "attributes": {
                    "db.search.query.id": query,
                    f"{name}.id": f"m{i}",
                    f"{name}.distance": 0.5 + i,
                    f"{name}.entity": json.dumps({"text": TEXTS[i][0], "path": TEXTS[i][1]}),
                },
            }
            for i, query in enumerate(queries)
        ]
        return {"traceId": "a1", "spanId": "b1", "startTimeUnixNano": 1, "events": events}

    found = read_span(make(0, 0)).found
    assert found is not None
    assert [(i.id, i.content, i.score, i.names) for i in found] == [
        ("m0", DOGS, -0.5, ("dogs.md",)),
        ("m1", FERRY, -1.5, ("times.md",)),
    ]
    with pytest.raises(SpanError, match="several queries"):
        read_span(make(0, 1))


@pytest.fixture(scope="module")
def runs():
    """Runs as LangSmith's API returns them, made by its client, of which nothing is sent."""
    langsmith = pytest.importorskip("langsmith")
    pytest.importorskip("langchain_core")
    import requests
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tracers import LangChainTracer

    sent = {}

    class Session(requests.Session):
        """Keeps what is posted, and patched, by the id of the run."""

        def request(self, method, url, *_, data=None, **__):
            values = json.loads(data)
            sent.setdefault(values["id"], {}).update(values)
            answer = requests.Response()
            answer.status_code = 200
            answer._content = b"{}"
            return answer

    client = langsmith.Client(
        api_url="http://localhost:1", api_key="none", session=Session(), auto_batch_tracing=False,
        info={},
    )  # fmt: skip

    @langsmith.traceable(run_type="retriever")
    def vectors(query: str) -> list[dict[str, Any]]:
        found = [{"page_content": text, "metadata": {"source": name}} for text, name in TEXTS]
        return [{**item, "type": "Document"} for item in (*found, found[0])]

    @langsmith.traceable
    def rerank(query: str, documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return documents[1::-1]

    @langsmith.traceable(metadata={"session_id": "s1"})
    def answer(question: str) -> str:
        rerank(question, vectors(question))
        return "on deck"

    @langsmith.traceable(run_type="retriever")
    def fail(query: str) -> None:
        raise OSError("no index")

    class Guides(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [
                Document(id=f"c{i}", page_content=text, metadata={"source": name})
                for i, (text, name) in enumerate(TEXTS)
            ]

    with langsmith.tracing_context(enabled=True, client=client):
        answer("may dogs travel")
        with pytest.raises(OSError, match="no index"):
            fail("what fails")
    tracer = LangChainTracer(client=client)
    Guides().invoke("when does the ferry sail", {"callbacks": [tracer]})
    tracer.wait_for_futures()
    return [langsmith.schemas.Run(**run).model_dump(mode="json") for run in sent.values()]


def nest(runs):
    children = {}
    copies = [{**run, "child_runs": children.setdefault(run["id"], [])} for run in runs]
    for run in copies:
        children.get(run["parent_run_id"], []).append(run)
    return [run for run in copies if not run["parent_run_id"]]


FORMS = {
    "list": json.dumps,
    "lines": lambda runs: "".join(f"{json.dumps(run)}\n" for run in runs),
    "answer": lambda runs: json.dumps({"runs": runs, "cursors": {"next": None}}, indent=1),
    "answer in a line": lambda runs: json.dumps({"runs": runs}) + "\n" + json.dumps({"runs": []}),
    "nested": lambda runs: json.dumps(nest(runs)),
}


@pytest.mark.parametrize("form", FORMS)
def test_runs_of_langsmith(form, runs):
    traces, faults = read(FORMS[form](runs).encode())
    by_query = {trace.query: trace for trace in traces}
    assert by_query.keys() == {"may dogs travel", "when does the ferry sail"}
    chain, ferry = by_query["may dogs travel"], by_query["when does the ferry sail"]
    assert (chain.session, chain.answer) == ("s1", "on deck")
    assert [(step.name, step.kind, step.inferred) for step in chain.steps] == [
        ("vectors", "leg", False),
        ("rerank", "stage", True),
    ]
    assert [(i.content, i.names) for i in chain.found] == [(FERRY, ("times.md",)),
                                                           (DOGS, ("dogs.md",))]  # fmt: skip
    assert [(i.id, i.content) for i in ferry.found] == [("c0", DOGS), ("c1", FERRY)]
    assert faults == {REPEATED: 1, "retriever span that tells no documents": 1}
