"""What a document is about, in few words."""

import pytest

from assay.retrievers.documents.structure.structure import parse
from assay.retrievers.documents.summary import LONGEST, summarise

LONG = "One sentence of these is here. " * 12


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("---\nsummary: All of it.\n---\n# T\n\nFirst.\n", "All of it."),
        ("# T\n\n> A quote.\n\n- an item\n\nThe *first*\none.\n\nNext.\n", "The *first* one."),
        (LONG, LONG[: LONGEST // 31 * 31].rstrip()),
        ("word " * 100, "word " * 58 + "word…"),
        ("# T\n\n```\ncode\n```\n", ""),
        ("", ""),
    ],
)
def test_the_description_or_the_first_paragraph_to_a_sentence(text, summary):
    found = summarise(parse(text))
    assert found == summary
    assert len(found) <= LONGEST
