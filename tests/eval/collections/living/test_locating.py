"""Finding judgments again, against hand-worked cases and an oracle that follows every line."""

from dataclasses import dataclass
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.eval.collections.living.findings import Status
from assay.eval.collections.living.locating import MARGIN, locate_all
from assay.eval.collections.living.rewording import compare
from assay.eval.collections.living.selectors import (
    CONTEXT,
    Anchor,
    list_headings,
    measure_support,
    sketch,
    stands_beside,
)
from assay.retrievers.base import Document

FEE = "The yearly fee for a reader's card is twelve crowns."
NOTE = "See the notes at the end of this page for details."


def anchor_at(path, text, exact, nth=0, copies=1):
    """Return the anchor of the nth place of a text in a document."""
    start = -1
    for _ in range(nth + 1):
        start = text.index(exact, start + 1)
    return anchor(path, text, start, start + len(exact), copies)


def anchor(path, text, start, end, copies=1):
    """Return the anchor of a span."""
    return Anchor(
        path=path,
        start=start,
        end=end,
        exact=text[start:end],
        prefix=text[max(start - CONTEXT, 0) : start],
        suffix=text[end : end + CONTEXT],
        headings=tuple(list_headings(path, text, start)),
        copies=copies,
    )


def find(item, **texts):
    """Return what became of a judgment; `a` is the document a.md."""
    documents = {f"{name}.md": Document(f"{name}.md", text, "") for name, text in texts.items()}
    (finding,) = locate_all([item], documents)
    return finding


OLD = f"# Library\n\n## Fees\n\nAll may read here. {FEE} Children read for nothing.\n"


def test_a_text_is_known_again_by_its_words_and_its_context():
    new = OLD.replace("reader's card", "reader's\n  card")
    finding = find(anchor_at("a.md", OLD, FEE), a=new)
    assert finding.status is Status.IN_PLACE
    assert new[finding.place.start : finding.place.end] == FEE.replace("s card", "s\n  card")
    assert find(anchor_at("a.md", OLD, FEE), b=OLD).status is Status.ELSEWHERE
    # A short text goes where its context is.
    assert find(anchor_at("a.md", OLD, "twelve crowns"), b=OLD).status is Status.ELSEWHERE
    finding = find(anchor_at("a.md", "May I? Yes. And then?", "Yes."), a="No more. Ever? Yes. X.")
    assert (finding.status, finding.place) == (Status.AMBIGUOUS, None)


def test_a_reworded_text_is_proposed_with_its_similarity_and_not_taken():
    new = OLD.replace("twelve", "fifteen")
    finding = find(anchor_at("a.md", OLD, FEE), a=new)
    assert (finding.status, finding.place) == (Status.REWORDED, None)
    (proposal,) = finding.proposals
    place = proposal.place
    assert new[place.start : place.end] == FEE.replace("twelve", "fifteen")
    # Of 11 words 10 are the same: 2 * 10 / (11 + 11).
    assert proposal.similarity == pytest.approx(10 / 11)


def test_marks_tags_and_addresses_do_not_make_texts_alike():
    link = '<a href="https://example.org/ferry/{}" class="link" target="_blank">{}</a>.'
    old = f"You can see {link.format('cases', 'all cases')} And help others.\n"
    new = f"* Follow {link.format('', 'me')} Look at projects.\n"
    assert compare(old, new) < 0.3
    assert find(anchor_at("a.md", old, old.strip()), a=new).status is Status.GONE
    markdown = "Boats: see [the list](https://example.org/{}), please, of {}."
    one, other = markdown.format("boats", "boats"), markdown.format("ships", "ships")
    assert compare(one, other) == pytest.approx(2 * 6 / 14)
    assert compare("!= ()", "!= []") == pytest.approx(2 * 2 / 8), "a text of marks alone"


def test_the_headings_decide_where_the_context_does_not():
    old = f"# A\n\n## One\n\n{NOTE}\n\n## Two\n\n{NOTE}\n"
    new = f"# A\n\n## One\n\nWords.\n\n{NOTE}\n\nMore.\n\n## Two\n\nWords.\n\n{NOTE}\n\nMore.\n"
    finding = find(anchor_at("a.md", old, NOTE, 1, copies=2), a=new)
    assert finding.place.start == new.rindex(NOTE)


def test_a_whole_document_is_known_again_by_its_lines():
    text = "".join(f"This is line {i} of a long document.\n" for i in range(30))
    item = Anchor("a.md", lines=tuple(sketch(text)))
    assert find(item, a=text).status is Status.IN_PLACE
    moved = find(item, b=text.replace("line 7 ", "row 7 "), c=OLD)
    assert (moved.status, moved.place.doc_id) == (Status.ELSEWHERE, "b.md")
    assert find(item, c=OLD).status is Status.GONE
    assert find(item, a=OLD).status is Status.REWORDED  # another text under its name


def test_a_section_stays_while_most_of_its_text_does():
    start = OLD.index("## Fees")
    piece = OLD[start:].rstrip()
    item = Anchor("a.md", start, start + len(piece), piece, section="Fees")
    assert find(item, a=OLD).status is Status.IN_PLACE
    edited = find(item, a=OLD.replace("twelve", "fifteen"))
    assert (edited.status, edited.edited) == (Status.IN_PLACE, True)
    other = find(
        item, a="# Library\n\n## Fees\n\nNobody has to pay any longer, says the council.\n"
    )
    assert other.status is Status.REWORDED
    assert find(item, a=OLD.replace("## Fees", "## What it costs")).status is Status.REWORDED


@dataclass(frozen=True)
class Line:
    """A line of a document, which the oracle knows by its number wherever it goes."""

    number: int
    text: str


WORDS = ("gate", "river", "stone", "permit", "meter", "harbour", "lamp", "frost", "council")
# Of different words: a line that overlaps itself has places across line ends, too.
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=9, max_size=12, unique=True).map(" ".join)


@st.composite
def histories(draw):
    """Return documents as lists of lines, before and after a script of edits."""
    numbers = count()

    def line():
        repeated = draw(st.integers(0, 5)) == 0
        return Line(next(numbers), NOTE if repeated else draw(SENTENCES))

    before = {f"{i}.txt": [line() for _ in range(draw(st.integers(1, 6)))] for i in range(3)}
    after = {name: list(lines) for name, lines in before.items()}
    for _ in range(draw(st.integers(0, 8))):
        name = draw(st.sampled_from(sorted(after)))
        lines = after[name]
        place = draw(st.integers(0, len(lines)))
        match draw(st.sampled_from(["insert", "delete", "move", "rename", "split", "merge"])):
            case "insert":
                lines.insert(place, line())
            case "delete":
                del lines[place : place + 1]
            case "move":
                block = lines[place : place + 2]
                del lines[place : place + 2]
                target = after[draw(st.sampled_from(sorted(after)))]
                position = draw(st.integers(0, len(target)))
                target[position:position] = block
            case "rename":
                after[f"renamed-{next(numbers)}.txt"] = after.pop(name)
            case "split":
                after[f"split-{next(numbers)}.txt"] = lines[place:]
                del lines[place:]
            case "merge":
                other = draw(st.sampled_from(sorted(after)))
                if other != name:
                    lines += after.pop(other)
    return before, after


def render(lines):
    return "".join(f"{line.text}\n" for line in lines)


def test_an_equal_text_that_came_to_the_same_offsets_is_not_it():
    old = "Is it 1 or not? Yes.\nIs it 2 or not? Yes.\nIs it 3 or not? Yes.\nThat is all of it."
    new = old.partition("\n")[2]
    finding = find(anchor_at("a.md", old, "Yes.", 1, copies=3), a=new)
    assert finding.place.start == new.index("Yes.")


def test_a_copy_in_the_same_document_needs_surroundings_of_its_own():
    text = "meter river permit harbour lamp frost council stone gate"
    old = f"The first lines of it\n{text}\n{text}\nharbour gate and the rest\n"
    start = old.rindex(text)
    item = anchor("a.md", old, start, start + len(text), 2)
    new = {
        "a.md": f"The first lines of it\n{text}\n",
        "b.md": f"{text}\nharbour river and the rest\n",
    }
    (found,) = locate_all([item], {name: Document(name, new[name], "") for name in new})
    assert (found.status, found.place) == (Status.AMBIGUOUS, None)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_a_line_is_found_where_it_went_or_not_at_all(history):
    before, after = history
    old, new = ({name: render(lines) for name, lines in part.items()} for part in history)
    anchors, numbers = [], []
    for name, lines in before.items():
        start = 0
        for line in lines:
            copies = sum(text.count(line.text) for text in old.values())
            anchors.append(anchor(name, old[name], start, start + len(line.text), copies))
            numbers.append(line.number)
            start += len(line.text) + 1
    went = {}
    for name, lines in after.items():
        start = 0
        for line in lines:
            went[line.number] = (name, start)
            start += len(line.text) + 1
    found = locate_all(anchors, {name: Document(name, text, "") for name, text in new.items()})
    for item, number, finding in zip(anchors, numbers, found, strict=True):
        copies = sum(text.count(item.exact) for text in new.values())
        if place := finding.place:
            chosen = (place.doc_id, place.start)
            assert new[place.doc_id][place.start : place.end] == item.exact
            assert (finding.status is Status.IN_PLACE) == (chosen == (item.path, item.start))
            if chosen != went.get(number):
                # Only a copy that has the surroundings that were judged, and not much less of them.
                support = measure_support(item, new[place.doc_id], place.start, place.end)
                own = went.get(number)
                least = (
                    measure_support(item, new[own[0]], own[1], own[1] + len(item.exact))
                    if own
                    else 0
                )
                assert item.copies + copies > 2 or own is None
                unmoved = chosen == (item.path, item.start)
                text = new[place.doc_id]
                beside = unmoved and stands_beside(item, text, place.start, place.end)
                # A text that was there once is known by itself, whoever wrote it again.
                enough = 0 if item.copies == 1 else MARGIN
                assert beside or support >= max(enough, least - MARGIN + 1)
        elif copies == 1 and item.copies == 1 and number in went:
            pytest.fail(f"{item.exact!r} is there and was not found: {finding.status}")
        else:
            assert finding.status not in (Status.IN_PLACE, Status.MOVED, Status.ELSEWHERE)
