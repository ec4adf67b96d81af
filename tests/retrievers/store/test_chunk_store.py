"""Chunks that lie in a file are those that are held, to the bit."""

from array import array
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.eval.collections.loading import load
from assay.eval.runs.gold_ranks import GoldRankFinder
from assay.retrievers.base import AssayError, Chunk, Context, Document, Hit, Passage
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents import preparation
from assay.retrievers.documents.chunk_cache import ChunkCache
from assay.retrievers.documents.chunkers import Chunker
from assay.retrievers.documents.preparation import DocumentSettings, prepare
from assay.retrievers.pipeline.chunk_context import NeighborhoodReader
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.settings import Resources
from assay.retrievers.store import cache
from assay.retrievers.store.cache import BatchedWrites, Cache
from assay.retrievers.store.chunk_store import ChunkStore, read_chunks, write_chunks
from assay.retrievers.store.lazy_sequence import IdSequence, take_block

TEXTS = st.text("ab \u00e9\u4e00\U0001f600\n\u2028", min_size=1, max_size=6)
GROUPS = st.lists(st.lists(st.tuples(TEXTS, st.integers(0, 9)), max_size=4), max_size=8)
NOTES = (
    "---\ntitle: Of tides\nkeywords: [moon]\n---\n# One\n\nHigh water.\n\n## Two\n\nLow water.\n"
)
ONLY_SAID = "---\ntitle: Of ebbs\ndescription: Nothing else is said.\n---\n"


def shelve(documents):
    return IdSequence(array("q", [hash(item.id) for item in documents]), documents.__getitem__)


def prepare_both(documents, resources, **values):
    chosen = DocumentSettings.model_validate(values)
    return prepare(documents, chosen, resources), prepare(shelve(documents), chosen, resources)


def assert_same(held, shelved):
    assert isinstance(shelved.chunks, ChunkStore)
    assert tuple(shelved.chunks) == held.chunks
    assert (shelved.context_source, shelved.facts) == (held.context_source, held.facts)
    assert shelved.seconds == pytest.approx(held.seconds)
    one, other = Corpus(held.chunks), Corpus(shelved.chunks)
    assert other.digest == one.digest
    assert other.positions == one.positions
    assert {name: list(i) for name, i in other.by_document.items()} == one.by_document


@given(st.lists(st.text("a", max_size=4)), st.integers(1, 9))
def test_blocks_are_all_items_and_none_is_longer_than_it_must_be(items, most):
    rest, found = iter(items), list[list[str]]()
    while block := take_block(rest, len, most):
        assert sum(max(len(item), 1) for item in block[:-1]) < most
        found.append(block)
    assert [item for block in found for item in block] == items
    assert all(sum(max(len(item), 1) for item in block) >= most for block in found[:-1])


@given(GROUPS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_what_is_written_is_read(tmp_path, groups):
    documents = [
        [
            Chunk(f"{text}{name}.{i}", f"{text}\n{name}", start, start + 1, text, parent=(0, i))
            for i, (text, start) in enumerate(chunks)
        ]
        for name, chunks in enumerate(groups)
    ]
    documents = [[replace(one, doc_id=made[0].doc_id) for one in made] for made in documents]
    folder = tmp_path / "chunks"
    folder.mkdir(exist_ok=True)
    held = sorted((one for made in documents for one in made), key=lambda one: one.id, reverse=True)
    assert write_chunks(documents, folder) == len(held)
    if held:
        shelf = read_chunks(folder)
        assert list(shelf) == held
        found = {name: list(i) for name, i in shelf.by_document.items()}
        assert found == Corpus(held).by_document
        assert "no such" not in shelf.by_document


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"chunker": {"type": "fixed", "max_tokens": 64, "overlap_tokens": 16}},
        {"chunker": {"type": "parent_child"}, "headings": True},
        {"frontmatter": "chunk", "context": {"source": "opening"}},
        {"frontmatter": "text", "context": {"source": "auto"}},
    ],
)
def test_cut_documents_are_those_held(resources, values):
    own = [Document("tides.md", NOTES), Document("ebbs.md", ONLY_SAID), Document("nil.md", " ")]
    documents = [*load("harbourline").documents[:6], *own]
    assert_same(*prepare_both(documents, resources, **values))


def test_documents_of_several_passages_are_those_held(resources):
    text = "High water. Low water."
    two = (Passage("b", 12, 22), Passage("a", 0, 11, "Of tides"))
    shipped = (Context(0, 11, "At noon"),)
    documents = [Document("d", text, passages=two, contexts=shipped), Document("e", "Ebb and flow")]
    held, shelved = prepare_both(documents, resources, context={"source": "collection"})
    assert_same(held, shelved)
    assert {chunk.doc_id for chunk in shelved.chunks} == {"d", "e"}


def test_prepared_again_nothing_is_cut(resources):
    documents = shelve(load("harbourline").documents[:3])
    first, again = (prepare(documents, DocumentSettings(), resources) for _ in range(2))
    assert (first.cached, again.cached) == (False, True)
    assert tuple(first.chunks) == tuple(again.chunks)
    assert (first.seconds, first.facts) == (again.seconds, again.facts)


@pytest.mark.parametrize("held", [True, False])
def test_what_was_cut_before_a_break_is_not_cut_again(resources, monkeypatch, held):
    documents = load("harbourline").documents[:6]
    monkeypatch.setattr(cache, "SECONDS_HELD", 0.0)  # as of documents that take a second each
    monkeypatch.setattr(
        BatchedWrites, "__exit__", lambda *_: None
    )  # which a killed process never does
    chunk, asked = Chunker.chunk, list[str]()

    def fail_once(self, document, *rest):
        asked.append(document.id)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return chunk(self, document, *rest)

    monkeypatch.setattr(Chunker, "chunk", fail_once)
    given = documents if held else shelve(documents)
    with pytest.raises(KeyboardInterrupt):
        prepare(given, DocumentSettings(), resources)
    prepare(given, DocumentSettings(), resources)
    ids = [document.id for document in documents]
    assert asked == [*ids[:4], *ids[3:]]


@pytest.mark.parametrize(("limit", "value", "most"), [("SHORTEST", 1 << 19, 2), ("BLOCK", 1, 1)])
def test_a_block_holds_few_documents_and_little_text(resources, monkeypatch, limit, value, most):
    monkeypatch.setattr(preparation, limit, value)
    sizes, cut = list[int](), ChunkCache.cut

    def note(self, documents, progress):
        sizes.append(len(documents))
        return cut(self, documents, progress)

    monkeypatch.setattr(ChunkCache, "cut", note)
    assert_same(*prepare_both(load("harbourline").documents[:5], resources))
    assert max(sizes[1:]) == most
    assert sum(sizes[1:]) == 5


@pytest.mark.parametrize("name", ["rows.jsonl", "facts.json"])
def test_a_file_of_chunks_that_is_cut_short_is_made_anew(resources, name):
    documents = load("harbourline").documents[:3]
    held, _ = prepare_both(documents, resources)
    (path,) = resources.cache.root.glob(f"chunk_files/*/{name}")
    shorter = path.read_bytes()[:-20]
    path.unlink()  # one that is mapped and cut short ends the process
    path.write_bytes(shorter)
    assert_same(held, prepare(shelve(documents), DocumentSettings(), resources))


def test_what_is_around_a_hit_is_told_without_parsing_the_others(resources):
    documents = load("harbourline").documents[:4]
    held, shelved = prepare_both(documents, resources)
    among_held = NeighborhoodReader(held.chunks, documents, resources)
    parsed = list[int]()
    alone = IdSequence(
        array("q", [hash(item.id) for item in documents]),
        lambda i: parsed.append(i) or documents[i],  # type: ignore[func-returns-value]
    )
    among_shelved = NeighborhoodReader(shelved.chunks, alone, resources)
    for chunk in (chunk for chunk in held.chunks if chunk.doc_id == documents[2].id):
        around = among_held.read(Hit(chunk, 1.0))
        assert around is not None
        found = among_shelved.read(Hit(chunk, 1.0))
        assert found == replace(around, outgoing=None, incoming=None)
    assert set(parsed) == {2}


def test_without_text_or_with_two_of_one_id_nothing_is_kept(resources):
    twice = [Document(id_, "x", passages=(Passage("same", 0, 1),)) for id_ in ("one", "two")]
    for documents, problem in (([Document("a", " ")], "no text"), (twice, "share the id same")):
        told = []
        for given_ in (documents, shelve(documents)):
            with pytest.raises(AssayError, match=problem) as caught:
                prepare(given_, DocumentSettings(), resources)
            told.append(sorted(str(caught.value).split()))
        assert told[0] == told[1]
    assert not any(resources.cache.root.glob("chunk_files/*/"))


KEYWORD = {"keyword": {"type": "bm25"}}
PARENTS = {"chunker": {"type": "parent_child"}}
NEAR = {"type": "neighbours", "score_delta": None, "query_tokens": 1}
PIPELINES = [
    ({"legs": KEYWORD, "stages": [NEAR]}, {}),
    ({"legs": KEYWORD, "stages": [{"type": "parents"}]}, PARENTS),
    ({"legs": {**KEYWORD, "exact": {"type": "exact"}}, "fusion": {"type": "rrf"}}, {}),
    ({"legs": {**KEYWORD, "graph": {"type": "graph"}}, "fusion": {"type": "rrf"}}, {}),
]


@pytest.mark.parametrize(("retriever", "cutting"), PIPELINES)
def test_rankings_and_placements_are_the_same(tmp_path, retriever, cutting):
    collection = load("harbourline")
    values = {"name": "shelved", "retriever": retriever, "documents": cutting}
    config = PipelineConfig.model_validate(values)
    found = []
    for documents in (collection.documents, shelve(collection.documents)):
        with config.build(Resources(Cache(tmp_path / "cache"))) as made:
            report = made.index(documents)
            finder = GoldRankFinder(made, collection.prescribed, drop_self_matches=False)
            rows = [report.chunks]
            for query in collection.queries[:12]:
                ranking = made.search(query.text, 10)
                places = finder.place(query, ranking, collection.gold[query.id])
                trace = [(entry.name, entry.candidates) for entry in ranking.trace]
                rows.append((ranking.hits, trace, places))
        found.append(rows)
    assert found[0] == found[1]
