"""What is around the text of a page goes, and no text with it."""

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from assay.retrievers.base.markdown import read_headings
from assay.retrievers.documents.conversion.converter import _convert
from assay.retrievers.documents.conversion.furniture import parse_page

FURNITURE = [
    '<div id="cookie-banner">We use xx.</div>',
    '<div class="top cookieConsent__bar">Accept xx</div>',
    '<div id="onetrust-consent-sdk"><button>xx</button></div>',
    '<div role="dialog" aria-label="Cookie settings">xx</div>',
    "<template><p>xx</p></template>",
    "<noscript>xx</noscript>",
    "<dialog>xx</dialog>",
    "<p hidden>xx</p>",
    '<p style="color: red; display:none">xx</p>',
    '<p style="Visibility : hidden">xx</p>',
    '<div class="prompt input_prompt">In&nbsp;[3]:</div>',
    '<div class="jp-OutputPrompt">Out[12]:</div>',
    '<div class="prompt"><pre>[*]:</pre></div>',
    '<button class="copybtn">xx</button>',
    "<nav>xx</nav>",
]
TEXT = [
    "<p>We use cookies in the oven, In [3]: at 180 degrees.</p>",
    '<section id="cookies"><h2>Cookie consent</h2><p>How it works.</p></section>',
    '<div id="cookie-policy"><p>Our policy on cookies.</p></div>',
    f'<div class="cookie-notice"><p>{"All about cookies. " * 200}</p></div>',
    '<div role="tabpanel" hidden><p>The other tab.</p></div>',
    "<details><summary>More</summary><p>Folded away.</p></details>",
    '<p style="display: block">Shown.</p>',
    "<p>See ¶ 12 and [4]:</p>",
    '<p class="prompt">Type yes at the prompt</p>',
    "<dialog open>Look here.</dialog>",
    "<h3><button>A question</button></h3>",
    '<p><a href="#top">Above</a> all</p>',
]
BESIDE = [
    '<a class="headerlink" href="#x" title="Link to this heading">¶</a>',
    '<a class="headerlink" href="#x">#</a>',
    '<a class="anchor-link" href="#x">&#182;</a>',
    '<a class="anchor" aria-hidden="true" href="page.html#x"><svg></svg></a>',
    '<a class="hash-link" href="#x">\u200b</a>',
    '<a class="header-anchor" href="#x">Permalink</a>',
    '<a href="#x">🔗</a>',
]


@given(st.lists(st.sampled_from(FURNITURE)), st.lists(st.sampled_from(TEXT), min_size=1), st.data())
def test_all_furniture_goes_and_all_text_stays(furniture, text, data):
    mixed = data.draw(st.permutations([*furniture, *text]))
    kept = [item for item in mixed if item in text]
    found, wanted = (
        page.get_text().split()
        for page in (
            parse_page("".join(mixed).encode()),
            BeautifulSoup("".join(kept), "html.parser"),
        )
    )
    assert found == wanted


@pytest.mark.parametrize("link", BESIDE)
@pytest.mark.parametrize("pattern", ["{}Late fees", "Late fees{}", "Late {}<em>fees</em>"])
def test_a_heading_is_its_text_without_its_own_link(link, pattern):
    page = f"<html><body><h2>{pattern.format(link)}</h2><p>Pay in time.</p></body></html>"
    text = _convert(".html", page.encode())["text"]
    assert text.replace("*", "") == "## Late fees\n\nPay in time."


@pytest.mark.parametrize(
    ("heading", "shown"),
    [
        ('<a class="header-anchor" href="#x"><span>Late fees</span></a>', "Late fees"),
        ('<a href="#x">Late fees</a>', "Late fees"),
        ('Late fees <a href="#x">from 2024</a>', "Late fees from 2024"),
        ('<a href="#x">¶</a>', "¶"),
    ],
)
def test_a_link_that_is_text_of_a_heading_stays(heading, shown):
    title = parse_page(f"<nav>Up</nav><h2>{heading}</h2><p>Text.</p>".encode()).h2
    assert title is not None
    assert title.get_text() == shown


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ('# Late fees[¶](#late-fees "Link to this heading")', "Late fees"),
        ("# Late fees ¶", "Late fees"),
        ("# Late fees [#](#late-fees)", "Late fees"),
        ("# [](#late)Late fees", "Late fees"),
        ('# Late fees<a class="headerlink" href="#x">¶</a>', "Late fees"),
        ("# [Late fees](#late)", "Late fees"),
        ("# Late [→](fees.md)", "Late →"),
        ("# §¶ 5 and ¶ 6", "§¶ 5 and ¶ 6"),
        ("# ¶", "¶"),
    ],
)
def test_a_title_has_no_link_to_itself(line, title):
    assert [heading.title for heading in read_headings(f"{line}\n\nText.\n")] == [title]
