"""Quotes are found at their true offsets, however they were copied."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.retrievers.base import Document
from assay.retrievers.base.folding import fold
from assay.retrievers.base.quotes import Locator, QuoteSpan

VARIANTS = {
    "-": "-–—‐−",
    "'": "'’‘",
    '"': '"“”„',
    " ": [" ", "\n", "\t", "\u00a0", "  \n ", "\r\n", "\u2003"],
}
WORDS = st.text(alphabet="abcdeéßﬁÅ'\"-.,*_", min_size=1, max_size=8)
TEXTS = st.lists(WORDS, min_size=3, max_size=30).map(" ".join)


def locator(**texts):
    return Locator({name: Document(name, text) for name, text in texts.items()})


def stands_once(text, quote):
    """Only a quote that a reader could place can be expected to be found at one place."""
    return 0 <= text.find(quote) == text.rfind(quote)


@st.composite
def noisy_quotes(draw):
    """Return a text, a span of it that neither starts nor ends in white space, and the span's
    words as somebody may have copied them."""
    text = draw(TEXTS)
    start = draw(st.integers(0, len(text) - 1))
    end = draw(st.integers(start + 1, len(text)))
    quote = text[start:end]
    assume(quote == quote.strip() and quote)
    noisy = "".join(
        draw(st.sampled_from(list(VARIANTS[char]))) if char in VARIANTS else char for char in quote
    )
    noisy = draw(st.sampled_from([noisy, noisy.upper(), noisy.casefold()]))
    padding = draw(st.sampled_from(["", " ", "\n\n"]))
    return text, start, end, padding + noisy + padding


@given(noisy_quotes())
def test_a_span_is_among_the_places_of_its_quote(case):
    text, start, end, quote = case
    assume(stands_once(fold(text).text, fold(quote.strip()).text))
    assume(text.count(quote.strip()) <= 1)
    (place,) = locator(a=text, b="zz").find(quote)
    assert place.doc_id == "a"
    # A run of dashes counts as one, so that a quote of part of it stands for all of it.
    assert text[place.start : start].strip("-") == ""
    assert text[end : place.end].strip("-") == ""
    assert place.start <= start
    assert end <= place.end


@given(st.text(max_size=60))
def test_folding_points_back_into_the_text(text):
    folded = fold(text)
    assert len(folded.text) == len(folded.starts) == len(folded.ends)
    assert list(folded.starts) == sorted(folded.starts)
    assert all(0 <= a < b <= len(text) for a, b in zip(folded.starts, folded.ends, strict=True))


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        ("It needs “root” — really.", 'it needs "root" - really', "It needs “root” — really"),
        ("The ﬁrst Straße.", "the first STRASSE", "The ﬁrst Straße"),
        ("Hy\u00adphen\u200bated words", "hyphenated words", "Hy\u00adphen\u200bated words"),
        ("Install **the** `client` now", "Install the client now", None),
        ("cafe\u0301 noir", "caf\u00e9 noir", "cafe\u0301 noir"),
        ("wait -- here", "wait — here", "wait -- here"),
        ("never ---", "Never –", "never ---"),
        ("wait … here", "wait ... here", "wait … here"),
    ],
)
def test_forms_that_people_copy(text, quote, found):
    before = "x " * 3
    (place,) = locator(a=before + text + " y").find(quote)
    assert place.start == len(before)
    assert (before + text)[place.start : place.end] == (found or text)


MARKS = re.compile(r"\]\(https://a\.b/c\)|</?\w+>|(?<=\w)-\n")
PLAIN = st.from_regex(r"[a-z]{3,7}", fullmatch=True)


@st.composite
def decorated(draw):
    """Return lines of words as Markdown, and the words."""
    lines = draw(st.lists(st.lists(PLAIN, min_size=2, max_size=5), min_size=1, max_size=5))
    style = draw(st.sampled_from(["bullet", "number", "table", "quote", "heading", "wrap", "html"]))
    if style == "table":  # no page shows a cell beyond those of the header
        lines = [words[:2] for words in lines]
    mark = draw(
        st.sampled_from(["**{}**", "_{}_", "`{}`", "[{}](https://a.b/c)", "<b>{}</b>", "{}"])
    )
    hyphened = draw(st.booleans())
    shown = []
    for number, words in enumerate(lines, start=1):
        marked = [mark.format(words[0]), *words[1:]]
        if hyphened:
            marked[-1] = f"{words[-1][:2]}-\n{words[-1][2:]}" if style == "wrap" else marked[-1]
        text = " ".join(marked)
        shown.append(
            {
                "bullet": f"{draw(st.sampled_from('-*+•'))} {text}",
                "number": f"{number}. {text}",
                "table": f"| {' | '.join(marked)} |",
                "quote": f"> {text}",
                "heading": f"## {text}",
                "wrap": text,
                "html": f"<li>{text}</li>",
            }[style]
        )
    if style == "table":
        shown.insert(1, "|---|:---:|")
    return "\n".join(shown), lines


@given(decorated(), st.sampled_from([" ", "\n", "\n- ", "\n• ", " | ", "\t"]))
def test_what_is_rendered_is_found_where_it_stands(case, between):
    shown, lines = case
    before, after = "Zzyx 12.5 aaa.\n\n", "\n\nZzyx 99 bbb."
    text = f"{before}{shown}{after}"
    quote = between.join(" ".join(words) for words in lines)
    places = locator(a=text, b="Qqq rrr").find(quote)
    assert places, (text, quote)
    words = [word for line in lines for word in line]
    for place in places:
        inside = MARKS.sub("", text[place.start : place.end])
        assert re.findall(r"[a-z]+", inside) == words
    if len(places) == 1:
        assert len(before) <= places[0].start < places[0].end <= len(before) + len(shown)


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("x < 5 and y > 6 here", "x > 5 and y < 6 here"),
        ("a rate of 1.5 percent", "a rate of 15 percent"),
        ("version 15 of it", "version 1 5 of it"),
        ("the therapist came", "the rapist came"),
        ("from -5 to 5", "from 5 to 5"),
        ("one 10 % share", "one 10 share"),
    ],
)
def test_what_is_not_the_passage_is_not_found(text, quote):
    assert locator(a=text).find(quote) == []


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("| Plan | Price |\n|---|---|\n| Basic | 5 € |", "Plan Price Basic 5 €"),
        ("1. Open it.\n2. Close it.", "1) Open it 2) Close it"),
        ("1. Open it.\n2. Close it.", "Open it. Close it."),
        ('See [the guide](a/b(c).md "x") now[^1].', "See the guide now."),
        ("A docu-\nment and a well-known one", "A document and a wellknown one"),
        ("Terms &amp; conditions apply\\!", "Terms & conditions apply!"),
        ("H<sub>2</sub>O<br>is water", "H2O is water"),
        ("- [x] done: all\n- [ ] open", "done, all; open"),
        ("40 kg[^1] on wet days.", "40 kg1 on wet days."),
        ("The\n===\n\nTurn it.", "The Turn it."),
        ("## The valve {#v}\n\nTurn it.", "The valve Turn it."),
        ("Turn it {/* x */} now.", "Turn it now."),
        ("Press <B on={() => go()}>Start</B> now.", "Press Start now."),
        ("See [[plan|the plan]] now.", "See the plan now."),
    ],
)
def test_marks_that_a_page_does_not_show(text, quote):
    assert len(locator(a=f"Before.\n\n{text}\n\nAfter.").find(quote)) == 1


def test_of_several_places_the_exact_one_and_that_which_cuts_no_word_come_first():
    places = locator(a="the limit\nis five", b="the limit is five").find("the limit is five")
    assert places == [QuoteSpan("b", 0, 17)]
    assert locator(a="15 days or 5 days").find("5 days") == [QuoteSpan("a", 11, 17)]
    assert len(locator(a="5 days or 5 days").find("5 days")) == 2
    assert locator(a="15 days").find("5 days") == [QuoteSpan("a", 1, 7)]
    places = locator(a="| one | two | three |\n", b="- **one** two\n- three").find("one two three")
    assert [place.doc_id for place in places] == ["a", "b"]
    found = locator(a="same words", b="same words")
    assert len(found.find("same words")) == 2
    assert found.find("same words", ["b"]) == [QuoteSpan("b", 0, 10)]
    assert found.find("other words") == found.find("  ") == found.find("***") == []


def test_documents_are_found_as_people_name_them_and_by_their_rarest_words():
    documents = {
        "guide/setup.md": Document("guide/setup.md", "", "Setting up"),
        "api/setup.md": Document("api/setup.md", "", "Setup of the API"),
        "faq.txt": Document("faq.txt", "", "faq"),
        "api/prices.pdf.md": Document("api/prices.pdf.md", "", "Prices"),
    }
    named = Locator(documents).find_documents
    assert named("guide/setup.md") == named("./guide/SETUP.md") == ["guide/setup.md"]
    assert named("setup.md") == ["guide/setup.md", "api/setup.md"]
    assert named("setting up") == ["guide/setup.md"]
    assert named("FAQ") == ["faq.txt"]
    assert named("api/prices.pdf") == named("Prices.PDF") == ["api/prices.pdf.md"]
    assert named("nothing") == []
    # An accent may be a character of its own, as in names of files from a Mac.
    apart = "re\u0301sume\u0301.md"
    named = Locator({apart: Document(apart, "", "Ge\u0301ne\u0301ral")}).find_documents
    assert named("résumé.md") == named("Général") == named("RÉSUMÉ") == [apart]
    found = locator(a="the refund is paid", b="the ferry is late", c="the the the")
    assert found.nearest("When is the refund paid?") == "a"
    assert found.nearest("xyz") == ""
    assert locator().nearest("x") == ""
