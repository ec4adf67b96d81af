"""Collections that stay in their file are those that are held, to the bit."""

import gc
import json
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eval.collections.collection import Collection
from eval.collections.formats import beir
from eval.collections.loading import load
from eval.experiments.config import load_config
from eval.experiments.point_order import take_in_order
from eval.runs.gold_ranks import Placer
from eval.runs.unstored import score_queries
from retrievers.base import AssayError, Document
from retrievers.config import PipelineConfig
from retrievers.corpus import Corpus
from retrievers.documents.preparation import DocumentSettings, prepare
from retrievers.settings import Workshop
from retrievers.store import shelf
from retrievers.store.cache import Cache
from retrievers.store.digest import digest, digest_texts
from retrievers.store.shelf import Shelf
from retrievers.variants import Variants

IDS = st.text("ab\u00e9\u4e00\U0001f600", min_size=1, max_size=4)
TEXTS = st.text("ab \u00e9\n\u2028", max_size=12)
CORPORA = st.dictionaries(IDS, st.tuples(TEXTS, TEXTS), min_size=1, max_size=12)
KEYWORD = {"legs": {"keyword": {"type": "bm25", "variant": "lucene"}}}
REPEATED = '{"_id": "a", "text": "x"}'


def write(folder: Path, corpus: bytes, judged: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "dataset.yaml").write_text("name: large\ntitle: Large\nformat: beir\n")
    (folder / "corpus.jsonl").write_bytes(corpus)
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "a b \u00e9"}\n')
    (folder / "qrels").mkdir(exist_ok=True)
    qrels = f"query-id\tcorpus-id\tscore\nq\t{judged}\t1\n"
    (folder / "qrels" / "test.tsv").write_text(qrels)
    return folder


def load_both(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Collection, Collection]:
    held = load(str(folder))
    with monkeypatch.context() as patch:
        patch.setattr(beir, "LARGEST_HELD", 0)
        return held, load(str(folder))


@pytest.fixture
def large(tmp_path: Path) -> Path:
    rows: Sequence[dict[str, Any]] = [
        {"_id": f"d{at}", "title": "t" * (at % 2), "text": "a b c \u00e9 d"[: at % 10]}
        for at in range(40)
    ]
    lines = [json.dumps(row, ensure_ascii=False).encode() for row in rows]
    return write(tmp_path / "large", b"\xef\xbb\xbf" + b"\r\n \n".join(lines), "d5")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(CORPORA)
def test_documents_in_their_file_are_those_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, corpus: dict[str, tuple[str, str]]
) -> None:
    lines = [
        json.dumps({"_id": id_, "title": title, "text": text, "metadata": {"n": len(text)}})
        for id_, (title, text) in corpus.items()
    ]
    folder = write(tmp_path / "large", "\n".join(lines).encode(), next(iter(corpus)))
    held, mapped = load_both(folder, monkeypatch)
    assert isinstance(mapped.documents, Shelf)
    assert tuple(mapped.documents) == held.documents
    assert mapped.documents[-1] == held.documents[-1]
    assert (mapped.digest, mapped.gold, mapped.passages) == (held.digest, held.gold, held.passages)
    assert mapped.prescribed == held.prescribed
    assert dict(mapped.texts) == dict(held.texts)
    assert "no such" not in mapped.texts
    if not any(f"{title}{text}".strip() for title, text in corpus.values()):
        return
    given_, wanted = (
        Corpus(prepare(one.documents, DocumentSettings(), Workshop(Cache(tmp_path))).chunks)
        for one in (mapped, held)
    )
    assert tuple(given_.chunks) == wanted.chunks
    assert given_.digest == wanted.digest == digest(list(wanted.texts))
    assert given_.positions == wanted.positions
    assert {name: list(at) for name, at in given_.by_document.items()} == wanted.by_document


def test_rankings_and_placements_are_the_same(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for collection in load_both(large, monkeypatch):
        config = PipelineConfig.model_validate({"name": "large", "retriever": KEYWORD})
        with config.build(Workshop(Cache(tmp_path / "cache"))) as retriever:
            report = retriever.index(collection.documents)
            [query] = collection.queries
            ranking = retriever.search(query.text, 7)
            placer = Placer(retriever, collection.prescribed, drop_self_matches=False)
            places = placer.place(query, ranking, collection.gold["q"])
        trace = [(entry.name, entry.candidates) for entry in ranking.trace]
        found.append((ranking.hits, trace, places, report.chunks, report.bytes))
    assert found[0] == found[1]
    assert found[0][0]
    assert found[0][2]


@pytest.mark.parametrize(
    "lines",
    [
        [REPEATED, REPEATED],
        [REPEATED, "", REPEATED, "{"],
        [REPEATED, "{", REPEATED],
        [REPEATED, '{"_id": " ", "text": "x"}'],
        ['{"_id": "b"}'],
        ["[]"],
        [REPEATED, '{"_id": "b", "text": "\udce9"}'],
    ],
)
def test_what_is_wrong_is_told_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    corpus = "\n".join(lines).encode(errors="surrogateescape")
    folder = write(tmp_path / "large", corpus, "a")
    told = []
    for limit in (1 << 28, 0):
        monkeypatch.setattr(beir, "LARGEST_HELD", limit)
        with pytest.raises(AssayError) as raised:
            load(str(folder))
        told.append(str(raised.value))
    assert told[0] == told[1]
    assert "corpus.jsonl:" in told[0]


def test_ids_with_one_hash_are_told_apart() -> None:
    class Item:
        def __init__(self, id_: str) -> None:
            self.id = id_

    items = [Item(id_) for id_ in "abcb"]
    shelf = Shelf(array("q", [hash("b")] * 4), items.__getitem__)
    assert shelf.find("b") in (1, 3)
    assert shelf.find_repeated() == (1, 3)
    assert Shelf(array("q", [hash("b")] * 3), items.__getitem__).find_repeated() is None
    assert shelf.find("d") is None


@given(st.lists(TEXTS))
def test_the_digest_of_texts_is_that_of_their_list(texts: list[str]) -> None:
    assert digest_texts(iter(texts)) == digest(texts)


def test_points_leave_documents_in_their_file(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, _ = load_both(large, monkeypatch)
    monkeypatch.setattr(beir, "LARGEST_HELD", 0)
    monkeypatch.setattr(shelf, "RECENT", 4)
    file, cache = tmp_path / "config.yaml", Cache(tmp_path / "cache")
    file.write_text(json.dumps({"name": "k", "dataset": str(large), "retriever": KEYWORD}))
    points = [load_config(file, [f"retriever.legs.keyword.k1={k1}"]) for k1 in (0.5, 2.0)]
    mapped = load(str(large))
    alive, scores = [], []
    before = count_documents()
    for at, variants in take_in_order(points, Workshop(cache)):
        with variants.build(points[at]) as retriever:
            retriever.index(mapped.documents)
            scores.append(score_queries(retriever, mapped, mapped.queries, "nDCG@10", 10))
            alive.append(count_documents() - before)
    assert max(alive) <= 2 * 4, "those of the shelf of documents, and of that of chunks"
    with Variants(Workshop(cache)) as variants:
        for config, found in zip(points, scores, strict=True):
            retriever = variants.build(config)
            retriever.index(held.documents)
            assert score_queries(retriever, held, held.queries, "nDCG@10", 10) == found


def count_documents() -> int:
    gc.collect()
    return sum(isinstance(item, Document) for item in gc.get_objects())
