"""What a page shows of Markdown is found where it stands in the source."""

import random
import re
from itertools import pairwise
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from assay.retrievers.base import Document
from assay.retrievers.base.frontmatter import frontmatter_end
from assay.retrievers.base.page import read_page
from assay.retrievers.base.quotes import Locator

ROOT = Path(__file__).parents[3]
PAGE = MarkdownIt("commonmark").enable(["table", "strikethrough"])
WORDS = re.compile(r"w[bcdfghk]{6}[aeiou]{3}")

# How a block is written, and what its page shows of it; {} are words.
BLOCKS = {
    "{} {} {}": "{} {} {}",
    "# {} *{}* {}": "{} {} {}",
    "{} {}\n===\n\n{}": "{} {} {}",
    "{} **{}**\n---\n\n{}": "{} {} {}",
    "## {} {} {{#v}}\n\n{}": "{} {} {}",
    "### {} {} {{: .wide}}\n\n{}": "{} {} {}",
    "{} {}[^n] {}": "{} {}1 {}",
    "{} {}[^n] {}\n\n[^n]: {}.": "{} {}[1] {} {}.",
    "{} {}[^n]. {}": "{} {}. {}",
    "{} {{/* {} */}} {}": None,
    "{} {}\n\n{{/* aaa\n\nbbb */}}\n\n{}": "{} {} {}",
    "{} <!-- aaa\n bbb --> {} {}": "{} {} {}",
    "{} <B on={{() => go('>')}} at=\"x\">{}</B> {}": "{} {} {}",
    "<Card\n  on={{{{ a: 1 }}}}\n>\n{} *{}*\n</Card>\n\n{}": "{} {} {}",
    "<>{} {}</> {}": "{} {} {}",
    "{} {{' '}}{} {}": "{} {} {}",
    "{} {{\"{}\"}} {}": "{} {} {}",
    "{} {{props.count}} {} {}": "{} {} {}",
    "import A from './a'\nimport B from './b'\n\n{} {} {}": "{} {} {}",
    "{} {}\n\nexport const meta = 1\n\n{}": "{} {} {}",
    "{} [[aaa|{}]] {}": "{} {} {}",
    "{} [[{}]] {}": "{} {} {}",
    "[{}](u_u 'aaa') ![bbb](x.png) [{} {}][r]\n\n[r]: http://a.b 'ccc'": "{} {} {}",
    "1. {}\n2. {}\n\n   {}": "{} {} {}",
    "9) {}\n10) {} {}": "{} {} {}",
    "- {}\n  - [ ] {}\n+ {}": "{} {} {}",
    "> {}\n> - {}\n{}": "{} {} {}",
    "| {} | `a\\|b` |\n|---|:-:|\n| {} | {} |": "{} a|b {} {}",
    "| {} |\n|---|---|\n| {} | {} |": "{} {} {}",
    "```js title=\"aaa\"\n{}\n  # {}\n```\n{}": "{} # {} {}",
    "    {}\n    *{}*\n\n{}": "{} *{}* {}",
    "<div class=\"a\">\n<p>{} <b>{}</b></p>\n{}\n</div>": "{} {} {}",
    "{}&nbsp;&amp; {}\\* <{}>": None,
    "{} ~~{}~~ __{}__": "{} {} {}",
    ":::tip {}\n{} {}\n:::": "{} {} {}",
    "{} \\\n{}  \n{}": "{} {} {}",
    "<script>\naaa\n</script>\n\n{} {} {}": "{} {} {}",
    "<https://a.b/{}> {} {}": "https://a.b/{} {} {}",
}  # fmt: skip
BLOCKS["{} {{/* {} */}} {}"] = "{0} {2}"
BLOCKS["{}&nbsp;&amp; {}\\* <{}>"] = "{0} & {1}*"


@st.composite
def pages(draw):
    """Return Markdown of several blocks, no words of which stand twice, and the words shown."""
    number = draw(st.integers(1, 4))
    rng = random.Random(draw(st.integers(0, 99)))
    words = iter(lambda: "w" + "".join(rng.choices("bcdfghk", k=6) + rng.choices("aeiou", k=3)), "")
    written, shown, notes = [], [], ""
    for block in draw(st.lists(st.sampled_from(sorted(BLOCKS)), min_size=number, max_size=number)):
        page = BLOCKS[block]
        # A page shows footnotes in one way.
        way = "[^" in block and page
        if way:
            if notes:
                continue
            notes = way
        own = [next(words) for _ in range(4)]
        written.append(block.format(*own))
        shown += page.format(*own).split()
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return "\n\n".join([*written, ""]).replace("\n", newline), shown


@given(pages(), st.data())
def test_words_in_a_row_of_a_page_are_found(page, data):
    text, shown = page
    size = data.draw(st.integers(2, min(30, max(2, len(shown)))))
    at = data.draw(st.integers(0, max(0, len(shown) - size)))
    quote = shown[at : at + size]
    (place,) = Locator({"a.md": Document("a.md", text)}).find(" ".join(quote))
    found = WORDS.findall(text[place.start : place.end])
    wanted = WORDS.findall(" ".join(quote))
    if wanted:
        assert (found[0], found[-1]) == (wanted[0], wanted[-1])


def test_a_note_in_brackets_is_found_beside_a_picture_that_shows_no_words():
    text = "one ![alt](x.png) two three[^n] four\n\n[^n]: Note.\n"
    (place,) = Locator({"a.md": Document("a.md", text)}).find("one two three[1]")
    assert text[place.start : place.end] == "one ![alt](x.png) two three[^n]"


@pytest.mark.parametrize("folder", ["docs", "datasets/harbourline/docs"])
def test_words_in_a_row_of_real_pages_are_found(folder):
    rng = random.Random(4)
    for path in sorted((ROOT / folder).rglob("*.md"))[:12]:
        text = path.read_text(encoding="utf-8")
        html = PAGE.render(text[frontmatter_end(text) :])
        words = BeautifulSoup(html, "html.parser").get_text().split()
        locator = Locator({"a.md": Document("a.md", text)})
        for _ in range(4):
            at = rng.randrange(max(1, len(words) - 30))
            quote = " ".join(words[at : at + rng.randint(5, 30)])
            assert locator.find(quote), (path, quote)


@pytest.mark.parametrize("text", [">\t\tpay()\n", "- a\n\n\t\tpay()\n", "\n>\t\tpay()"])
def test_blanks_that_are_part_of_a_tab_stand_where_it_does(text):
    # A tab reaches to the next multiple of four columns, part of which the quote or item takes.
    tab = text.index("pay") - 1
    blanks = [part for part in read_page(text) if part.text == " "]
    assert [(part.start, part.end) for part in blanks] == [(tab, tab + 1)] * 2


LINES = st.sampled_from(
    ["# One `a`", "Two\n---", "*T* __e__ ~~x~~", "", "```\ncode\n```", "    a\tb", "- \titem",
     "1. 1. q", "> q", "| a | b\\|c |\n|--|--|\n| `d\\|e` | f", "&amp;&#65;", "\\*\\a", "\ufeff",
     "a\x00b", "<b c>", "<!-- x -->", "{/* y */}", "{#z}", "[^a]: n[^b]", "[x](y 'z')", "![i](j)",
     "[[k|l]]", "<m n={o}>", "**", "``", "[r]: /s", "[r]", "~~~~~", "\t- t", "<https://u.v>",
     "{'w'}", ":::tip", "<A\nb\n>", "{/*\n\n*/} p"]
)  # fmt: skip


@given(st.lists(LINES, max_size=12), st.sampled_from(["\n", "\r\n", "\r", "\n\n"]))
@example(["1. 1. q", "\t- t"], "\n")
@example(["> > a\t", "> b"], "\r\n")
@example(["~~~~~", "# One `a`", "    a\tb"], "\r\n")
def test_parts_stand_in_order_where_they_are_said_to(lines, newline):
    text = newline.join(lines)
    parts = read_page(text)
    assert all(0 <= part.start <= part.end <= len(text) for part in parts)
    for part in parts:
        source = text[part.start : part.end]
        if len(source) == len(part.text) and part.kind in ("text", "marker") and source.isalnum():
            assert part.text == source
    shown = [part for part in parts if part.kind in ("text", "marker")]
    assert all(one.start <= other.start for one, other in pairwise(shown))
