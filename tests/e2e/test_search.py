"""`assay search`: one query, its hits, and the trace of every step."""

import json

import pytest

QUERY = (
    "When is the refund for a cancelled sailing sent, and may I take another boat instead of it?"
)
STAGES = (
    "retriever.stages=[{type: recency}, {type: content_hash}, {type: per_document},"
    " {type: neighbours, score_delta: null}, {type: context, max_tokens: 600}]"
)
SEARCH = ("search", "configs/bm25.yaml", QUERY)
RUN = ("run", "configs/hybrid_rrf.yaml", "latency.queries=0", "--no-track")


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
    done = assay(*SEARCH, "--context")
    assert done.returncode == 0, done.stderr
    for word in ("Conditions of Carriage", "score", "ranks: keyword 1", "what it did", "## "):
        assert word in done.stdout
    nothing = assay("search", "configs/bm25.yaml", "xyzzy", "--json")
    assert json.loads(nothing.stdout)["hits"] == []
    assert "nothing is found" in assay("search", "configs/bm25.yaml", "xyzzy").stdout


LAW = """---
title: Harbour law
---
# Harbour law

## Chapter 1. Words

### § 1 Definitions

“Berth” means a place at a quay, but does not include a mooring.

## Chapter 2. Dues

### § 2 The dues

A berth costs ten crowns a day. What is late falls under § 3.

### § 3 Late dues

Whoever pays late pays twice, as §§ 1–2 say.
"""


def test_what_is_around_a_hit(assay, assay_json, tmp_path):
    (tmp_path / "law.md").write_text(LAW)
    documents = "documents.chunker={type: structure, max_tokens: 32, overlap_tokens: 0}"
    command = ("search", "configs/bm25.yaml", "a berth costs crowns", f"dataset={tmp_path}")
    extra = (
        documents,
        "documents.context.source=headings",
        "retriever.stages=[{type: definitions}]",
    )
    (hit, *_) = assay_json(*command, *extra)["hits"]
    assert (hit["kind"], hit["section_id"], hit["level"]) == ("content", "sec_2", 3)
    assert hit["parents"] == ["harbour_law", "chapter_2"]
    assert (hit["order"], hit["total"]) == (3, 4)
    assert (hit["combined"], hit["split"]) == (False, False)
    assert hit["sections"] == ["sec_2"]
    assert hit["context"].startswith("Harbour law > Chapter 2. Dues")
    assert [item["targets"] for item in hit["references"]] == [["sec_3"]]
    assert [item["section_id"] for item in hit["outgoing"]] == ["sec_3"]
    assert [item["section_id"] for item in hit["incoming"]] == ["sec_3"]
    (definition,) = hit["definitions"]
    assert (definition["term"], definition["section_id"]) == ("Berth", "sec_1")
    assert definition["exceptions"] == ["does not include a mooring"]
    assert LAW[definition["start"] : definition["end"]].startswith("“Berth”")
    printed = assay(*command, *extra).stdout
    for words in ("content sec_2", "chunk 3 of 4", "below harbour_law > chapter_2", "except: "):
        assert words in printed


def test_a_file_and_a_folder_without_a_card(assay, assay_json, tmp_path):
    (tmp_path / "law.md").write_text(LAW)
    for place in (tmp_path, tmp_path / "law.md"):
        found = assay_json("search", "configs/bm25.yaml", "crowns", f"dataset={place}")
        assert found["hits"][0]["doc_id"] == "law.md"
    refused = assay("run", "configs/bm25.yaml", f"dataset={tmp_path}", "--no-track")
    assert refused.returncode == 2
    assert "assay init" in refused.stderr


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        (
            "[{type: ngram}, {type: content_hash}]",
            ("content_hash cannot follow ngram", "recency →"),
        ),
        ("[{type: semantic}, {type: mmr}]", ("semantic and mmr cannot stand together",)),
        ("[{type: threshold}]", ("threshold.minimum", "put calibrate before it")),
        ("[{type: mmr}, {type: neighbours}]", ("neighbours.score_delta", "null")),
        ("[{type: threshold, of: other}]", ("threshold.of", "no leg that searches")),
        ("[{type: recency, today: soon}]", ("today", "date")),
        ("[{type: context, tokenizer: nothing}]", ("tokenizer nothing", "bert-base-uncased")),
    ],
)
def test_stages_that_do_not_fit(assay, tmp_path, stages, words):
    done = assay(*RUN, f"retriever.stages={stages}", ASSAY_REPORTS=str(tmp_path))
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    for word in words:
        assert word in line
    assert not list(tmp_path.iterdir())
