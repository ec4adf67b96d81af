"""IngestReport: what it counts is true, only what changed is done again, nothing stale stays."""

import json
import os
import shutil
from contextlib import contextmanager
from dataclasses import replace

import pytest
from tools.own_cache import make_cache
from tools.processes import ROOT, pipelines

from assay.eval.configs.config import load_config
from assay.retrievers.base import AssayError, Document, Passage
from assay.retrievers.documents.conversion.folder import read_folder
from assay.retrievers.pipeline.ingestion import ingest
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

SETTLED = "The quay is swept each morning by the duty crew before the first sailing. " * 4
DOCUMENTS = (
    Document(
        "terms.md",
        "---\ntitle: Terms\n---\n# Terms\n\n## § 1.1. Definitions\n\n"
        "“Berth” means a place at the quay, except a mooring.\n\n"
        "## § 1.2. Fees\n\nThe fee of a berth is set under § 1.1 and § 9.9.\n",
    ),
    Document("quay.md", f"# Quay\n\n{SETTLED}\n\n## Night\n\nThe quay closes at ten.\n"),
    Document("crew.md", "# Crew\n\nThe duty crew carries a radio.\n"),
)
EDITED = replace(
    DOCUMENTS[1], text=DOCUMENTS[1].text.replace("closes at ten", "stays open all night")
)


def configure(name, *overrides):
    return load_config(ROOT / "configs" / f"{name}.yaml", overrides)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A resources whose cache knows nothing but the models."""
    return Resources(Cache(make_cache(tmp_path_factory.mktemp("ingestion"))))


def work(made):
    """Return the stages and the number of vectors made for each document that had any."""
    return {item.id: (set(item.seconds), item.embedded) for item in made.documents if item.seconds}


def test_only_what_changed_is_done_again(fresh):
    config = configure("hybrid_rrf", "documents.chunker={type: sections}")
    first = ingest(DOCUMENTS, config, fresh)
    chunks = {item.id: len(item.tokens) for item in first.documents}
    assert chunks == {"terms.md": 2, "quay.md": 2, "crew.md": 1}
    assert work(first) == {name: ({"chunk", "embed"}, number) for name, number in chunks.items()}
    assert {"chunk", "context", "embed", "keyword.keyword"} == set(first.seconds)
    assert first.cached == ()

    again = ingest(DOCUMENTS, config, fresh)
    assert work(again) == {}
    assert again.cached == ("chunk", "embed", "keyword.keyword")
    assert {name: again.seconds[name] for name in again.cached} == {
        name: first.seconds[name] for name in again.cached
    }
    assert [item.tokens for item in again.documents] == [item.tokens for item in first.documents]

    edited = ingest((DOCUMENTS[0], EDITED, DOCUMENTS[2]), config, fresh)
    assert work(edited) == {"quay.md": ({"chunk", "embed"}, 1)}

    removed = ingest((DOCUMENTS[0], EDITED), config, fresh)
    assert work(removed) == {}
    assert [item.id for item in removed.documents] == ["terms.md", "quay.md"]


def test_sparse_and_token_vectors_are_made_and_counted_as_others_are(fresh):
    legs = "{sparse: {type: sparse}, late: {type: late_interaction}}"
    sections = "documents.chunker={type: sections}"
    config = configure(
        "hybrid_rrf", sections, f"retriever.legs={legs}", "retriever.fusion={type: rrf}"
    )
    first = ingest(DOCUMENTS[2:], config, fresh)
    (crew,) = first.documents
    assert crew.embedded == 2 * len(crew.tokens)
    assert first.seconds["embed"] > 0
    again = ingest(DOCUMENTS[2:], config, fresh)
    assert again.documents[0].embedded == 0
    assert again.seconds["embed"] == first.seconds["embed"]
    assert "embed" in again.cached


def test_content_counts_and_not_time_or_place(fresh, tmp_path):
    config = configure("bm25", "documents.chunker={type: sections, max_tokens: 300}")
    for document in DOCUMENTS:
        (tmp_path / document.id).write_text(document.text, encoding="utf-8")

    def ingest_folder(folder):
        read = read_folder(folder, fresh)
        texts = [Document(item.id, item.converted.text) for item in read.documents]
        return ingest(texts, config, fresh)

    assert len(work(ingest_folder(tmp_path))) == 3
    os.utime(tmp_path / "crew.md")
    assert work(ingest_folder(tmp_path)) == {}
    moved = shutil.copytree(tmp_path, tmp_path.with_name("moved"))
    assert work(ingest_folder(moved)) == {}
    times = (moved / "quay.md").stat()
    (moved / "quay.md").write_text(EDITED.text, encoding="utf-8")
    os.utime(moved / "quay.md", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert set(work(ingest_folder(moved))) == {"quay.md"}


@pytest.mark.parametrize("path", pipelines(), ids=lambda path: path.stem)
def test_no_index_gives_stale_answers(path):
    """V3-stale, on every index there is."""
    config = load_config(path)
    resources = Resources(Cache(default_root()))
    states = (DOCUMENTS, (DOCUMENTS[0], EDITED, DOCUMENTS[2]), DOCUMENTS[:1])
    with config.build(resources) as retriever:
        for documents in states:
            ingest(documents, config, resources)
            retriever.index(documents)
            texts = {document.id: document.text for document in documents}
            for query in ("the quay closes at ten", "the quay stays open all night", "radio"):
                hits = [hit.chunk for hit in retriever.search(query, 10).hits]
                assert hits or "quay.md" not in texts
                for chunk in hits:
                    assert chunk.text == texts[chunk.doc_id][chunk.start : chunk.end]
                text = " ".join(chunk.text for chunk in hits)
                assert ("closes at ten" in text) <= (documents is DOCUMENTS)
            if documents == states[1]:
                top = retriever.search("the quay stays open all night", 1).hits[0].chunk
                assert "stays open all night" in top.text


def test_what_is_counted(fresh):
    config = configure("hybrid_rrf", "documents.chunker={type: document}")
    long = Document("long.md", "# Long\n\n" + "word and another word. " * 200)
    made = ingest((*DOCUMENTS, long), config, fresh)
    found = {item.id: item for item in made.documents}
    assert (found["terms.md"].definitions, found["crew.md"].definitions) == (1, 0)
    assert (found["terms.md"].references, found["terms.md"].resolved) == (2, 1)
    off = ingest(DOCUMENTS, configure("bm25", "documents.references=false"), fresh)
    assert [(item.references, item.resolved) for item in off.documents] == [(0, 0)] * 3
    assert [item.unread for item in made.documents] == [0, 0, 0, 1]
    assert all(item.intact for item in made.documents)
    assert (made.limit, made.window, made.collisions) == (None, 512, 0)
    assert found["long.md"].tokens[0] > 512
    assert made.bytes > 0
    assert made.facts["legs"].keys() == {"dense", "keyword"}
    text = "One passage. Another passage."
    given = Document("doc", text, passages=(Passage("p1", 0, 12), Passage("p2", 13, 29)))
    made = ingest([given], configure("bm25"), fresh)
    assert (made.documents[0].intact, made.limit, len(made.documents[0].tokens)) == (None, None, 2)


def test_the_combiner_is_heard(fresh):
    small = Document("small.md", "".join(f"# A\n\nText.\n\n### B{n}\n\nShort.\n\n" for n in "123"))
    config = configure("bm25", "documents.chunker={type: combine_split}")
    (item,) = ingest([small], config, fresh).documents
    assert {name: times for name, times in item.decisions.items() if times} == {
        "hard_break": 2,
        "absorbed": 3,
    }
    assert type(item.decisions) is dict
    text = "# A\n\n## B\n\nOne.\n\n### C\n\nTwo.\n\n## D\n\n" + "Three words here. " * 9
    chunker = {"type": "combine_split", "target_min": 4, "target_max": 16, "max_tokens": 24,
               "overlap_tokens": 0, "micro_tokens": 0}  # fmt: skip
    finer = configure("bm25", f"documents.chunker={json.dumps(chunker)}")
    (found,) = ingest([Document("d.md", text)], finer, fresh).documents
    assert (len(found.tokens), found.combined, found.split) == (4, 1, 3)
    assert [len(part) for part in item.parts] == [1, 1, 1]
    assert sorted(sum(item.parts, ())) == sorted(item.tokens)
    plain = configure("bm25", "documents.chunker={type: sections}")
    assert ingest([small], plain, fresh).documents[0].decisions == {}


def test_chunks_over_the_maximum_and_torn_documents_are_found(fresh, monkeypatch):
    """By a chunker that loses the last chunk and makes others too large."""
    from assay.retrievers.documents.chunkers.simple import SectionChunker

    config = configure("bm25", "documents.chunker={type: sections, max_tokens: 16}")
    with _faulty(SectionChunker, monkeypatch):
        made = ingest(DOCUMENTS, config, replace(fresh, cache=Cache(fresh.cache.root / "faulty")))
    assert [item.intact for item in made.documents] == [False] * 3
    assert made.documents[1].oversize == 1


@contextmanager
def _faulty(chunker, monkeypatch):
    def chunk(self, document, tokenize):
        wide = self.model_copy(update={"max_tokens": 400})
        return super(chunker, wide).chunk(document, tokenize)[:-1] or []

    with monkeypatch.context() as patch:
        patch.setattr(chunker, "chunk", chunk)
        yield


def test_what_cannot_be_ingested(fresh):
    with pytest.raises(AssayError, match="every document is empty"):
        ingest([Document("a.md", "")], configure("bm25"), fresh)
    with pytest.raises(AssayError, match="type: python indexes"):
        ingest(DOCUMENTS, load_config(ROOT / "examples/word_overlap.yaml"), fresh)
