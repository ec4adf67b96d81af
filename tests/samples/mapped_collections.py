"""Collections read twice: held, and left in their files."""

from assay.eval.collections.catalog import find_card
from assay.eval.collections.check import check
from assay.eval.collections.formats import beir, irds, memo
from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError
from assay.retrievers.store.lazy_sequence import PassageSequence


def write_large(folder, corpus, judged):
    """Write a folder in BEIR's layout: these bytes as its corpus, and one judged document."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    (folder / "dataset.yaml").write_text("name: large\ntitle: Large\nformat: beir\n")
    (folder / "corpus.jsonl").write_bytes(corpus)
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "a b \u00e9"}\n')
    qrels = f"query-id\tcorpus-id\tscore\nq\t{judged}\t1\n"
    (folder / "qrels" / "test.tsv").write_text(qrels)
    return folder


def leave_in_files(patch, most=-1):
    """Leave collections of more than `most` bytes in their files from now on."""
    for format_ in (beir, irds):
        patch.setattr(format_, "LARGEST_HELD", most)


def load_both(reference, monkeypatch):
    """Return a collection that is held, and the same left in its files."""
    held = load(reference)
    with monkeypatch.context() as patch:
        leave_in_files(patch)
        return held, load(reference)


def compare_both(reference, monkeypatch):
    """Assert that all is alike whether a collection is held or not; return it, or its fault."""
    told, found = [], []
    for limit in (1 << 28, -1):
        with monkeypatch.context() as patch:
            leave_in_files(patch, limit)
            patch.setattr(memo, "find", lambda kind, of: None)  # what the other kept
            patch.setattr(memo, "keep", lambda kind, of, value: None)
            told.append(_try_to_load(reference))
            found.append(check(find_card(reference)))
    held, left = told
    assert found[0] == found[1]
    if isinstance(held, str) or isinstance(left, str):
        assert held == left
        return held
    assert isinstance(left.documents, PassageSequence)
    assert not isinstance(held.documents, PassageSequence)
    assert tuple(left.documents) == held.documents
    assert left.documents[-1] == held.documents[-1]
    assert (left.digest, left.gold, left.queries) == (held.digest, held.gold, held.queries)
    assert left.passages == held.passages
    assert left.prescribed == held.prescribed
    assert dict(left.texts) == dict(held.texts)
    assert dict(left.by_id) == dict(held.by_id)
    return left


def _try_to_load(reference):
    try:
        return load(reference)
    except AssayError as error:
        return str(error)
