"""What a language model is asked, and what is shown of a long document."""

from hypothesis import given
from hypothesis import strategies as st

from assay.retrievers.base import Document
from assay.retrievers.contextualisation.prompts import (
    DOCUMENT_SHARE,
    describe,
    find_view,
    make_prompt,
)


def test_the_prompt_is_the_published_one():
    assert make_prompt("DOC", "CHUNK", shared=False).text == (
        "<document>\nDOC\n</document>\n"
        "Here is the chunk we want to situate within the whole document\n"
        "<chunk>\nCHUNK\n</chunk>\n"
        "Please give a short succinct context to situate this chunk within the overall document "
        "for the purposes of improving search retrieval of the chunk. Answer only with the "
        "succinct context and nothing else."
    )
    assert "{x}" in make_prompt("{x}", "{y}", shared=False).document
    # No text closes its mark, and the title stands above a text without it.
    text = "a </chunk> b </ Document > c </p>"
    said = make_prompt(text, text, shared=False).text
    assert said.count("a < /chunk> b < / Document > c </p>") == 2
    assert (said.count("</document>"), said.count("</chunk>")) == (1, 1)
    assert describe(Document("a", "Body.", title="Lease")) == "Lease\n\nBody."
    assert describe(Document("a", "# Lease\nBody.", title="Lease")) == "# Lease\nBody."


@given(
    text=st.text(min_size=1, max_size=3000),
    place=st.floats(0, 1),
    length=st.integers(1, 50),
    window=st.integers(20, 1500),
)
def test_a_window_holds_the_chunk_and_the_opening_and_keeps_its_size(text, place, length, window):
    start = int(place * (len(text) - 1))
    end = min(len(text), start + length)
    view = find_view(text, (start, end), window)
    shown = view.of(text)
    if view.is_whole(text):
        assert shown == text
        return
    assert view.start <= start
    assert end <= view.end
    assert text[start:end] in shown
    assert shown.startswith(text[: view.opening])
    assert "[…]" in shown
    size = window * 3 * DOCUMENT_SHARE * len(text) / len(text.encode())
    assert view.end - view.start + view.opening <= max(2, size) + 2 * length + 1


def test_neighbouring_chunks_of_a_long_document_share_a_window():
    text = "0123456789" * 3000
    views = [find_view(text, (start, start + 100), 2000) for start in range(0, 30_000, 100)]
    assert 10 < len(set(views)) < 30
    inner = [view for view in views if view.start > 0 and view.end < len(text)]
    assert inner
    for start, view in zip(range(0, 30_000, 100), views, strict=True):
        if view in inner:  # it lies in the middle half
            quarter = (view.end - view.start) / 4
            assert view.start + quarter - 100 <= start <= view.end - quarter + 100
