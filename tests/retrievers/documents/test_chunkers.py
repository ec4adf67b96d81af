"""What each chunker does; the rules common to all are test_chunker_conformance.py's."""

import re
from itertools import pairwise

import pytest

from assay.retrievers.base import Document
from assay.retrievers.documents.chunkers import StructureChunker
from assay.retrievers.documents.chunkers.combine_split import CombineSplitChunker
from assay.retrievers.documents.chunkers.simple import (
    FixedChunker,
    ParentChildChunker,
    SectionChunker,
)
from assay.retrievers.documents.structure.structure import parse
from assay.retrievers.documents.tokens import TokenMap


def tokenize(text):
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def cut(chunker, text):
    return [chunk.text for chunk in chunker.chunk(Document("d.md", text), tokenize)]


def test_a_heading_without_body_opens_the_next_chunk():
    text = "Before.\n\n# A\n\n## B\n\nText.\n\n### C\n\nMore.\n\n## D\n"
    chunks = StructureChunker().chunk(Document("d.md", text), tokenize)
    assert [chunk.text.split("\n")[0] for chunk in chunks] == ["Before.", "# A", "### C", "## D"]
    assert [chunk.headings for chunk in chunks] == [(), ("A", "B"), ("A", "B", "C"), ("A", "D")]
    assert [chunk.section_id for chunk in chunks] == ["", "b", "c", "d"]
    assert [chunk.level for chunk in chunks] == [0, 2, 3, 2]
    assert chunks[1].anchors == ("a", "b")
    assert [chunk.kind for chunk in chunks] == ["content", "content", "content", "header"]


def test_overlong_sections_are_cut_between_paragraphs_then_sentences():
    paragraphs = "\n\n".join(f"Paragraph {n} has words. It has two sentences." for n in range(6))
    chunks = cut(StructureChunker(max_tokens=25, overlap_tokens=0), paragraphs)
    assert all(chunk.startswith("Paragraph") for chunk in chunks)
    line = " ".join(f"Sentence number {n} is here." for n in range(30))
    chunks = cut(StructureChunker(max_tokens=16, overlap_tokens=0), line)
    assert all(chunk.startswith("Sentence") for chunk in chunks)


def test_an_overlap_begins_with_a_sentence_and_stays_in_its_section():
    line = " ".join(f"Sentence number {n} is here." for n in range(30))
    text = f"# A\n\n{line}\n\n# B\n\n{line}\n"
    chunks = StructureChunker(max_tokens=40, overlap_tokens=8).chunk(Document("d", text), tokenize)
    repeated = [
        text[other.start : one.end] for one, other in pairwise(chunks) if other.start < one.end
    ]
    assert len(repeated) == len(chunks) - 2
    assert all(re.fullmatch(r"Sentence number \d+ is here. ", part) for part in repeated)


def test_windows_hold_what_fits():
    chunker = FixedChunker(type="fixed", max_tokens=20, overlap_tokens=5, restart="document")
    chunks = cut(chunker, "# Head\n\n" + "word " * 50)
    assert [len(tokenize(chunk)) for chunk in chunks] == [20, 20, 20, 7]
    assert cut(chunker, "# A\n\nOne.\n\n# B\n\nTwo.\n") == ["# A\n\nOne.\n\n# B\n\nTwo.\n"]
    by_section = chunker.model_copy(update={"restart": "section"})
    assert cut(by_section, "# A\n\nOne.\n\n# B\n\nTwo.\n") == ["# A\n\nOne.\n\n", "# B\n\nTwo.\n"]


def section(title, words):
    return f"{title}\n\n{'word ' * words}\n\n"


@pytest.fixture
def combiner():
    return CombineSplitChunker(
        type="combine_split", target_min=40, target_max=80, micro_tokens=10, max_tokens=200,
        overlap_tokens=0, split_to_target=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sections", "groups", "decisions"),
    [
        # Sections fill the target, and one that would exceed it opens another chunk.
        ([("### a", 40), ("### b", 30), ("### c", 60)], [2, 1], {"merged": 1}),
        # A micro-section is absorbed beyond the target.
        ([("### a", 75), ("### b", 2), ("### c", 60)], [2, 1], {"absorbed": 1}),
        # An H2 and a special heading are hard breaks, however small what is before them.
        ([("### a", 20), ("## b", 20), ("### FAQ", 20)], [1, 1, 1], {"hard_break": 2}),
        ([("### a", 20), ("### Known issues", 20)], [1, 1], {"hard_break": 1}),
        ([("### a", 20), ("### 3.1 Troubleshooting", 2)], [1, 1], {"hard_break": 1}),
        # A small remainder of a part joins the chunk before it, but not over a hard break.
        ([("### a", 70), ("### b", 30), ("## c", 20)], [2, 1], {"smoothed": 1, "hard_break": 1}),
        # A note, and what follows a colon, belong to what is before them.
        ([("### a", 70), ("### A note", 50), ("### b", 60)], [2, 1], {"attached": 1}),
        ([("### Steps:", 70), ("### b", 50), ("### c", 60)], [2, 1], {"attached": 1}),
        # Nothing goes over the maximum.
        ([("### a", 70), ("### A note", 190)], [1, 1], {}),
    ],
)
def test_combining(combiner, sections, groups, decisions):
    text = "".join(section(*item) for item in sections)
    combination = combiner.combine(parse(text), TokenMap(text, tokenize))
    assert [len(group.sections) for part in combination.parts for group in part] == groups
    assert {key: n for key, n in combination.decisions.items() if n} == decisions
    assert len(cut(combiner, text)) == len(groups)


@pytest.mark.parametrize(
    ("changes", "groups"),
    [
        ({}, [1, 1, 1, 1]),
        ({"respect_h2": False}, [3, 1]),
        ({"respect_h3": True}, [1, 1, 1, 1]),
        ({"absorb_across": True}, [2, 1, 1]),
    ],
)
def test_what_is_a_hard_break_can_be_chosen(combiner, changes, groups):
    text = section("## a", 30) + section("## b", 2) + section("## c", 35) + section("## FAQ", 2)
    chosen = combiner.model_copy(update=changes)
    combination = chosen.combine(parse(text), TokenMap(text, tokenize))
    assert [len(group.sections) for part in combination.parts for group in part] == groups
    assert combination.decisions["crossed"] == ("absorb_across" in changes)
    thirds = section("## a", 20) + section("### b", 20)
    assert len(cut(chosen, thirds)) == 1 + ("respect_h3" in changes)


def test_a_small_first_part_joins_the_next(combiner):
    text = section("# a", 2) + section("## b", 30) + section("## c", 90)
    joined = combiner.model_copy(update={"absorb_across": True})
    assert [chunk.count("#") for chunk in cut(joined, text)] == [3, 2]
    assert len(cut(combiner, text)) == 3


def test_small_sections_do_not_pile_up_beyond_the_target(combiner):
    sizes = [len(tokenize(chunk)) for chunk in cut(combiner, section("### a", 6) * 60)]
    assert sum(sizes) == 60 * 10
    assert max(sizes) <= 80
    assert min(sizes) >= 40
    # A small remainder is evened out where sections allow it.
    text = "".join(section("### a", size) for size in (21, 21, 21, 26))
    assert [len(tokenize(chunk)) for chunk in cut(combiner, text)] == [50, 55]
    # What is over the maximum is cut.
    chunks = cut(combiner, section("## A", 500))
    assert [len(tokenize(chunk)) for chunk in chunks] == [200, 200, 103]


@pytest.mark.parametrize("head", ["", "# Title\n\n"])
def test_text_without_headings_is_split_to_the_target(combiner, head):
    paragraphs = "\n\n".join(f"Paragraph {n} has words. It has two sentences." for n in range(30))
    chunks = cut(combiner, head + paragraphs)
    assert all(chunk.startswith(("Paragraph", "# Title")) for chunk in chunks)
    assert all(40 <= len(tokenize(chunk)) <= 80 for chunk in chunks)
    sentences = cut(combiner, head + " ".join(f"Sentence {n} is here." for n in range(60)))
    assert all(chunk.rstrip().endswith(".") and len(tokenize(chunk)) <= 80 for chunk in sentences)
    assert max(len(tokenize(chunk)) for chunk in cut(combiner, head + "word " * 500)) <= 80
    assert len(cut(combiner, section("## Deeper", 190))) == 1
    chosen = combiner.model_copy(update={"split_to_target": True})
    assert [len(tokenize(chunk)) for chunk in cut(chosen, section("## Deeper", 190))] == [
        80,
        63,
        50,
    ]


@pytest.mark.parametrize(
    "note",
    [
        "> [!WARNING]\n> Mind the gap. Then walk. Then sit.",
        "!!! note\n    Mind the gap. Then walk. Then sit.",
        "!!! note\n\n    Mind the gap.\n\n    Then walk. Then sit.",
        ":::tip\nMind the gap.\n\nThen walk. Then sit.\n:::",
        "**Note:** Mind the gap. Then walk. Then sit.",
    ],
)
def test_admonitions_stay_whole(note):
    chunker = StructureChunker(max_tokens=40, overlap_tokens=0)
    for words in range(20, 40):
        assert any(note in chunk for chunk in cut(chunker, f"{'word ' * words}\n\n{note}\n\nEnd."))


def test_combined_sections_share_the_headings_above_them(combiner):
    text = section("# A", 20) + section("## B", 20) + section("### C", 20) + section("### D", 20)
    chunks = combiner.chunk(Document("d.md", text), tokenize)
    assert [chunk.headings for chunk in chunks] == [("A",), ("A", "B")]
    assert [chunk.anchors for chunk in chunks] == [("a",), ("b", "c", "d")]


def test_children_know_their_parents():
    chunker = ParentChildChunker(
        type="parent_child", parent_tokens=60, parent_overlap_tokens=10, max_tokens=20,
        overlap_tokens=5,
    )  # fmt: skip
    text = "# A\n\nShort.\n\n# B\n\n" + "One more sentence here. " * 40
    chunks = chunker.chunk(Document("d.md", text), tokenize)
    assert chunks[0].parent == (0, text.index("# B"))
    parents = sorted({chunk.parent for chunk in chunks if chunk.parent})
    assert len(chunks) > 2 * len(parents) > 6
    assert all(len(tokenize(text[begin:end])) <= 60 for begin, end in parents)
    shared = [one[1] - other[0] for one, other in pairwise(parents[1:])]
    assert all(length > 0 for length in shared)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# A\n\nPlain words.", "content"),
        ("# A\n\nThe master must count them.", "requirement"),
        ("# Definitions\n\n“Fee” means a sum.", "definition"),
        ("# A\n\nThe Maritime Authority (“the Authority”) sits here.", "content"),
        ("# See also\n\n- The list of berths", "reference"),
        ("# A\n\n- [[one]]\n- [two](two.md)\n", "reference"),
        ("# A\n\n## B\n", "header"),
    ],
)
def test_kinds(text, kind):
    (chunk,) = StructureChunker().chunk(Document("d.md", text), tokenize)
    assert chunk.kind == kind


@pytest.mark.parametrize(
    ("chunker", "values"),
    [
        (StructureChunker, {"max_tokens": 40, "overlap_tokens": 30}),
        (SectionChunker, {"overlap_tokens": 10}),
        (FixedChunker, {"type": "fixed", "max_tokens": 40, "overlap_tokens": 30}),
        (CombineSplitChunker, {"type": "combine_split", "target_min": 900, "target_max": 800}),
        (ParentChildChunker, {"type": "parent_child", "max_tokens": 600}),
    ],
)
def test_settings_that_cannot_be_kept_are_refused(chunker, values):
    with pytest.raises(ValueError, match="validation error"):
        chunker.model_validate(values)
