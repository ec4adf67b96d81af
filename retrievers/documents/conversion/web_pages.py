"""HTML without what surrounds its content on every page of a site."""

from typing import Any

NAVIGATION = "nav, [role=navigation], [role=contentinfo], footer"
CONTENT = ("article", "blockquote", "section", "aside")


def strip_surroundings(data: bytes) -> bytes:
    """Return an HTML page without its navigation and its footer, in UTF-8 where it had any.

    The footer of an article or a section belongs to it, and stays. A page that is nothing else is
    returned as it is.
    """
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(data, "html.parser", from_encoding="utf-8")
    around = [item for item in soup.select(NAVIGATION) if not _belongs(item)]
    for item in around:
        item.extract()
    body = soup.find("body") or soup
    return str(soup).encode("utf-8", "replace") if around and body.get_text(strip=True) else data


def _belongs(item: Any) -> bool:
    return item.name == "footer" and item.find_parent(CONTENT) is not None
