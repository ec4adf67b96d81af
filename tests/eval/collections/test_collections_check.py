"""Checking reports everything at once; sealing touches nothing else in the card."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from samples.collection_folders import write_native, write_rows

from assay.eval.collections.catalog import find_card, read_card
from assay.eval.collections.check import check
from assay.eval.collections.digests import replace_block, seal
from assay.eval.collections.loading import load
from assay.eval.collections.problems import summarise
from assay.retrievers.base import AssayError


@pytest.fixture
def sound(tmp_path):
    texts = {"a.md": "# A\n\nFirst text.\n", "b.md": "# B\n\nSecond text.\n"}
    judgment = {"query_id": "q1", "path": "a.md", "section": "A"}
    return write_native(tmp_path / "sound", texts, [{"_id": "q1", "text": "first?"}], [judgment])


def problems(folder):
    """Return `message` by `file:line: severity`, the file's name alone."""
    found = [str(problem) for problem in check(read_card(folder / "dataset.yaml"))]
    split = [line.removeprefix(f"{folder}/").rpartition(": ")[0] for line in found]
    assert len(set(found)) == len(found)
    return dict(zip(found, split, strict=True))


def test_frontmatter_that_cannot_be_read_is_a_warning(sound):
    (sound / "docs/a.md").write_text("---\ntitle: A: b\n---\n# A\n\nFirst text.\n")
    (sound / "docs/b.md").write_text("---\ndate: 2024-02-30\n---\n# B\n")
    assert list(problems(sound)) == [
        f"{sound}/docs/a.md: warning: frontmatter: line 2: not YAML: mapping values are not allowed"
        " here; it is read as text",
        f"{sound}/docs/b.md: warning: frontmatter: line 2: not YAML: day is out of range for month;"
        " it is read as text",
    ]


def test_a_language_whose_words_have_no_blanks_is_named(sound):
    (sound / "docs/a.md").write_text("# A\n\n图书馆的书最多可以借三周,可在网上续借一次。\n")
    assert list(problems(sound)) == [
        f"{sound}/dataset.yaml: warning: language: the card says en, and of the letters in the "
        "documents 62% are Chinese (zh); a keyword leg finds such words with analyzer: chinese"
    ]
    with (sound / "dataset.yaml").open("a") as file:
        file.write("language: zh\n")
    assert problems(sound) == {}


def test_everything_wrong_is_reported_at_once(sound):
    seal(read_card(sound / "dataset.yaml"))
    (sound / "docs/twin.md").write_text("# A\n\nFirst text.\n")
    (sound / "docs/empty.md").write_text(" \n")
    write_rows(
        sound / "queries.jsonl",
        [
            {"_id": "q1", "text": "first?"},
            {"_id": "q2", "text": " "},
            {"_id": "q1", "text": "again"},
            {"_id": "q3", "text": "only grade 0"},
            {"_id": "q4", "text": "unjudged"},
            {"_id": "q5", "text": "first?"},
            "{broken",
        ],
    )
    write_rows(
        sound / "judgments.jsonl",
        [
            {"query_id": "q1", "path": "a.md", "section": "A"},
            {"query_id": "q1", "path": "a.md", "section": "A"},
            {"query_id": "q1", "path": "a.md", "section": "A", "grade": 3},
            {"query_id": "q9", "path": "a.md"},
            {"query_id": "q1", "path": "z.md"},
            {"query_id": "q1", "path": "a.md", "start": 5, "end": 50},
            {"query_id": "q1", "path": "a.md", "start": 5, "end": 10, "text": "Other"},
            {"query_id": "q1", "path": "b.md", "section": "Nowhere"},
            {"query_id": "q3", "path": "b.md", "grade": 0},
            {"query_id": "q5", "path": "b.md"},
        ],
    )
    found = [
        (Path(item.file).name, item.line, item.severity, item.message)
        for item in check(read_card(sound / "dataset.yaml"))
    ]
    expected = [
        ("empty.md", 0, "warning", 'document "empty.md" has no text'),
        ("twin.md", 0, "warning", 'document "twin.md" has the same text as "a.md"'),
        ("queries.jsonl", 2, "error", 'query "q2" has no text'),
        ("queries.jsonl", 3, "error", 'query id "q1" is taken by line 1'),
        ("queries.jsonl", 6, "warning", 'query "q5" has the same text as "q1"'),
        ("queries.jsonl", 7, "error", "not JSON"),
        ("judgments.jsonl", 2, "warning", 'query "q1": "a.md[0:16]" is judged twice'),
        ("judgments.jsonl", 3, "error", '"a.md[0:16]" has grade 3 here and 1 before'),
        ("judgments.jsonl", 4, "error", 'there is no query "q9"; the first one there is "q1"'),
        (
            "judgments.jsonl",
            5,
            "error",
            'there is no document "z.md"; the first one there is "a.md"',
        ),
        ("judgments.jsonl", 6, "error", "span 5 to 50 is not within"),
        ("judgments.jsonl", 7, "error", 'the judged text from 5 of "a.md" is gone now'),
        ("judgments.jsonl", 8, "error", 'has no heading "Nowhere"'),
        ("judgments.jsonl", 9, "warning", 'query "q3" has no judgment of a positive grade'),
        ("queries.jsonl", 5, "warning", 'query "q4" has no judgment'),
        ("dataset.yaml", 0, "error", "digests.docs: its SHA-256 is now"),
        ("dataset.yaml", 0, "error", "digests.queries.jsonl: its SHA-256 is now"),
        ("dataset.yaml", 0, "error", "digests.judgments.jsonl: its SHA-256 is now"),
    ]
    assert [item[:3] for item in found] == [item[:3] for item in expected]
    for (*_, message), (*_, part) in zip(found, expected, strict=True):
        assert part in message


def test_a_cause_comes_before_what_follows_from_it(sound):
    seal(read_card(sound / "dataset.yaml"))
    (sound / "queries.jsonl").unlink()
    assert [item.message for item in check(read_card(sound / "dataset.yaml"))] == [
        "there is no such file",
        'there is no query "q1"; none was read',
    ]
    write_rows(sound / "queries.jsonl", ["{broken", {"_id": "q2", "text": "second?"}])
    found = [item.message for item in check(read_card(sound / "dataset.yaml"))]
    assert found[0].startswith("not JSON")
    assert found[1] == 'there is no query "q1"; the first one there is "q2"'
    assert found[2].startswith("digests.queries.jsonl: its SHA-256")
    assert len(found) == 3
    assert summarise(check(read_card(sound / "dataset.yaml")))[0].endswith(found[0])


def test_a_query_of_another_variant_is_judged(sound):
    write_rows(
        sound / "queries.jsonl", [{"_id": "q1", "text": "first?"}, {"_id": "q2", "text": "second?"}]
    )
    write_rows(sound / "more.jsonl", [{"query_id": "q2", "path": "b.md"}])
    with (sound / "dataset.yaml").open("a") as file:
        file.write("judgments: {test: judgments.jsonl, more: more.jsonl}\n")
    assert check(read_card(sound / "dataset.yaml")) == []


def test_a_card_under_another_name_is_a_warning(sound):
    (sound / "dataset.yaml").write_text("name: other\ntitle: Sound\nformat: native\n")
    (found,) = check(read_card(sound / "dataset.yaml"))
    assert found.severity == "warning"


CARD = """\
# Ours.
name: sound
sizes:   # measured long ago
  documents: 9
  queries: 9
  judgments: 9

# A remark on the title.
title: Sound  # the name

format: native   # see the docs
digests: {docs: '%s'}
licence: none
""" % ("0" * 64)


def test_sealing_leaves_the_rest_of_the_card_alone(sound):
    path = sound / "dataset.yaml"
    path.write_text(CARD)
    card = seal(read_card(path))
    assert (card.sizes.documents, card.sizes.queries, card.sizes.judgments) == (2, 1, 1)
    assert set(card.digests) == {"docs", "queries.jsonl", "judgments.jsonl"}
    text = path.read_text()
    kept = CARD.splitlines()
    gone = {"sizes:   # measured long ago", "  documents: 9", "  queries: 9", "  judgments: 9"}
    kept = [line for line in kept if line not in gone and not line.startswith("digests")]
    assert [line for line in text.splitlines() if line in kept] == kept
    seal(card)
    assert path.read_text() == text, "sealing twice changes nothing"
    assert sorted(item.name for item in sound.iterdir()) == [
        "dataset.yaml",
        "docs",
        "judgments.jsonl",
        "queries.jsonl",
    ]


def test_a_broken_collection_is_not_sealed(sound):
    before = (sound / "dataset.yaml").read_text()
    write_rows(sound / "judgments.jsonl", [{"query_id": "q1", "path": "z.md"}])
    with pytest.raises(AssayError, match=r'no document "z\.md"'):
        seal(read_card(sound / "dataset.yaml"))
    assert (sound / "dataset.yaml").read_text() == before


def test_a_collection_without_a_card_is_not_sealed(tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    write_rows(tmp_path / "corpus.jsonl", [{"_id": "d", "text": "x"}])
    write_rows(tmp_path / "queries.jsonl", [{"_id": "q", "text": "x"}])
    assert len(load(str(tmp_path)).queries) == 1
    with pytest.raises(AssayError, match="has no card"):
        seal(find_card(str(tmp_path)))


VALUES = st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.integers(), max_size=4)
BLOCKS = st.sampled_from(
    ["a: 1\n", "b:\n  c: 2\n  d: [1,\n    2]\n", "# note\n", "\n", "t: |\n  x\n\n  y\n", "e: 'f'\n"]
)


@given(st.lists(BLOCKS, unique=True), st.lists(BLOCKS, unique=True), VALUES, VALUES)
def test_replacing_a_block_changes_that_key_only(before, after, old, new):
    after = [block for block in after if block not in before]
    text = "".join([*before, yaml.safe_dump({"sizes": old}), *after])
    replaced = replace_block(text, "sizes", new)
    assert yaml.safe_load(replaced) == {**yaml.safe_load(text), "sizes": new}
    assert replaced.startswith("".join(before))
    assert replaced.endswith("".join(after))


def test_a_query_that_nothing_answers_says_so(sound):
    def warnings(kind, grade):
        write_rows(sound / "queries.jsonl", [{"_id": "q1", "text": "first?", "type": kind}])
        row = {"query_id": "q1", "path": "a.md", "section": "A", "grade": grade}
        write_rows(sound / "judgments.jsonl", [row])
        return [problem.message for problem in check(read_card(sound / "dataset.yaml"))]

    assert warnings("no_answer", 0) == []
    assert warnings("no_answer", 1) == []
    assert warnings("no_answer", 2) == ['query "q1" has the type no_answer and an answer']
    nothing, zero = warnings("factual", 0)
    assert nothing.startswith('judgments: "test" has no relevant judgment')
    assert "scores 0 always" in zero
    (sound / "judgments.jsonl").write_text("")
    problems = check(read_card(sound / "dataset.yaml"))
    assert [problem.severity for problem in problems] == ["error"]
    assert "no relevant judgment" in problems[0].message


def test_known_copies_are_no_cause_to_warn(sound):
    def warnings():
        return [problem.message for problem in check(read_card(sound / "dataset.yaml"))]

    (sound / "docs/c.md").write_text((sound / "docs/a.md").read_text())
    (sound / "docs/d.md").write_text((sound / "docs/a.md").read_text())
    assert len(warnings()) == 2
    card = (sound / "dataset.yaml").read_text()
    (sound / "dataset.yaml").write_text(f"{card}\ncopies: {{c.md: a.md, d.md: a.md}}\n")
    assert warnings() == []
    (sound / "docs/d.md").write_text("# D\n\nAnother text.\n")
    assert warnings() == ['copies: "d.md" is no copy of "a.md"']


def test_a_card_says_who_judged_what_names_nobody(sound):
    """It makes no other collection of it; a row that names a person comes before."""
    card = sound / "dataset.yaml"
    gold = {"query_id": "q1", "path": "a.md", "section": "A", "grade": 2}
    write_rows(sound / "judgments.jsonl", [gold, gold | {"section": None, "path": "b.md"}])
    rows = "judgments: {all: judgments.jsonl, other: other.jsonl}\n"
    write_rows(sound / "other.jsonl", [gold | {"judged_by": "person anna"}])
    card.write_text(card.read_text() + rows)
    before = load(str(sound))
    assert problems(sound) == {}
    card.write_text(card.read_text() + "judged_by: model that wrote it\n")
    after = load(str(sound))
    assert after.digest == before.digest
    assert [item.judged_by for item in after.gold["q1"]] == ["model that wrote it"] * 2
    said = [str(problem) for problem in check(read_card(card))]
    assert [line.rpartition("/")[2] for line in said] == [
        "dataset.yaml: note: judged_by: a model gave the grades that name nobody "
        "(model that wrote it)"
    ], "what the card tells of is no warning"
    assert seal(read_card(card)).sizes.by_model == 2
    person = gold | {"grade": 1, "judged_by": "person"}
    write_rows(sound / "judgments.jsonl", [gold, person])
    found = load(str(sound))
    assert [(item.grade, item.by_model) for item in found.gold["q1"]] == [(1, False)]
    write_rows(sound / "judgments.jsonl", [gold, person | {"path": "b.md", "section": None}])
    said = [str(problem) for problem in check(read_card(card)) if problem.severity == "warning"]
    told = "50.0 % of the judgments were made by a language model, not by people (1 of 2; model "
    assert f"{told}that wrote it: 1)" in said[0]
    card.write_text(card.read_text().replace("model that wrote it", "gpt-6"))
    with pytest.raises(AssayError, match="judged_by"):
        read_card(card)


def test_a_digest_notices_a_file_that_moved(sound):
    seal(read_card(sound / "dataset.yaml"))
    (sound / "docs/b.md").rename(sound / "docs/c.md")
    found = check(read_card(sound / "dataset.yaml"))
    assert [item.message.partition(":")[0] for item in found] == ["digests.docs"]
