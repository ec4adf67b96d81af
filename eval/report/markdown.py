"""Foreign texts as Markdown and HTML, in which they stay text; and the templates of pages."""

import html
import re
from functools import cache
from typing import TYPE_CHECKING

from assay.eval.report.formats import shorten
from assay.retrievers.base.printing import neutralise

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SPECIAL = re.compile(r"([\\`*_\[\]|~#!])")
MENTION = re.compile("(?<![A-Za-z0-9_])@(?=[A-Za-z0-9])")  # by it GitHub mentions a user
CELL, LONG = 100, 2000  # characters of a query, and of a sentence
TICKED = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"`{3,}")


@cache
def make_environment() -> "Environment":
    """Return the environment of page templates, which fail for names that are not defined.

    It keeps what it has compiled, which takes longer than a page takes to fill.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("assay.eval", ""),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        autoescape=True,
    )
    environment.filters["coded"] = coded
    return environment


def coded(text: str) -> "Markup":
    """Return a sentence as HTML, with the text between backticks as code."""
    from markupsafe import Markup

    # Escaped first: the text itself can bring no tag.
    return Markup(TICKED.sub(r"<code>\1</code>", html.escape(text)))


def plain(text: str, limit: int = CELL) -> str:
    """Return `text` on one line, so that Markdown and HTML show it as it is, in a table too.

    It mentions no user of GitHub.
    """
    return MENTION.sub("@\u200b", _escape(text, limit))


def code(text: str) -> str:
    """Return `text` on one line as inline code, in a table too."""
    return f"<code>{_escape(text, LONG)}</code>"


def _escape(text: str, limit: int) -> str:
    return SPECIAL.sub(r"\\\1", html.escape(shorten(neutralise(text), limit), quote=False))


def fenced(text: str, language: str = "") -> str:
    """Return `text` as a code block whose fence no line of it can close."""
    longest = max((len(ticks) for ticks in FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{neutralise(text).rstrip()}\n{fence}"
