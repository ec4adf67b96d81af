"""Texts made to hang what reads them: a reader's time grows as the text, not as its square.

Read twice from each place, one of these would take hours.
"""

import pytest

from assay.eval.collections.formats.rows import describe_unknown
from assay.retrievers.base import Document
from assay.retrievers.base.quotes import Locator
from assay.retrievers.documents.code import find_code
from assay.retrievers.documents.conversion.converter import tidy
from assay.retrievers.documents.conversion.mdx import read_mdx
from assay.retrievers.documents.references.query_citations import read_mentions
from assay.retrievers.documents.references.references import find_references
from assay.retrievers.documents.structure.numerals import count_on
from assay.retrievers.documents.structure.structure import parse
from assay.retrievers.query.classify import classify
from assay.retrievers.query.synonyms import QUOTED

SIZE = 200_000
SECONDS = 30


def refer(text):
    return find_references(parse(text, plain=True))


def number(text):
    return parse(text, plain=True).sections


def unfold(text):
    return Locator({"a.md": Document("a.md", text)}).find("what stands nowhere")


def repeat(*parts):
    """Return the parts, each repeated until it has its share of the characters."""
    return "".join(part * (SIZE // len(parts) // len(part)) for part in parts)


TEXTS = {
    "two runs of blanks": (number, f"Section 1 {repeat(' ')}x{repeat(' ')}x"),
    "leaders and blanks": (number, f"A {repeat('.', ' ')}x"),
    "leaders and digits": (number, f"A {repeat('. ', '7')}x"),
    "lines apart": (number, repeat("1 A\n\n") * 3),
    "labels": (number, repeat(" (b)(1)(A)(q)(zz)\n")),
    "signs": (refer, repeat("§")),
    "signs and letters": (refer, repeat("§", "x")),
    "sub-": (refer, repeat("sub-")),
    "titles referred to": (
        lambda text: find_references(parse(text)),
        "".join(f"# Fees of kind {n}\n\nSee Fees of kind {n}.\n\n" for n in range(4_000)),
    ),
    "digits": (refer, f"§§ {repeat('7')} through {repeat('7')}8"),
    "digits and a letter": (lambda text: count_on(text, text), f"{repeat('7')}a"),
    "signs asked for": (read_mentions, repeat("§")),
    "levels asked for": (read_mentions, repeat("cl. 0, of ")),
    "sub asked for": (read_mentions, repeat("sub")),
    "a part with digits": (
        lambda text: [list(mention.readings()) for mention in read_mentions(text)],
        f"Part {'7' * 5_000}",
    ),
    "a fence with blanks": (parse, f"::: {repeat(' ')}("),
    "backticks": (
        lambda text: list(find_code(parse(text, plain=True))),
        "".join(f"{'`' * length}a" for length in range(1, 3_000)),
    ),
    "blanks in a page": (tidy, f"A{repeat(' ')}x"),
    "comments of MDX": (read_mdx, repeat("{/*")),
    "comments of MDX, half closed": (read_mdx, repeat("{/* */")),
    "tags of MDX": (read_mdx, repeat("<A b={")),
    "backticks of MDX": (read_mdx, repeat("`", "``a`b")),
    "styles of MDX": (read_mdx, repeat("<style>")),
    "blanks in a quote": (unfold, f"{repeat(' ')}x"),
    "dashes in a quote": (unfold, f"{'-' * 200}x"),
    "colons in a quote": (unfold, f"{'--:' * 200}x"),
    "notes in a quote": (unfold, repeat("[^")),
    "comments in a quote": (unfold, repeat("<!--")),
    "comments of JSX in a quote": (unfold, repeat("{/*")),
    "lines of comments of JSX in a quote": (unfold, repeat("{/*\n")),
    "tags of JSX in a quote": (unfold, repeat("<a b={")),
    "braces in a quote": (unfold, repeat("{")),
    "attributes in a quote": (unfold, repeat("{#a ")),
    "brackets in a quote": (unfold, repeat("[")),
    "stars in a quote": (unfold, repeat("*a ")),
    "cells in a quote": (unfold, f"|a|\n|-|\n{repeat('|b')}"),
    "zeros in a quote": (unfold, repeat("a\x00")),
    "small letters": (classify, repeat("a")),
    "letters": (classify, repeat("A")),
    "opening quotation marks": (classify, repeat("“")),
    "opening quotation marks in a query": (QUOTED.findall, repeat("“")),
    "an id": (lambda text: describe_unknown("query", text, {"q": 1}), f"{repeat('07', '0')}x"),
}


@pytest.mark.slow
@pytest.mark.timeout(SECONDS, method="signal")
@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_text_is_read_to_its_end(name):
    read, text = TEXTS[name]
    read(text)
