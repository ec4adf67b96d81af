"""Corpora and data sets of ir_datasets that stay in files are those held, to the bit."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples.mapped_collections import compare_both, leave_in_files, load_both, write_large

from assay.eval.collections.collection import Collection
from assay.eval.collections.formats import reading
from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError, Quiet
from assay.retrievers.store import lazy_sequence as shelf
from assay.retrievers.store.lazy_sequence import PassageSequence

WORDS = ("a", "b", "\u00e9", "\u4e00", "\U0001f600", "a b", "\u2028")
DRAWS = st.builds(Random, st.integers(0, 1 << 32))
PROPERTY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def write_text(draw, most):
    return " ".join(draw.choices(WORDS, k=draw.randint(0, most)))


def test_a_file_that_changes_meanwhile_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(shelf, "RECENT", 0)
    rows = b'{"_id": "r", "text": "one"}\n{"_id": "s", "text": "two"}\n'
    folder = write_large(tmp_path / "beir", rows, "r")
    _, beir = load_both(str(folder), monkeypatch)
    (folder / "corpus.jsonl").write_bytes(rows.replace(b"two", b'tw"'))
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

    class Docs(BaseDocs):
        def __init__(self, rows):
            self._rows = rows

        def docs_iter(self):
            yield from (GenericDoc(*row) for row in self._rows)

    (tmp_path / "queries.tsv").write_text("q\ta b\n")
    (tmp_path / "qrels.txt").write_text("q 0 d0 1\nq 0 gone 1\n")
    names = []

    def register(rows=(), docs=None):
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


def test_what_ir_datasets_cannot_read_is_told_alike(tmp_path, local, monkeypatch):
    from ir_datasets.formats import TsvDocs
    from ir_datasets.util import LocalDownload

    told = compare_both(local(docs=TsvDocs(LocalDownload(tmp_path / "gone.tsv"))), monkeypatch)
    assert isinstance(told, str)
    assert "cannot be read: " in told
    assert "gone.tsv" in told


def test_the_digest_is_of_what_was_read(tmp_path, monkeypatch):
    """A file that is replaced meanwhile is another collection, to the next that reads it."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    rows = [b'{"_id": "a", "text": "one"}', b'{"_id": "a", "text": "two"}']
    folder = write_large(tmp_path / "set", rows[0], "a")
    one = load(str(folder)).digest
    leave_in_files(monkeypatch)
    read = load(str(folder))
    (folder / "new.jsonl").write_bytes(rows[1])
    (folder / "new.jsonl").replace(folder / "corpus.jsonl")
    assert read.digest == one
    assert load(str(folder)).digest != one


def test_a_bar_goes_where_a_line_is_broken(tmp_path, monkeypatch):
    """Else it would stand on a terminal while the fault is told."""
    folder = str(write_large(tmp_path / "set", b'{"_id": "a", "text": "one"}\n{', "a"))
    monkeypatch.setattr(reading, "SHOWN_FROM", 0)
    monkeypatch.setattr(reading, "MEGABYTE", 8)
    closed = []

    class Closing(Quiet):
        def track(self, items, what, total):
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
    begun = []
    iterate = docs.docs_iter
    monkeypatch.setattr(docs, "docs_iter", lambda self: begun.append(1) or iterate(self))
    return begun
