"""`assay search`: one query, its hits, and the trace of every step."""

QUERY = (
    "When is the refund for a cancelled sailing sent, and may I take another boat instead of it?"
)
STAGES = (
    "retriever.stages=[{type: recency}, {type: content_hash}, {type: per_document},"
    " {type: neighbours, score_delta: null}, {type: context, max_tokens: 600}]"
)
SEARCH = ("search", "configs/bm25.yaml", QUERY)


def test_hits_trace_and_context(assay_json):
    found = assay_json(*SEARCH, STAGES, "--k", "2", "--context")
    assert found["collection"] == "harbourline"
    first = found["hits"][0]
    assert [hit["rank"] for hit in found["hits"]] == [1, 2]
    assert first["legs"]["keyword"]["rank"] >= 1
    assert first["text"].strip() in found["context"]
    trace = {step["name"]: step for step in found["trace"]}
    assert list(trace) == [
        "keyword.analyse", "keyword", "recency", "content_hash", "per_document", "neighbours",
        "context",
    ]  # fmt: skip
    assert trace["per_document"]["out"] < trace["per_document"]["in"]
    assert "dropped" in trace["per_document"]["note"]
    assert trace["neighbours"]["counts"]["expanded"] == 1
    assert trace["context"]["in"] == trace["neighbours"]["out"]
    assert trace["context"]["out"] == found["found"] == trace["context"]["counts"]["chunks"]
    assert 0 < trace["context"]["counts"]["tokens"] <= 600
    assert found["context"].count("## ") >= 2


def test_it_reads_as_a_table(assay):
    shown = assay(*SEARCH, "--context").stdout
    for word in ("Conditions of Carriage", "score", "ranks: keyword 1", "what it did", "## "):
        assert word in shown
    assert "nothing is found" in assay("search", "configs/bm25.yaml", "xyzzy").stdout


LAW = """# Harbour law

## § 1 Definitions

“Berth” means a place at a quay, but does not include a mooring.

## § 2 The dues

A berth costs ten crowns a day.
"""


def test_a_file_and_a_folder_without_a_card(assay, assay_json, tmp_path):
    (tmp_path / "law.md").write_text(LAW)
    chunks = "documents.chunker={type: structure, max_tokens: 32, overlap_tokens: 0}"
    defined = "retriever.stages=[{type: definitions}]"
    for place in (tmp_path, tmp_path / "law.md"):
        words = ("search", "configs/bm25.yaml", "berth costs", f"dataset={place}", chunks, defined)
        hit = assay_json(*words)["hits"][0]
        assert (hit["doc_id"], hit["section_id"]) == ("law.md", "sec_2")
        (definition,) = hit["definitions"]
        assert (definition["term"], definition["section_id"]) == ("Berth", "sec_1")
        assert LAW[definition["start"] : definition["end"]].startswith("“Berth”")
    printed = assay(*words).stdout
    for told in ("content sec_2", "chunk 2 of 2", "below harbour_law", "except: "):
        assert told in printed
    refused = assay("run", "configs/bm25.yaml", f"dataset={tmp_path}", "--no-track")
    assert refused.returncode == 2
    assert "assay init" in refused.stderr
