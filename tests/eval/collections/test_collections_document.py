"""docs/collections.md tells every key of a card, as the models of the formats have it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from assay.eval.collections.card import Card
from assay.eval.collections.formats.registry import FORMATS

PAGE = Path(__file__).parents[3] / "docs" / "collections.md"


def describe(field):
    """Return what stands for a key that may be left out."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value in (None, "", {}):
        return "none"
    if isinstance(value, Mapping):
        value = ", ".join(f"{key}: {item}" for key, item in value.items())
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def list_rows(model, but=None):
    """Return a row of the page for each key that `model` has, or has otherwise than `but`."""
    return [
        f"| `{name}` | {describe(field)} | {field.description} |"
        for name, field in model.model_fields.items()
        if repr((but or {}).get(name)) != repr(field) and not (but and name == "format")
    ]


ROWS = {
    "every card": list_rows(Card),
    **{name: list_rows(source.card_class, Card.model_fields) for name, source in FORMATS.items()},
}


@pytest.mark.parametrize("part", ROWS)
def test_the_page_has_every_key_with_its_default(part):
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert [row for row in ROWS[part] if row not in lines] == []


def test_the_page_has_no_other_key():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    known = {row for rows in ROWS.values() for row in rows}
    assert [line for line in lines if line.startswith("| `") and line not in known] == []


def test_every_key_is_described():
    assert not [row for rows in ROWS.values() for row in rows if "| None |" in row]
