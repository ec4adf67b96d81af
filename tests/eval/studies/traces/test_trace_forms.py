"""The same searches, in every form in which they are stored, are the same traces."""

import gzip
import json
from io import BytesIO
from pathlib import Path

import pyarrow
import pytest
from click.testing import CliRunner
from doubles.spans import DOGS, FERRY, Emitter, emit_search, flatten, list_spans
from opentelemetry.trace import StatusCode
from pyarrow import parquet
from tools.read_traces import read

from assay.eval.cli.main import assay

QUERY = "may dogs travel"


def phoenix(batch):
    """Spans as Phoenix's client returns them."""
    return [
        {
            "name": span["name"],
            "context": {"trace_id": span["traceId"], "span_id": span["spanId"]},
            "parent_id": span.get("parentSpanId"),
            "start_time": f"2026-11-26T18:00:0{i}.000000+00:00",
            "end_time": f"2026-11-26T18:00:0{i}.250000+00:00",
            "attributes": {
                item["key"]: next(iter(item["value"].values())) for item in span["attributes"]
            },
        }
        for i, span in enumerate(reversed(list_spans(batch)))
    ]


def frame(rows):
    """Rows of Phoenix's DataFrame: contexts and attributes are columns, documents a list."""
    names = {"document.id": "id", "document.content": "text", "document.score": "score"}
    documents = [{key: item[name] for key, name in names.items()} for item in (DOGS, FERRY)]
    return [
        {
            **{key: row[key] for key in ("name", "parent_id", "start_time", "end_time")},
            **{f"context.{key}": value for key, value in row["context"].items()},
            "span_kind": row["attributes"]["openinference.span.kind"],
            **{
                f"attributes.{key}": row["attributes"].get(key)
                for key in ("input.value", "output.value", "session.id")
            },
            "attributes.retrieval.documents": documents if row["parent_id"] else None,
        }
        for row in rows
    ]


def mlflow(batch):
    found = [{"page_content": i["text"], "id": i["id"], "score": i["score"]} for i in (DOGS, FERRY)]
    told = {
        "vectors": {"Type": "RETRIEVER", "Inputs": QUERY, "Outputs": found},
        "chain": {"Type": "CHAIN", "Inputs": {"question": QUERY}, "Outputs": "on deck"},
    }
    spans = [
        {
            "trace_id": span["traceId"],
            "span_id": span["spanId"],
            "parent_span_id": span.get("parentSpanId"),
            "name": span["name"],
            "start_time_unix_nano": int(span["startTimeUnixNano"]),
            "end_time_unix_nano": int(span["endTimeUnixNano"]),
            "attributes": {
                f"mlflow.span{key}": json.dumps(value) for key, value in told[span["name"]].items()
            },
        }
        for span in list_spans(batch)
    ]
    return {"info": {"trace_metadata": {"mlflow.trace.session": "s1"}}, "data": {"spans": spans}}


def langfuse(batch):
    span = next(span for span in list_spans(batch) if span["name"] == "vectors")
    return {
        "id": span["traceId"],
        "timestamp": "2026-11-26T18:00:00.000Z",
        "name": "chain",
        "sessionId": "s1",
        "input": {"question": QUERY},
        "output": "on deck",
        "observations": [
            {
                "id": "o1",
                "traceId": span["traceId"],
                "type": "RETRIEVER",
                "name": "vectors",
                "startTime": "2026-11-26T18:00:00.100Z",
                "endTime": "2026-11-26T18:00:00.200Z",
                "parentObservationId": None,
                "input": QUERY,
                "output": [DOGS, FERRY],
            }
        ],
    }


def langfuse_page(trace):
    """A page of Langfuse's observations, whose inputs and outputs are texts."""
    root = {**trace, "traceId": trace["id"], "startTime": trace["timestamp"], "type": "CHAIN"}
    children = [
        {**item, "parentObservationId": trace["id"], "sessionId": trace["sessionId"]}
        for item in root.pop("observations")
    ]
    for item in (root, *children):
        texts = {key: item[key] for key in ("input", "output") if not isinstance(item[key], str)}
        item.update({key: json.dumps(value) for key, value in texts.items()})
    return {"data": [*children, root], "meta": {"cursor": None}}


def lines(rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


FORMS = {
    "otlp.json": lambda batch: batch,
    "laid_out.json": lambda batch: json.dumps(batch, indent=1).encode(),
    "marked.json": lambda batch: b"\xef\xbb\xbf" + json.dumps(batch, indent=1).encode(),
    "otlp.jsonl": lambda batch: lines([batch, {"resourceSpans": []}]),
    "twice.jsonl": lambda batch: lines([batch] * 2),
    "otlp.jsonl.gz": lambda batch: gzip.compress(lines([batch, {"resourceSpans": []}])),
    "phoenix.json": phoenix,
    "phoenix_page.json": lambda batch: {"data": phoenix(batch), "next_cursor": None},
    "phoenix.jsonl": lambda batch: lines(phoenix(batch)),
    "phoenix_frame.json": lambda batch: frame(phoenix(batch)),
    "phoenix.parquet": lambda batch: pack(frame(phoenix(batch))),
    "mlflow.json": mlflow,
    "mlflow.jsonl": lambda batch: lines([mlflow(batch)] * 2),
    "langfuse.json": langfuse,
    "langfuse_list.json": lambda batch: json.dumps([langfuse(batch)], indent=2).encode(),
    "langfuse_page.json": lambda batch: langfuse_page(langfuse(batch)),
}


def pack(rows):
    file = BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    return file.getvalue()


@pytest.mark.parametrize("form", FORMS)
def test_every_form_holds_the_same_search(form):
    [trace], faults = read(FORMS[form](emit_search(QUERY, [DOGS, FERRY]).otlp_json()), form)
    assert (trace.query, trace.session, trace.answer) == (QUERY, "s1", "on deck")
    assert [(i.id, i.content, i.score) for i in trace.found] == [
        tuple(DOGS.values()),
        tuple(FERRY.values()),
    ]
    [step] = trace.steps
    assert (step.name, step.kind, step.inferred) == ("vectors", "leg", False)
    twice = form in ("twice.jsonl", "mlflow.jsonl")
    assert list(faults.elements()) == ["span with an id that came before"] * 2 * twice


def test_spans_of_langfuses_own_client(tmp_path):
    """tests/samples/langfuse_traces/record.py says how the file was made."""
    path = Path(__file__).parents[3] / "samples/langfuse_traces/spans.json"
    found, _ = read(path)
    assert [(i.query, i.session, i.answer) for i in found] == [
        ("may dogs travel", "s1", "on deck"),
        ("where is the goat", "s2", "on deck"),
    ]
    assert [i.content for i in found[0].found] == [DOGS["text"], FERRY["text"]]
    words = ["traces", "read", str(path), "--consent", "--json"]
    done = CliRunner().invoke(assay, [*words, "--output", str(tmp_path / "traced")])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    keys = ("spans", "searches", "without_hits", "with_answer", "sessions", "faults")
    assert [told[key] for key in keys] == [8, 2, 1, 2, 2, {}]
    runs, queries = (Path(file).read_text().splitlines() for file in told["files"])
    assert [json.loads(line)["text"] for line in queries] == [trace.query for trace in found]
    steps = [json.loads(line)["steps"] for line in runs]
    listed = [
        [(i["name"], i["kind"], [tuple(item.values()) for item in i["ranking"]]) for i in each]
        for each in steps
    ]
    assert listed == [
        [
            ("vectors", "leg", [("c1", 0.5), ("c2", 0.25)]),
            ("rerank (inferred)", "stage", [("c2", 2.0), ("c1", 1.0)]),
        ],
        [("vectors", "leg", [])],
    ]


COLLECTOR = """\
{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},\
"scopeSpans":[{"scope":{"name":"app"},"spans":[\
{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","parentSpanId":"",\
"flags":256,"name":"vectors","kind":1,"startTimeUnixNano":"1781000000000000321",\
"endTimeUnixNano":"1781000000005000321","attributes":[\
{"key":"openinference.span.kind","value":{"stringValue":"RETRIEVER"}},\
{"key":"input.value","value":{"stringValue":"may dogs travel"}},\
{"key":"retrieval.documents.0.document.id","value":{"stringValue":"c2"}},\
{"key":"retrieval.documents.0.document.score","value":{"doubleValue":0.25}},\
{"key":"retrieval.documents.1.document.id","value":{"intValue":"7"}}],\
"status":{}}]}],"schemaUrl":"https://opentelemetry.io/schemas/1.37.0"}]}
"""


def test_lines_of_a_collectors_file_exporter():
    other = COLLECTOR.replace("5b8efff7", "6b8efff7").replace("dogs", "goats")
    found, faults = read(f"{COLLECTOR}{other}".encode(), "spans.jsonl")
    assert not faults
    assert [trace.query for trace in found] == ["may dogs travel", "may goats travel"]
    assert [(item.id, item.score) for item in found[0].found] == [("c2", 0.25), ("7", None)]
    assert found[0].milliseconds == 5


def test_a_search_that_found_nothing_is_one():
    emitter = Emitter()
    with emitter.span("search", openinference__span__kind="RETRIEVER", input__value=QUERY) as span:
        span.set_attribute("output.value", '{"documents": []}')
    [trace], _ = read(emitter)
    assert trace.found == []


def test_genai_conventions():
    emitter = Emitter()
    told = {"query.text": QUERY, "documents": '[{"id": "c2", "score": 0.25}, {"id": "c1"}]'}
    with emitter.span("retrieval kb", gen_ai__operation__name="retrieval") as span:
        span.set_attribute("gen_ai.conversation.id", "s2")
        span.set_attributes({f"gen_ai.retrieval.{key}": value for key, value in told.items()})
    [trace], _ = read(emitter)
    assert (trace.query, trace.session) == (QUERY, "s2")
    assert [(i.id, i.score) for i in trace.found] == [("c2", 0.25), ("c1", None)]


def test_lists_fused_and_reranked_are_stages_told_and_inferred():
    emitter = Emitter()
    with emitter.span("answer", input__value=QUERY):
        for name, found in (("dense", [FERRY, DOGS]), ("bm25", [DOGS])):
            with emitter.span(name, openinference__span__kind="RETRIEVER") as span:
                span.set_attributes(flatten(found))
        with emitter.span("rrf", output__value=json.dumps([DOGS, FERRY])):
            pass
        with emitter.span("cross-encoder", openinference__span__kind="RERANKER") as span:
            span.set_attributes(flatten([FERRY, DOGS], "reranker.output_documents"))
    [trace], _ = read(emitter)
    assert [(step.name, step.kind, step.inferred) for step in trace.steps] == [
        ("dense", "leg", False),
        ("bm25", "leg", False),
        ("rrf", "fusion", True),
        ("cross-encoder", "stage", False),
    ]
    assert [i.id for i in trace.found] == ["c1", "c2"]


def test_legs_that_nothing_joins_are_joined_in_their_order():
    emitter = Emitter()
    with emitter.span("answer", input__value=QUERY):
        for name, found in (("dense", [FERRY]), ("bm25", [DOGS, FERRY])):
            with emitter.span(name, openinference__span__kind="RETRIEVER") as span:
                span.set_attributes(flatten(found))
    [trace], _ = read(emitter)
    assert trace.steps[-1].inferred
    assert [i.id for i in trace.found] == ["c1", "c2"]


def test_each_call_of_a_tool_that_retrieves_is_a_search_of_its_own():
    emitter = Emitter()
    with emitter.span("agent", input__value="plan my trip"):
        for query in ("dogs", "ferry"):
            with emitter.span("tool", openinference__span__kind="TOOL", input__value=query):
                emit_search(query, [DOGS], emitter)
    found, _ = read(emitter)
    assert sorted(trace.query for trace in found) == ["dogs", "ferry"]
    assert len({trace.id for trace in found}) == 2


def test_a_retriever_that_tells_no_documents_though_it_does_elsewhere_found_none():
    silent = emit_search("cats", [])
    assert read(silent) == ([], {"retriever span that tells no documents": 1})
    emit_search(QUERY, [DOGS], silent)
    with silent.span("vectors", input__value="goats") as span:
        span.set_attribute("openinference.span.kind", "RETRIEVER")
        span.set_status(StatusCode.ERROR)
    traces, faults = read(silent)
    found = {trace.query: [item.id for item in trace.found] for trace in traces}
    assert found == {"cats": [], QUERY: ["c2"]}
    assert faults == {"retriever span that tells no documents": 1}


KIND = "openinference.span.kind"
TEXTS = [item["text"] for item in (DOGS, FERRY)]


def embed(emitter, texts):
    """Make the span of an embedding, as OpenInference's instrumentors do."""
    told = {f"embedding.embeddings.{i}.embedding.text": text for i, text in enumerate(texts)}
    with emitter.span("embed", **{KIND: "EMBEDDING", "input.value": json.dumps(texts)}, **told):
        pass


def list_documents(emitter, asked, embedded):
    """Make the spans of a function that embeds and returns documents, and says no kind of it."""
    documents = [{"page_content": text} for text in TEXTS]
    told = {KIND: "CHAIN", "input.value": asked, "output.value": json.dumps(documents)}
    with emitter.span("function", **told):
        embed(emitter, embedded)


def test_building_an_index_is_not_a_search():
    emitter = emit_search(QUERY, [DOGS])
    list_documents(emitter, "docs/ferry.md", TEXTS)
    list_documents(emitter, "docs/ferry.md", [f"file: ferry.md\n\n{text}" for text in TEXTS])
    documents = json.dumps({"documents": [{"content": text} for text in TEXTS]})
    # Haystack's embedder puts out the documents that it was given.
    told = {KIND: "EMBEDDING", "input.value": documents, "output.value": documents}
    with (
        emitter.span("pipeline", **{KIND: "CHAIN", "input.value": "docs/ferry.md"}),
        emitter.span("embedder", **told),
    ):
        pass
    with emitter.span("embeddings", gen_ai__operation__name="embeddings"):
        pass
    found, faults = read(emitter)
    assert [trace.query for trace in found] == [QUERY]
    assert faults == {"trace that embeds texts and retrieves nothing: not a search": 4}


def test_splitting_a_text_is_not_a_search_and_its_text_no_query():
    """As LlamaIndex's splitters are traced by OpenInference and by MLflow."""
    emitter = emit_search(QUERY, [DOGS])
    given = json.dumps({"text": " ".join(TEXTS), "metadata_str": ""})
    listed = json.dumps([{"id_": str(i), "text": text} for i, text in enumerate(TEXTS)])
    told = {KIND: "CHAIN", "input.value": '{"nodes": ["<Document>"]}', "output.value": listed}
    split = {KIND: "CHAIN", "input.value": given, "output.value": json.dumps(TEXTS)}
    with emitter.span("_parse_nodes", **told), emitter.span("split_text", **split):
        pass
    with emitter.span("IngestionPipeline.run"):
        with emitter.span("_parse_nodes", **told), emitter.span("split_text", **split):
            pass
        embed(emitter, [" ".join(TEXTS), *TEXTS])
    found, faults = read(emitter)
    assert [trace.query for trace in found] == [QUERY]
    assert faults == {
        "search without a query": 1,
        "trace that embeds texts and retrieves nothing: not a search": 1,
    }


def test_a_text_that_is_split_after_a_search_is_no_step_of_it():
    emitter = Emitter()
    with emitter.span("answer", input__value=QUERY):
        with emitter.span("search", input__value=QUERY, output__value=json.dumps([DOGS, FERRY])):
            pass
        with emitter.span("split", input__value=TEXTS[0], output__value=json.dumps(TEXTS[:1])):
            pass
    [trace], _ = read(emitter)
    assert [(step.name, len(step.documents or ())) for step in trace.steps] == [("search", 2)]


def test_embedding_a_query_is_part_of_a_search():
    emitter = Emitter()
    list_documents(emitter, QUERY, [QUERY])
    list_documents(emitter, QUERY, ["Dogs may travel, I think."])  # what a model made of the query
    list_documents(emitter, QUERY, [QUERY, *TEXTS])  # to rank them by similarity
    with emitter.span("chain", **{KIND: "CHAIN", "input.value": QUERY}):
        with emitter.span("vectors", **{KIND: "RETRIEVER"}, **flatten([DOGS, FERRY])):
            pass
        embed(emitter, TEXTS)
    found, faults = read(emitter)
    assert [len(trace.found) for trace in found] == [2, 2, 2, 2]
    assert not faults
