"""The parts of a web page around its text: navigation, banners, hidden elements."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

NAVIGATION = "nav, [role=navigation], [role=contentinfo], footer"
CONTENT = ("article", "blockquote", "section", "aside")
UNSEEN = "template, noscript, dialog:not([open]), [hidden], [style]"
INVISIBLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.I)
HEADER_LINKS = (
    ".headerlink, .header-anchor, .heading-anchor, .anchor-link, .anchorjs-link, .hash-link"
)
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "dt", "caption", "figcaption")
COPY_BUTTONS = "button.copybtn, button[class*=clipboard], button[class*=copy]"
PROMPT = re.compile(r"(?:(?:In|Out)\s*)?\[[\d*\s]*\]:?", re.I)
BANNER = re.compile(
    r"(?:^|[\s_-])(?:cookies?|gdpr)[\s_-]*(?:banner|bar|box|consent|dialog|disclaimer|info|law|message"
    r"|modal|notice|notification|overlay|popup|prompt|warning)|onetrust|cybotcookiebot|cc-window"
    r"|cookieconsent",
    re.I,
)
LONGEST_BANNER = 2000  # characters; a longer element is a text about cookies


def strip_surroundings(data: bytes) -> bytes:
    """Return an HTML page without what is not its text, in UTF-8 where it had any.

    Left out are navigation and footer, text that a browser does not show, banners that ask about
    cookies, links of headings to themselves, prompts of notebooks and copy buttons. The footer of
    an article or a section belongs to it, and stays; so does a tab that a click shows. A page that
    is nothing else is returned as it is.
    """
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(data, "html.parser", from_encoding="utf-8")
    around = list(_find_surroundings(soup))
    for item in around:
        item.extract()
    body = soup.find("body") or soup
    return str(soup).encode("utf-8", "replace") if around and body.get_text(strip=True) else data


def _find_surroundings(soup: "BeautifulSoup") -> Iterator[Any]:
    yield from (item for item in soup.select(NAVIGATION) if not _belongs(item))
    yield from (item for item in soup.select(UNSEEN) if _is_unseen(item))
    yield from soup.select(COPY_BUTTONS)
    yield from (link for link in soup.select(HEADER_LINKS) if _is_beside(link))
    yield from (link for link in soup.select("a[href*='#']") if _is_sign(link) and _is_beside(link))
    for item in soup.select("[id], [class], [aria-label]"):
        if _is_banner(item) or _is_prompt(item):
            yield item


def _belongs(item: Any) -> bool:
    return item.name == "footer" and item.find_parent(CONTENT) is not None


def _is_unseen(item: Any) -> bool:
    if item.get("role") == "tabpanel" or item.get("hidden") == "until-found":
        return False
    always = item.name in ("template", "noscript", "dialog") or item.has_attr("hidden")
    return always or INVISIBLE.search(item.get("style", "")) is not None


def _is_sign(link: Any) -> bool:
    """Return True if a link in a heading shows no word, only a sign such as ¶."""
    return link.find_parent(HEADINGS) and not link.find("img") and not _has_word(link.get_text())


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
