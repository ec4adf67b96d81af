"""Collections that stay in their file are those that are held, to the bit."""

import gc
import gzip
import json
import shutil
from array import array

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples.mapped_collections import compare_both, leave_in_files, load_both, write_large

from assay.eval.collections.catalog import read_card
from assay.eval.collections.check import check
from assay.eval.collections.formats import beir
from assay.eval.collections.loading import load
from assay.eval.configs.config import load_config
from assay.eval.running.point_order import take_in_order
from assay.eval.runs.execution.unstored import score_queries
from assay.eval.runs.gold_ranks import GoldRankFinder
from assay.retrievers.base import AssayError, Chunk, Document
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.preparation import DocumentSettings, prepare
from assay.retrievers.fusion.ranking import best_matches
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.pipeline.variants import Variants
from assay.retrievers.settings import Resources
from assay.retrievers.store import lazy_sequence as shelf
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.digest import digest, digest_texts
from assay.retrievers.store.lazy_sequence import IdSequence, PassageSequence

IDS = st.text("ab\u00e9\u4e00\U0001f600", min_size=1, max_size=4)
TEXTS = st.text("ab \u00e9\n\u2028", max_size=12)
CORPORA = st.dictionaries(IDS, st.tuples(TEXTS, TEXTS), min_size=1, max_size=12)
KEYWORD = {"legs": {"keyword": {"type": "bm25", "variant": "lucene"}}}
REPEATED = '{"_id": "a", "text": "x"}'


@pytest.fixture
def large(tmp_path):
    rows = [
        {"_id": f"d{i}", "title": "t" * (i % 2), "text": "a b c \u00e9 d"[: i % 10]}
        for i in range(40)
    ]
    lines = [json.dumps(row, ensure_ascii=False).encode() for row in rows]
    return write_large(tmp_path / "large", b"\xef\xbb\xbf" + b"\r\n \n".join(lines), "d5")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(CORPORA)
def test_documents_in_their_file_are_those_held(tmp_path, monkeypatch, corpus):
    lines = [
        json.dumps({"_id": id_, "title": title, "text": text, "metadata": {"n": len(text)}})
        for id_, (title, text) in corpus.items()
    ]
    folder = write_large(tmp_path / "large", "\n".join(lines).encode(), next(iter(corpus)))
    mapped = compare_both(str(folder), monkeypatch)
    held = load(str(folder))
    assert "no such" not in mapped.texts
    if not any(f"{title}{text}".strip() for title, text in corpus.values()):
        return
    given_, wanted = (
        Corpus(prepare(one.documents, DocumentSettings(), Resources(Cache(tmp_path))).chunks)
        for one in (mapped, held)
    )
    assert tuple(given_.chunks) == wanted.chunks
    assert given_.digest == wanted.digest == digest(list(wanted.texts))
    assert given_.positions == wanted.positions
    assert {name: list(i) for name, i in given_.by_document.items()} == wanted.by_document


def test_rankings_and_placements_are_the_same(large, tmp_path, monkeypatch):
    found = []
    for collection in load_both(str(large), monkeypatch):
        config = PipelineConfig.model_validate({"name": "large", "retriever": KEYWORD})
        with config.build(Resources(Cache(tmp_path / "cache"))) as retriever:
            report = retriever.index(collection.documents)
            [query] = collection.queries
            ranking = retriever.search(query.text, 7)
            finder = GoldRankFinder(retriever, collection.prescribed, drop_self_matches=False)
            places = finder.place(query, ranking, collection.gold["q"])
        trace = [(entry.name, entry.candidates) for entry in ranking.trace]
        found.append((ranking.hits, trace, places, report.chunks, report.bytes))
    assert found[0] == found[1]
    assert found[0][0]
    assert found[0][2]


@given(st.lists(IDS, unique=True), st.sets(IDS), st.randoms(use_true_random=False))
def test_names_are_found_where_they_stand(ids, wanted, draw):
    chunks = [Chunk(id_, id_, 0, 0, "") for id_ in ids]
    scores = np.array([draw.randint(0, 3) / 2 for _ in ids])
    listing = best_matches(scores, draw.choice([1, 3, 2000]))
    corpus = Corpus(chunks)
    names = corpus.name(listing)
    listed = [corpus.chunks[place].id for place, _ in listing]
    assert list(names) == listed
    assert names.find(wanted) == {id_: i for i, id_ in enumerate(listed) if id_ in wanted}


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([REPEATED, REPEATED], {2}),
        ([REPEATED, "", REPEATED, "{"], {3, 4}),
        ([REPEATED, "{", REPEATED], {2, 3}),
        ([REPEATED, '{"_id": " ", "text": "x"}'], {2}),
        (['{"_id": "b"}'], {1}),
        (["[]"], {1}),
        ([REPEATED, '{"_id": "b", "text": "\udce9"}'], {2}),
        ([REPEATED, "{", '{"_id": "b", "text": "x"}', REPEATED, '{"_id": "c", "text": ""}', "[]"],
         {2, 3, 4, 5, 6}),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_and_found_alike(tmp_path, monkeypatch, lines, wrong):
    corpus = "\n".join(lines).encode(errors="surrogateescape")
    folder = write_large(tmp_path / "large", corpus, "a")
    assert "corpus.jsonl:" in compare_both(str(folder), monkeypatch)
    found = check(read_card(folder / "dataset.yaml"))
    assert {problem.line for problem in found if "corpus" in problem.file} >= wrong


def test_a_packed_corpus_is_unpacked_once(large, monkeypatch):
    corpus = large / "corpus.jsonl"
    (large / "corpus.jsonl.gz").write_bytes(gzip.compress(corpus.read_bytes()))
    corpus.unlink()
    with (large / "dataset.yaml").open("a") as card:
        card.write("documents: corpus.jsonl.gz\n")
    held, first = load_both(str(large), monkeypatch)
    assert isinstance(first.documents, PassageSequence)
    assert tuple(first.documents) == held.documents
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", None)
        assert load_both(str(large), patch)[1].digest == held.digest
    packed = (large / "corpus.jsonl.gz").read_bytes()
    (large / "corpus.jsonl.gz").write_bytes(packed[:-30] + b"broken" * 5)
    leave_in_files(monkeypatch)
    with pytest.raises(AssayError, match=r"corpus\.jsonl\.gz: cannot be unpacked"):
        load(str(large))


def test_ids_with_one_hash_are_told_apart():
    class Item:
        def __init__(self, id_):
            self.id = id_

    items = [Item(id_) for id_ in "abcb"]
    shelf = IdSequence(array("q", [hash("b")] * 4), items.__getitem__)
    assert shelf.find("b") in (1, 3)
    assert shelf.find_repeated() == (1, 3)
    assert IdSequence(array("q", [hash("b")] * 3), items.__getitem__).find_repeated() is None
    assert shelf.find("d") is None


@given(st.lists(TEXTS))
def test_the_digest_of_texts_is_that_of_their_list(texts):
    assert digest_texts(iter(texts)) == digest(texts)


def test_points_leave_documents_in_their_file(large, tmp_path, monkeypatch):
    held, _ = load_both(str(large), monkeypatch)
    monkeypatch.setattr(beir, "LARGEST_HELD", 0)
    monkeypatch.setattr(shelf, "RECENT", 4)
    file, cache = tmp_path / "config.yaml", Cache(tmp_path / "cache")
    file.write_text(json.dumps({"name": "k", "dataset": str(large), "retriever": KEYWORD}))
    points = [load_config(file, [f"retriever.legs.keyword.k1={k1}"]) for k1 in (0.5, 2.0)]
    mapped = load(str(large))
    alive, scores = [], []
    before = count_documents()
    for i, variants in take_in_order(points, Resources(cache)):
        with variants.build(points[i]) as retriever:
            retriever.index(mapped.documents)
            scores.append(score_queries(retriever, mapped, mapped.queries, "nDCG@10", 10))
            alive.append(count_documents() - before)
    assert max(alive) <= 2 * 4, "those of the shelf of documents, and of that of chunks"
    with Variants(Resources(cache)) as variants:
        for config, found in zip(points, scores, strict=True):
            retriever = variants.build(config)
            retriever.index(held.documents)
            assert score_queries(retriever, held, held.queries, "nDCG@10", 10) == found


def count_documents():
    gc.collect()
    return sum(isinstance(item, Document) for item in gc.get_objects())
