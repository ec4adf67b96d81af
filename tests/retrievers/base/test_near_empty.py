"""Chunks with hardly a word besides headings: the rule, and where it is told."""

import json
from types import SimpleNamespace

import pytest
from tools.command_line import call

from assay.eval.runs.summary.summary import describe_first
from assay.retrievers.base import Chunk
from assay.retrievers.base.near_empty import describe_near_empty, is_near_empty


@pytest.mark.parametrize(
    ("text", "given", "near_empty"),
    [
        ("## Opening hours of the harbour office\n", {}, True),
        ("## Hours\n\nSee the other page.\n", {}, True),
        ("## Hours\n\nOpen from nine to five.\n", {}, False),
        ("# A\n\n## B\n\n### C\n\n", {}, True),
        ("Opening hours\n", {"headings": ("Office", "Opening hours")}, True),
        ("Hours of the old office\n=====\n", {"headings": ("Hours of the old office",)}, True),
        ("# not a heading in plain text\n", {"doc_id": "a.txt"}, False),
        ("#hashtags are no headings here\n", {}, False),
        ("## 营业时间\n\n九点到五点。\n", {}, False),  # a character is a word
        ("## 营业时间\n\n见下。\n", {}, True),
        ("", {}, True),
        ("---\n***\n", {}, True),
        ("**SLA**: response time.\n", {"kind": "definition"}, False),
    ],
)  # fmt: skip
def test_fewer_than_five_words_besides_headings(text, given, near_empty):
    chunk = Chunk("c", **{"doc_id": "a.md", "start": 0, "end": len(text), "text": text} | given)
    assert is_near_empty(chunk) == near_empty
    assert describe_near_empty([], "41 chunks") == ""


def test_ingest_and_run_tell_how_many_and_the_first(tmp_path, monkeypatch, capsys):
    def say(*words):
        status, said = call(monkeypatch, capsys, *words)
        assert status == 0, said
        return (
            " ".join(said[said.find("{") :].split())
            if "--json" in words
            else " ".join(said.split())
        )

    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    rows = ["question,quote"]
    for name in ("boats", "dogs", "tolls"):
        body = f"The {name} are kept on the deck at night."
        text = f"# Of {name}\n\n{body}\n\n## See also\n\nOther {name}.\n"
        (tmp_path / "docs" / f"{name}.md").write_text(text)
        rows.append(f"are {name} on deck,{body}")
    (tmp_path / "questions.csv").write_text("\n".join(rows))
    say("init", "docs", "--questions", "questions.csv")
    told = 'hold fewer than 5 words besides headings (first: boats.md, "## See also Other boats.")'
    ingest = ("ingest", "docs", "--config", "bm25", "--no-track")
    assert f"3 of 6 chunks {told} and can answer nothing." in say(*ingest)
    assert json.loads(say(*ingest, "--json"))["near_empty"] == 3
    run = ("run", "bm25", "--dataset", "docs", "--no-track")
    assert f"3 of the 6 chunks among the first 10 hits {told}" in say(*run)
    combined = say(*run, "documents.chunker={type: combine_split, respect_h2: false}")
    assert "besides headings" not in combined


@pytest.mark.parametrize(("full", "told"), [(99, True), (100, False)])
def test_a_run_tells_of_one_chunk_in_a_hundred(full, told):
    texts = ["Word.", *["Dogs are kept on the deck at night."] * full]
    chunks = [Chunk(f"c{i}", f"{i}.md", 0, len(text), text) for i, text in enumerate(texts)]
    hits = [range(i, min(i + 10, len(chunks))) for i in range(0, len(chunks), 10)]
    run = SimpleNamespace(lists=SimpleNamespace(chunks=chunks, hits=hits), prescribed=())
    assert ("1 of the 100 chunks among the first 10 hits" in describe_first(run)) == told
    assert bool(describe_first(run)) == told
