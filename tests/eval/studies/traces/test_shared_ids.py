"""Documents of one id and different texts are documents of their own; what is merged is counted."""

import json
from collections import Counter

from doubles.spans import FERRY, Emitter, emit_search, flatten
from hypothesis import given
from hypothesis import strategies as st
from tools.read_traces import read

from assay.eval.studies.traces import matching, reading
from assay.eval.studies.traces.documents import RecordedDocument, unique
from assay.eval.studies.traces.traces import REPEATED
from assay.retrievers.base import Document, Quiet

QUERY = "may dogs travel"


PARTS = [
    {"id": "dogs.md", "text": f"Part {i} of the rules for dogs.", "score": 1 - i / 100}
    for i in range(30)
]


def test_parts_of_one_file_are_documents_of_their_own():
    emitter = emit_search(QUERY, [*PARTS, PARTS[3], FERRY])
    [trace], faults = read(emitter)
    assert [item.content for item in trace.found] == [item["text"] for item in (*PARTS, FERRY)]
    assert faults == {REPEATED: 1}


def test_what_a_run_cannot_tell_apart_is_counted(tmp_path):
    nameless = {"text": "No one knows where this stands."}
    path = tmp_path / "a.jsonl"
    path.write_bytes(emit_search(QUERY, [*PARTS, nameless, FERRY]).line())
    made = reading.read([str(path)], None, tmp_path / "out", False, "traces", Quiet())
    assert [step.documents for step in made.figures.steps.values()] == [32]
    row = json.loads((tmp_path / "out/run.jsonl").read_text())
    assert [hit["id"] for hit in row["ranking"]] == ["dogs.md", FERRY["id"]]
    assert made.faults == {matching.SAME_NAME: 29, matching.NAMELESS: 1}


def test_parts_of_one_file_are_found_where_they_stand():
    text = "\n\n".join(str(part["text"]) for part in PARTS)
    changed = [{"id": "dogs.md", "text": f"Another edition, part {i}."} for i in range(2)]
    [trace], _ = read(emit_search(QUERY, [*PARTS, *changed]))
    faults = Counter[str]()
    matcher = matching.DocumentMatcher([Document("dogs.md", text, "Dogs")])
    row = matching.render_run(trace, "q1", "traces", faults, matcher)
    places = [text[hit["start"] : hit["end"]] for hit in row["ranking"]]
    assert places == [*(part["text"] for part in PARTS), text]
    assert faults == {matching.SAME_PLACE: 1}


def test_a_reranker_of_parts_of_one_file_is_a_step():
    emitter = Emitter()
    kind = "openinference.span.kind"
    with emitter.span("chain", input__value=QUERY):
        with emitter.span("vectors", input__value=QUERY) as span:
            span.set_attributes({kind: "RETRIEVER", **flatten(PARTS[:10])})
        with emitter.span("rerank", input__value=QUERY) as span:
            best = flatten(PARTS[9::-1], "reranker.output_documents")
            span.set_attributes({kind: "RERANKER", **best})
    [trace], _ = read(emitter)
    assert [step.name for step in trace.steps] == ["vectors", "rerank"]
    assert [item.content for item in trace.found] == [part["text"] for part in PARTS[9::-1]]


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from(["", "x", "y"]))))
def test_what_differs_by_id_or_text_is_kept_in_order(pairs):
    given_ = [RecordedDocument(id_, text, None, (), None) for id_, text in pairs if id_ or text]
    kept = unique(given_)
    assert len(kept) == len({*kept})
    assert kept == [item for item in dict.fromkeys(given_) if item in kept]
    for item in given_:
        assert any(
            item.id == other.id and (item.content in ("", other.content) or not other.content)
            for other in kept
        )
    if all(item.content for item in given_):
        assert kept == list(dict.fromkeys(given_))
