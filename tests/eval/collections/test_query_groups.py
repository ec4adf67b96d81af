"""The group of a query: declared, else the document of its main gold, else the query alone."""

from dataclasses import replace

import pytest
import yaml
from samples.collection_folders import write_native

from assay.eval.collections.catalog import find_card
from assay.eval.collections.check import check
from assay.eval.collections.collection import GoldItem, Query
from assay.eval.collections.groups import (
    Group,
    describe_groups,
    find_groups,
    find_main_document,
    find_original,
    share_touched,
)
from assay.eval.collections.in_memory import make_collection
from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError


def judged(document, length, grade=1, start=0):
    span = f"{document}[{start}:{start + length}]"
    return GoldItem("q", span, document, start, start + length, grade)


COPIES = {"archive": "page", "older": "archive"}


@pytest.mark.parametrize(
    ("items", "main"),
    [
        ([judged("long", 900, 1), judged("best", 10, 3), judged("none", 2000, 0)], "best"),
        # Of one grade the most text, and of as much the first id.
        ([judged("a", 50), judged("b", 30), judged("b", 30, start=40)], "b"),
        ([judged("b", 50), judged("a", 50), judged("c", 50)], "a"),
        # A copy and its original are one document, whose text counts once.
        ([judged("archive", 40), judged("page", 40), judged("other", 60)], "other"),
        ([judged("archive", 40), judged("page", 40)], "page"),
        ([GoldItem("q", "gone", "gone", 0, 0, 1)], "gone"),
    ],
)
def test_the_main_document_has_the_highest_grade_and_the_most_text(items, main):
    assert find_main_document(items, COPIES) == find_main_document(items[::-1], COPIES) == main
    assert find_original("older", COPIES) == "page"
    assert find_original("a", {"a": "b", "b": "a"}) in ("a", "b")


def test_groups_of_queries_and_what_they_count_for():
    queries = [Query("1", "x"), Query("2", "y"), Query("3", "z", group="talk")]
    gold = {"1": (judged("a", 9),), "2": (judged("a", 9, 0),), "3": (judged("a", 9),)}
    assert find_groups(queries, gold) == {
        "1": Group("document", "a"),
        "2": Group("query", "2"),
        "3": Group("declared", "talk"),
    }
    assert find_groups(queries[:1], {}) == {"1": Group("query", "1")}
    groups = [Group("document", "a"), Group("document", "a"), Group("query", "q")]
    assert share_touched(groups, 3, {"c": "a"}) == 0.5
    assert share_touched(groups, 0) == 1.0
    groups = [Group("document", name) for name in "aaaabbbbccccdddd"]
    assert describe_groups(groups) == (
        "16 questions on 4 documents, up to 4 on one: they count as about 10 independent questions "
        "(foreseen; a comparison measures it)"
    )
    assert describe_groups([*groups, Group("declared", "talk")]).startswith("17 questions on 5 gro")
    assert describe_groups([Group("document", "a"), Group("query", "1")]) == ""
    assert describe_groups([]) == ""


def test_the_check_says_so(card):
    with (
        (card / "queries.jsonl").open("a") as queries,
        (card / "judgments.jsonl").open("a") as gold,
    ):
        for i in range(4, 7):
            queries.write(f'{{"_id": "{i}", "text": "why {i}?"}}\n')
            gold.write(f'{{"query_id": "{i}", "path": "a.md", "grade": 1}}\n')
    notes = [item.message for item in check(find_card(str(card))) if item.severity == "note"]
    assert any(note.startswith("6 questions on 2 groups, up to 5 on one") for note in notes)


def test_the_groups_of_a_shipped_collection_are_its_documents():
    collection = load("tarnwick")
    copies = collection.card.known_copies
    groups = find_groups(collection.queries, collection.gold, copies)
    documents = {group.name for group in groups.values()}
    assert len(documents) == 60
    assert not documents & copies.keys()
    assert share_touched(groups.values(), len(collection.documents), copies) == 1.0


@pytest.fixture
def card(tmp_path):
    """The folder of a small collection whose queries have metadata."""
    queries = [
        {"_id": "1", "text": "when?", "metadata": {"talk": 7}},
        {"_id": "2", "text": "which?", "group": "own", "metadata": {"talk": 7}},
        {"_id": "3", "text": "who?"},
    ]
    judgments = [{"query_id": str(i), "path": "a.md", "grade": 1} for i in (1, 2, 3)]
    return write_native(tmp_path, {"a.md": "Ferries leave at nine."}, queries, judgments)


def declare(folder, **more):
    values = yaml.safe_load((folder / "dataset.yaml").read_text())
    (folder / "dataset.yaml").write_text(yaml.safe_dump(values | more))


def test_a_row_a_table_or_the_card_declares_groups(card):
    assert [query.group for query in load(str(card)).queries] == ["", "own", ""]
    declare(card, groups="talk")
    assert [query.group for query in load(str(card)).queries] == ["7", "own", ""]
    queries = {"1": {"text": "when?", "group": 7}, "2": "which?"}
    made = make_collection({"a": "Ferries leave."}, queries, {"1": {"a": 1}, "2": {"a": 1}})
    assert [query.group for query in made.queries] == ["7", ""]
    declare(card, groups="talk")
    row = '{"_id": "1", "text": "when?", "metadata": {"talk": ["a"]}}\n'
    (card / "queries.jsonl").write_text(row)
    with pytest.raises(AssayError, match=r'"metadata\.talk" must be a string'):
        load(str(card))


def test_what_is_declared_is_part_of_the_digest_and_nothing_else_changes_it(card):
    (card / "queries.jsonl").write_text('{"_id": "1", "text": "when?", "metadata": {"talk": 7}}\n')
    (card / "judgments.jsonl").write_text('{"query_id": "1", "path": "a.md", "grade": 1}\n')
    before = load(str(card))
    declare(card, groups="talk")
    grouped = load(str(card))
    assert grouped.digest != before.digest
    bare = tuple(replace(query, group="") for query in grouped.queries)
    assert replace(grouped, queries=bare).digest == before.digest
    declare(card, groups="", documents_are="sample")
    assert load(str(card)).digest not in (before.digest, grouped.digest)
