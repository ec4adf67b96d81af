"""The parts of a web page around its text: navigation, banners, hidden elements."""

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

NAVIGATION = ("navigation", "contentinfo")  # roles
CONTENT = ("article", "blockquote", "section", "aside")
UNSEEN = ("template", "noscript", "dialog")
INVISIBLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.I)
HEADER_LINKS = frozenset(
    ("headerlink", "header-anchor", "heading-anchor", "anchor-link", "anchorjs-link", "hash-link")
)
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "dt", "caption", "figcaption")
COPY_BUTTON = re.compile("clipboard|copy")
PROMPT = re.compile(r"(?:(?:In|Out)\s*)?\[[\d*\s]*\]:?", re.I)
BANNER = re.compile(
    r"(?:^|[\s_-])(?:cookies?|gdpr)[\s_-]*(?:banner|bar|box|consent|dialog|disclaimer|info|law|message"
    r"|modal|notice|notification|overlay|popup|prompt|warning)|onetrust|cybotcookiebot|cc-window"
    r"|cookieconsent",
    re.I,
)
LONGEST_BANNER = 2000  # characters; a longer element is a text about cookies


def parse(page: bytes | str) -> "BeautifulSoup":
    """Parse an HTML page; bytes are UTF-8 where they can be."""
    from bs4 import BeautifulSoup

    encoding = "utf-8" if isinstance(page, bytes) else None
    return BeautifulSoup(page, "html.parser", from_encoding=encoding)


def parse_page(data: bytes) -> "BeautifulSoup":
    """Parse an HTML page without what is not its text.

    Left out are navigation and footer, text that a browser does not show, banners that ask about
    cookies, links of headings to themselves, prompts of notebooks and copy buttons. The footer of
    an article or a section belongs to it, and stays; so does a tab that a click shows. A page that
    is nothing else is returned whole.
    """
    soup = parse(data)
    for item in [item for item in soup.find_all(True) if _is_around(item)]:
        _take_out(item)
    if (soup.find("body") or soup).get_text(strip=True):
        return soup
    return parse(data)


def _take_out(item: Any) -> None:
    """Remove an element; texts before and after it become one, as if it had never been there."""
    from bs4.element import NavigableString

    before, after = item.previous_sibling, item.next_sibling
    item.extract()
    if type(before) is type(after) is NavigableString:
        before.replace_with(before + after.extract())


def _is_around(item: Any) -> bool:
    """Return True for an element that is not part of the text."""
    if not item.attrs and item.name not in ("nav", "footer", *UNSEEN):
        return False
    classes = item.get_attribute_list("class", "")
    copies = item.name == "button" and COPY_BUTTON.search(" ".join(classes))
    links = not HEADER_LINKS.isdisjoint(classes) or _is_sign(item)
    around = copies or _is_navigation(item) or _is_unseen(item) or (links and _is_beside(item))
    return bool(around or _is_banner(item) or _is_prompt(item))


def _is_navigation(item: Any) -> bool:
    if item.name == "footer" and item.find_parent(CONTENT):
        return False
    return item.name in ("nav", "footer") or item.get("role") in NAVIGATION


def _is_unseen(item: Any) -> bool:
    if item.get("role") == "tabpanel" or item.get("hidden") == "until-found":
        return False
    always = item.name in UNSEEN and not (item.name == "dialog" and item.has_attr("open"))
    if always or item.has_attr("hidden"):
        return True
    return INVISIBLE.search(item.get("style", "")) is not None


def _is_sign(link: Any) -> bool:
    """Return True if a link in a heading shows no word, only a sign such as ¶."""
    if link.name != "a" or "#" not in link.get("href", "") or not link.find_parent(HEADINGS):
        return False
    return not link.find("img") and not _has_word(link.get_text())


def _is_beside(link: Any) -> bool:
    """Return True if a link accompanies a heading's own text; outside one, if it has no word."""
    heading = link.find_parent(HEADINGS)
    if heading is None:
        return not _has_word(link.get_text())
    return sum(map(str.isalnum, heading.get_text())) > sum(map(str.isalnum, link.get_text()))


def _has_word(text: str) -> bool:
    return any(map(str.isalnum, text))


def _is_banner(item: Any) -> bool:
    named = " ".join([item.get("id") or "", *item.get_attribute_list("class", "")])
    asks = item.get("role") in ("dialog", "region", "alertdialog") and re.search(
        r"\bcookies?\b", item.get("aria-label") or "", re.I
    )
    if not (asks or BANNER.search(named)) or item.name in ("html", "body", "main", "article"):
        return False
    return len(item.get_text()) <= LONGEST_BANNER and not item.find(["main", "article", "h1"])


def _is_prompt(item: Any) -> bool:
    classes = item.get_attribute_list("class", "")
    named = any("prompt" in str(name).lower() for name in classes)
    return named and PROMPT.fullmatch(item.get_text().replace("\xa0", " ").strip()) is not None
