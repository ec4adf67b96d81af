"""Collections of every format that stay in their files are those that are held, to the bit."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples.mapped_collections import compare_both, leave_in_files, load_both

from assay.eval.collections import collection, memo
from assay.eval.collections.collection import Collection, DocumentShelf
from assay.eval.collections.formats import gold_cache as kept_gold
from assay.eval.collections.formats import reading
from assay.eval.collections.in_memory import gather_unjudged
from assay.eval.collections.loading import load
from assay.eval.running.sources import open_source
from assay.retrievers.base import AssayError, T
from assay.retrievers.settings import Resources
from assay.retrievers.store import lazy_sequence as shelf
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.lazy_sequence import PassageSequence

WORDS = ("a", "b", "\u00e9", "\u4e00", "\U0001f600", "a b", "\u2028")
DRAWS = st.builds(Random, st.integers(0, 1 << 32))
PROPERTY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@PROPERTY
@given(DRAWS)
def test_beir_with_contexts_and_whole_documents(tmp_path, monkeypatch, draw):
    whole = {f"w{i}": write_text(draw, 8) for i in range(draw.randint(1, 4))}
    rows = [draw_row(draw, i, whole) for i in range(draw.randint(1, 8))]
    lines = {
        "corpus.jsonl": rows,
        "whole.jsonl": [{"_id": id_, "text": text, "title": "t"} for id_, text in whole.items()],
        "contexts.jsonl": [
            {"_id": row["_id"], "context": write_text(draw, 2)}
            for row in rows
            if draw.random() < 0.5
        ],
    }
    for of_file in lines.values():
        draw.shuffle(of_file)
    options = {"contexts": "contexts.jsonl", "whole_documents": "whole.jsonl"}
    for key in ("contexts", "whole_documents"):
        if draw.random() < 0.4:
            del options[key]
    texts = {name: break_lines(draw, of_file) for name, of_file in lines.items()}
    judged = [draw.choice([*(row["_id"] for row in rows * 5), "gone"]) for _ in range(2)]
    folder = write_beir(tmp_path / "set", texts, options, [rows[0]["_id"], *judged])
    found = compare_both(str(folder), monkeypatch)
    if isinstance(found, Collection):
        kind = DocumentShelf if "whole_documents" in options else PassageSequence
        assert isinstance(found.documents, kind)


def draw_row(draw, i, whole):
    """Return a row of a corpus: mostly a piece of a whole document."""
    document, text = draw.choice(list(whole.items()))
    start = draw.randint(0, len(text))
    piece = text[start : draw.randint(start, len(text))]
    values = {"doc_id": document, "original_index": draw.choice([i, 0, True, "x", 1 << 70])}
    return {
        "_id": f"w{i}" if draw.random() < 0.1 else f"r{i}",
        "title": draw.choice(["", "t"]),
        "text": piece if draw.random() < 0.8 else write_text(draw, 3),
        "metadata": {key: value for key, value in values.items() if draw.random() < 0.9},
    }


def write_text(draw, most):
    return " ".join(draw.choices(WORDS, k=draw.randint(0, most)))


def break_lines(draw, rows):
    """Return the lines of rows; in one of ten files one has a fault."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    if lines and draw.random() < 0.1:
        faults = ["{", "[]", "", lines[0], '{"_id": "new"}', '{"path": "x"}', "{}"]
        lines.insert(draw.randint(0, len(lines)), draw.choice(faults))
    return "\n".join(lines)


def write_beir(folder, lines, options, judged):
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    card = {"name": "set", "title": "Set", "format": "beir", **options}
    (folder / "dataset.yaml").write_text(json.dumps(card))
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "a b"}\n')
    for name, text in lines.items():
        (folder / name).write_text(text)
    qrels = "".join(f"q\t{id_}\t1\n" for id_ in judged)
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{qrels}")
    return folder


def test_rows_are_placed_and_found_in_their_documents(tmp_path, monkeypatch):
    corpus = [
        {"_id": "b", "text": "two", "metadata": {"doc_id": "w1", "original_index": 1}},
        {"_id": "far", "text": "three", "metadata": {"doc_id": "w2"}},
        {"_id": "a", "text": "one", "metadata": {"doc_id": "w1", "original_index": 0}},
        {"_id": "lost", "text": "nowhere", "metadata": {"doc_id": "w1"}},
        {"_id": "own", "text": "of none", "metadata": {"doc_id": "w9"}},
    ]
    whole = [{"_id": f"w{i}", "text": "one two three"} for i in range(3)]
    contexts = [{"_id": "b", "context": "second"}, {"_id": "own", "context": "alone"}]
    lines = {
        name: "\n".join(map(json.dumps, rows))
        for name, rows in (("corpus", corpus), ("whole", whole), ("contexts", contexts))
    }
    options = {"contexts": "contexts.jsonl", "whole_documents": "whole.jsonl"}
    files = {f"{name}.jsonl": text for name, text in lines.items()}
    folder = write_beir(tmp_path / "set", files, options, ["far", "own"])
    found = compare_both(str(folder), monkeypatch)
    assert isinstance(found, Collection)
    assert isinstance(found.documents, DocumentShelf)
    assert [item.id for item in found.documents] == ["w1", "w2", "own", "lost"]
    first, *_, own, _ = found.documents
    assert [passage.id for passage in first.passages] == ["a", "b"]
    assert [context.text for context in (*first.contexts, *own.contexts)] == ["second", "alone"]
    assert found.documents.places["far"] == ("w2", 8, 13)
    assert found.documents.places["own"] == ("own", 0, 7)
    assert "w1" not in found.prescribed
    (folder / "corpus.jsonl").write_text(lines["corpus"] + '\n{"_id": "w1", "text": "of none"}')
    told = compare_both(str(folder), monkeypatch)
    assert isinstance(told, str)
    assert 'corpus.jsonl: document "w1" is there twice' in told


@PROPERTY
@given(DRAWS)
def test_native_documents_with_contexts(tmp_path_factory, monkeypatch, draw):
    folder = tmp_path_factory.mktemp("native") / "set"
    names = ["a.md", "b/a.txt", "b.md", "\u00e9.md", "z.markdown"][
        : draw.choice([0, 1, 2, 3, 4, 5, 5, 5])
    ]
    texts = {name: write_document(draw) for name in names}
    for name, text in texts.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if draw.random() < 0.98 else b"\xff\n")
    (folder / "docs").mkdir(parents=True, exist_ok=True)
    (folder / "docs" / "passed over.pdf").write_bytes(b"\xff")
    spans = [
        {"path": name, "start": start, "end": draw.randint(start, len(texts[name])) or 1}
        for name in (draw.choices(names, k=4) if names else [])
        for start in [draw.choice([0, 0, 0, len(texts[name]) - 2])]
    ]
    judgments = [{"query_id": "q", **span} for span in spans[:2]] + [
        {"query_id": "q", "path": draw.choice(names or ["gone"])}
    ]
    contexts = [{**span, "context": write_text(draw, 2)} for span in spans]
    card = {"name": "set", "title": "Set", "format": "native"}
    if draw.random() < 0.7:
        card["contexts"] = "contexts.jsonl"
    copies = {"b/a.txt": "a.md"} if draw.random() < 0.5 else {}
    table = draw.random() < 0.3
    files = {"test": "judgments.tsv" if table else "judgments.jsonl"}
    (folder / "dataset.yaml").write_text(json.dumps({**card, "copies": copies, "judgments": files}))
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "a b"}\n')
    (folder / "judgments.jsonl").write_text("\n".join(map(json.dumps, judgments)))
    rows = "".join(f"q\t{row['path']}\t1\n" for row in judgments)
    (folder / "judgments.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    (folder / "contexts.jsonl").write_text(break_lines(draw, contexts))
    found = compare_both(str(folder), monkeypatch)
    if isinstance(found, Collection):
        assert isinstance(found.documents, DocumentShelf)
        assert not found.prescribed


def write_document(draw):
    head = draw.choice(["", "", "---\ntitle: x\n---\n", "---\ntitle: [\n---\n", "---\ntitle: x\n"])
    return f"{head}{draw.choice(['', '# b', 'a', 'a'])}{write_text(draw, 4)}"


@PROPERTY
@given(DRAWS)
def test_trec_documents(tmp_path_factory, monkeypatch, draw):
    folder = tmp_path_factory.mktemp("trec") / "set"
    (folder / "docs").mkdir(parents=True)
    for i in range(draw.randint(1, 3)):
        ids = [draw.choice([f"d{i}{number}"] * 5 + ["d00"]) for number in range(draw.randint(0, 3))]
        if draw.random() < 0.5:
            rows = [{"id": id_, "contents": write_text(draw, 3)} for id_ in dict.fromkeys(ids)]
            (folder / "docs" / f"{i}.jsonl").write_text(break_lines(draw, rows))
        else:
            ends = draw.choices(["</DOC>", ""], [9, 1], k=3)
            written = (
                f"<DOC>\n<DOCNO>{id_}</DOCNO>{write_text(draw, 3)}{end}"
                for id_, end in zip(dict.fromkeys(ids), ends, strict=False)
            )
            (folder / "docs" / str(i)).write_text("".join(written))
    card = {"name": "set", "title": "Set", "format": "trec", "documents": "docs"}
    files = {"queries": "topics.tsv", "judgments": {"test": "qrels.txt"}}
    (folder / "dataset.yaml").write_text(json.dumps({**card, **files}))
    (folder / "topics.tsv").write_text("q\ta b\n")
    (folder / "qrels.txt").write_text("q 0 d00 1\n")
    compare_both(str(folder), monkeypatch)


def write_native(folder):
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "a.md").write_text("# A\n\none")
    (folder / "dataset.yaml").write_text("name: set\ntitle: Set\nformat: native\n")
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "one"}\n')
    (folder / "judgments.jsonl").write_text('{"query_id": "q", "path": "a.md"}\n')
    return folder


def test_native_judgments_are_kept_for_both(tmp_path, monkeypatch):
    folder = write_native(tmp_path / "set")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    keys: list[str] = []
    find = kept_gold.find
    monkeypatch.setattr(kept_gold, "find", lambda key: keys.append(key) or find(key))
    load_both(str(folder), monkeypatch)
    assert len(set(keys)) == 1
    (folder / "docs" / "a.md").write_text("# A\n\ntwo")
    load(str(folder))
    assert len(set(keys)) == 2


def test_a_file_that_goes_meanwhile_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(shelf, "RECENT", 0)
    _, left = load_both(str(write_native(tmp_path / "set")), monkeypatch)
    (tmp_path / "set" / "docs" / "a.md").unlink()
    with pytest.raises(AssayError, match=r"a\.md: there is no such file"):
        left.documents[0]


def test_a_file_that_changes_meanwhile_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(shelf, "RECENT", 0)
    _, native = load_both(str(write_native(tmp_path / "native")), monkeypatch)
    (tmp_path / "native" / "docs" / "a.md").write_text("# A\n\ntwo")
    with pytest.raises(AssayError, match=r"a\.md: has changed since it was read"):
        native.documents[0]
    rows = {"corpus.jsonl": '{"_id": "r", "text": "one"}\n{"_id": "s", "text": "two"}\n'}
    folder = write_beir(tmp_path / "beir", rows, {}, ["r"])
    _, beir = load_both(str(folder), monkeypatch)
    (folder / "corpus.jsonl").write_text(rows["corpus.jsonl"].replace("two", 'tw"'))
    assert beir.documents[0].text == "one"
    with pytest.raises(AssayError, match=r"corpus\.jsonl:2: has changed since it was read"):
        beir.documents[1]


@pytest.fixture
def local(tmp_path, monkeypatch):
    """What registers documents with ir_datasets and returns the name of the data set."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    irds = pytest.importorskip("ir_datasets")
    from ir_datasets.formats import BaseDocs, GenericDoc, TrecQrels, TsvQueries
    from ir_datasets.util import LocalDownload

    class Docs(BaseDocs):  # type: ignore[misc]
        def __init__(self, rows: Sequence[tuple[str, str]]) -> None:
            self._rows = rows

        def docs_iter(self) -> Iterator[Any]:
            yield from (GenericDoc(*row) for row in self._rows)

    (tmp_path / "queries.tsv").write_text("q\ta b\n")
    (tmp_path / "qrels.txt").write_text("q 0 d0 1\nq 0 gone 1\n")
    names: list[str] = []

    def register(rows: Sequence[tuple[str, str]] = (), docs: Any = None) -> str:
        names.append(f"assay-{tmp_path.name}-{len(names)}")
        queries = TsvQueries(LocalDownload(tmp_path / "queries.tsv"))
        qrels = TrecQrels(LocalDownload(tmp_path / "qrels.txt"), {})
        irds.registry.register(names[-1], irds.Dataset(docs or Docs(rows), queries, qrels))
        return f"irds:{names[-1]}"

    yield register
    for name in names:
        del irds.registry._registered[name]


@PROPERTY
@given(DRAWS)
def test_data_sets_of_ir_datasets(local, monkeypatch, draw):
    ids = [draw.choice([f"d{i}", f"d{i}", f"d{i}", "d0", " "]) for i in range(3)]
    texts = [draw.choice([write_text(draw, 3), "\ud800"]) for _ in ids]
    found = compare_both(local(list(zip(ids, texts, strict=True))), monkeypatch)
    if isinstance(found, Collection):
        assert isinstance(found.documents, PassageSequence)


def test_documents_of_ir_datasets_are_written_once(tmp_path, local, monkeypatch):
    from ir_datasets.formats import TsvDocs
    from ir_datasets.util import LocalDownload

    file = tmp_path / "docs.tsv"
    file.write_text("d0\tone\nd1\ttwo\n")
    name = local(docs=TsvDocs(LocalDownload(file)))
    held = load(name)
    leave_in_files(monkeypatch, 10)
    begun = count_iterations(monkeypatch, TsvDocs)
    assert tuple(load(name).documents) == held.documents
    assert len(begun) == 2, "to see whether there are many, and to write them"
    assert load(name).digest == held.digest
    assert len(begun) == 3
    file.write_text("d0\tone\nd1\ttwo\nd2\tthree\n")  # beyond what is looked at first
    assert [item.text for item in load(name).documents] == ["one", "two", "three"]
    leave_in_files(monkeypatch, 1 << 28)
    assert not isinstance(load(name).documents, PassageSequence)


def count_iterations(monkeypatch, docs):
    begun: list[int] = []
    iterate = docs.docs_iter
    monkeypatch.setattr(docs, "docs_iter", lambda self: begun.append(1) or iterate(self))
    return begun


def test_what_ir_datasets_cannot_read_is_told_alike(tmp_path, local, monkeypatch):
    from ir_datasets.formats import TsvDocs
    from ir_datasets.util import LocalDownload

    told = compare_both(local(docs=TsvDocs(LocalDownload(tmp_path / "gone.tsv"))), monkeypatch)
    assert isinstance(told, str)
    assert "cannot be read: " in told
    assert "gone.tsv" in told


def test_the_digest_of_what_stays_in_files_is_kept(tmp_path, local, monkeypatch):
    rows = ['{"_id": "a", "text": "one"}', '{"_id": "b", "text": "two"}']
    folder = write_beir(tmp_path / "set", {"corpus.jsonl": "\n".join(rows)}, {}, ["a"])
    names = [str(folder), local([("d0", "x"), ("d1", "y")])]
    unjudged = {"queries": (), "gold": {}}
    held = [load(name).digest for name in names]
    fewer = replace(load(names[0]), **unjudged).digest
    leave_in_files(monkeypatch)
    assert [load(name).digest for name in names] == held
    with monkeypatch.context() as patch:
        patch.setattr(Collection, "_list_documents", None)
        assert [load(name).digest for name in names] == held
    assert replace(load(names[0]), **unjudged).digest == fewer
    (folder / "corpus.jsonl").write_text("\n".join([*rows[:1], '{"_id": "b", "text": "six"}']))
    assert load(names[0]).digest != held[0]


def test_the_digest_is_of_what_was_read(tmp_path, monkeypatch):
    """A file that is replaced meanwhile is another collection, to the next that reads it."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    rows = ['{"_id": "a", "text": "one"}', '{"_id": "a", "text": "two"}']
    folder = write_beir(tmp_path / "set", {"corpus.jsonl": rows[0]}, {}, ["a"])
    one = load(str(folder)).digest
    leave_in_files(monkeypatch)
    read = load(str(folder))
    (folder / "new.jsonl").write_text(rows[1])
    (folder / "new.jsonl").replace(folder / "corpus.jsonl")
    assert read.digest == one
    assert load(str(folder)).digest != one


def test_what_is_searched_and_ingested_stays_in_its_files(tmp_path, monkeypatch):
    leave_in_files(monkeypatch)
    resources = Resources(Cache(tmp_path / "cache"))
    documents = open_source(str(write_native(tmp_path / "set")), resources).documents
    assert isinstance(documents, DocumentShelf)
    assert gather_unjudged(documents, "set").documents is documents


class Seen:
    """What shows itself: how many of how many steps."""

    def __init__(self) -> None:
        self.steps: dict[str, tuple[int, int]] = {}

    def track(self, items: Iterable[T], what: str, total: int) -> Iterator[T]:
        self.steps[what] = (0, total)
        for done, item in enumerate(items, start=1):
            yield item
            self.steps[what] = (done, total)

    def say(self, line: str) -> None:
        raise AssertionError(line)


@pytest.mark.parametrize("largest", [1 << 28, 0])
def test_what_is_long_shows_itself(tmp_path, monkeypatch, largest):
    lines = {"corpus.jsonl": '{"_id": "a", "text": "one"}\n{"_id": "b", "text": "two"}\n'}
    beir = str(write_beir(tmp_path / "set", lines, {}, ["a"]))
    native = str(write_native(tmp_path / "native"))
    leave_in_files(monkeypatch, largest)
    monkeypatch.setattr(memo, "find", lambda kind, of: None)
    seen = Seen()
    assert all(load(name, seen).digest for name in (beir, native))
    assert not seen.steps, "what takes a moment does not"
    monkeypatch.setattr(reading, "SHOWN_FROM", 0)
    monkeypatch.setattr(reading, "MEGABYTE", 8)
    monkeypatch.setattr(collection, "SHOWN_FROM", 0)
    assert load(beir, seen).digest == load(beir).digest
    pieces = len(lines["corpus.jsonl"]) // 8
    assert seen.steps["reading corpus.jsonl, MB"] == (pieces, pieces)
    assert seen.steps["digest of documents"] == (2, 2)
    assert load(native, seen).digest == load(native).digest
    assert seen.steps["reading documents"] == seen.steps["digest of documents"] == (1, 1)


def test_a_bar_goes_where_a_line_is_broken(tmp_path, monkeypatch):
    """Else it would stand on a terminal while the fault is told."""
    lines = {"corpus.jsonl": '{"_id": "a", "text": "one"}\n{'}
    folder = str(write_beir(tmp_path / "set", lines, {}, ["a"]))
    monkeypatch.setattr(reading, "SHOWN_FROM", 0)
    monkeypatch.setattr(reading, "MEGABYTE", 8)
    closed: list[str] = []

    class Closing(Seen):
        def track(self, items: Iterable[T], what: str, total: int) -> Iterator[T]:
            try:
                yield from items
            finally:
                closed.append(what)

    for largest in (1 << 28, 0):
        leave_in_files(monkeypatch, largest)
        with pytest.raises(AssayError, match=r"corpus\.jsonl:2: not JSON") as raised:
            load(folder, Closing())
        assert raised.value.__traceback__ is not None
        assert closed == ["reading corpus.jsonl, MB"]
        closed.clear()
