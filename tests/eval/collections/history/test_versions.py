"""Versions of a collection: what changed, what each held, how git merges those of two branches."""

import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.collections.catalog import find_card
from assay.eval.collections.history import read_history, record_version
from assay.eval.collections.history.contents import Contents, compare_contents
from assay.eval.collections.history.versions import find_contents
from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError

CARD = "name: made\ntitle: Made\nformat: native\n"


def write(folder, documents, *judged):
    """Write a collection whose judgments are (query, document, quote)."""
    (folder / "docs").mkdir(parents=True, exist_ok=True)
    (folder / "dataset.yaml").write_text(CARD)
    for path in (folder / "docs").iterdir():
        path.unlink()
    for name, text in documents.items():
        (folder / "docs" / name).write_text(text)
    queries = {query: {"_id": query, "text": f"what of {query}"} for query, _, _ in judged}
    rows = []
    for query, name, quote in judged:
        start = documents[name].index(quote)
        span = {"start": start, "end": start + len(quote), "text": quote}
        rows.append({"query_id": query, "path": name, **span, "grade": 1})
    for file, values in (("queries.jsonl", list(queries.values())), ("judgments.jsonl", rows)):
        (folder / file).write_text("".join(json.dumps(row) + "\n" for row in values))
    return folder


def test_a_version_says_what_changed(tmp_path):
    folder = write(
        tmp_path / "made", {"a.md": "One. Two.", "b.md": "Bees."}, ("q1", "a.md", "Two.")
    )
    first = record_version(load(str(folder)), "made")
    assert record_version(load(str(folder)), "again") == first
    write(
        folder,
        {"a.md": "Zero. One. Two.", "c.md": "Cats."},
        ("q1", "a.md", "Two."),
        ("q2", "c.md", "Cats."),
    )
    collection = load(str(folder))
    second = record_version(collection, "a sentence\nmore")
    assert (second.parent, second.why) == (first.digest, "a sentence more")
    assert second.digest == collection.digest
    assert second.changes.words == (
        "documents: 1 added, 1 removed, 1 changed; queries: 1 added; judgments: 1 added, 1 moved"
    )
    assert second.changes.judgments.moved == {"q1\ta.md[11:15]": "q1\ta.md[5:9]"}
    assert len((folder / "versions.jsonl").read_text().splitlines()) == 2
    history = read_history(find_card(str(folder)))
    assert history == (first, second)
    assert find_contents(history, 1) == Contents.of(collection)


def test_a_collection_that_comes_back_to_what_it_was(tmp_path):
    texts = ({"a.md": "One."}, {"a.md": "One. Two."})
    for i in (0, 1, 0, 1):
        collection = load(str(write(tmp_path / "made", texts[i], ("q1", "a.md", "One."))))
        record_version(collection, "edit")
    history = read_history(collection.card)
    assert [version.digest for version in history[:2]] == [i.digest for i in history[2:]]
    assert find_contents(history, 3) == Contents.of(collection)


def test_git_keeps_the_versions_of_two_branches(tmp_path):
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True
        )

    texts = {"a.md": "One.", "b.md": "Bees."}
    folder = write(tmp_path / "made", texts, ("q1", "a.md", "One."))
    record_version(load(str(folder)), "made")
    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "made")
    for branch, name in (("one", "a.md"), ("two", "b.md")):
        git("checkout", "-b", branch, "main")
        write(folder, {**texts, name: f"{texts[name]} More."}, ("q1", "a.md", "One."))
        record_version(load(str(folder)), branch)
        git("commit", "-am", branch)
    git("merge", "one")
    merged = load(str(folder))
    last = record_version(merged, "merged")
    history = read_history(merged.card)
    assert [version.why for version in history] == ["made", "two", "one", "merged"]
    assert last.changes.words == "documents: 1 changed"
    assert find_contents(history, 3) == Contents.of(merged)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<<<<<<< HEAD\n", "versions.jsonl:1: a merge conflict's mark; delete the marks"),
        ('{"digest": "ab"}\n', "versions.jsonl:1: digest: "),
    ],
)
def test_a_history_that_cannot_be_read_is_named(tmp_path, text, message):
    folder = write(tmp_path / "made", {"a.md": "One."}, ("q1", "a.md", "One."))
    (folder / "versions.jsonl").write_text(text)
    with pytest.raises(AssayError) as error:
        record_version(load(str(folder)), "made")
    assert message in str(error.value)
    assert (folder / "versions.jsonl").read_text() == text


def test_a_version_made_from_one_that_is_gone(tmp_path):
    for text in ("One.", "One. Two."):
        collection = load(str(write(tmp_path / "made", {"a.md": text}, ("q1", "a.md", "One."))))
        record_version(collection, "edit")
    path = tmp_path / "made/versions.jsonl"
    path.write_text(path.read_text().splitlines(keepends=True)[1])
    with pytest.raises(AssayError, match="is not above it; take the file back from git"):
        find_contents(read_history(collection.card), 0)


ITEMS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xyz"))
JUDGMENTS = st.dictionaries(
    st.builds("{}\t{}".format, st.sampled_from("qr"), st.sampled_from("abcde")),
    st.builds("{} {}".format, st.integers(0, 2), st.sampled_from("xyz")),
)
CONTENTS = st.builds(Contents, ITEMS, ITEMS, JUDGMENTS)


@given(CONTENTS, CONTENTS)
def test_changes_lead_from_one_to_the_other(before, after):
    changes = compare_contents(before, after)
    assert before.apply(changes) == after
    for new, old in changes.judgments.moved.items():
        assert before.judgments[old] == after.judgments[new]
