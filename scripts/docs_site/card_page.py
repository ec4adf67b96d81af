"""The page of all keys of cards, from the models that read them."""

from collections.abc import Mapping
from typing import Any

from command_pages import escape
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from assay.eval.collections.card import Card
from assay.eval.collections.formats.registry import FORMATS

PAGE = "docs/cards.md"
INTRODUCTION = """\
---
title: Keys of cards
---
# Keys of cards

The keys of `dataset.yaml`, the card of a collection; [Collections](collections.md) has examples.
Other keys are refused. Files whose names end in `.gz` are unpacked, in every format.
"""


def render_cards() -> dict[str, str]:
    """Return the page by its path."""
    lines = [INTRODUCTION, "## Every card", *_tabulate(Card)]
    for name, source in FORMATS.items():
        lines += [f"## `format: {name}`", *_tabulate(source.card_class, Card.model_fields)]
    return {PAGE: "\n".join(lines)}


def _tabulate(model: type[BaseModel], known: Mapping[str, FieldInfo] | None = None) -> list[str]:
    """Return a table of the keys of `model`, without those that are as in `known`."""
    rows = [
        f"| `{name}` | {describe_default(field)} | {escape(field.description or '')} |"
        for name, field in model.model_fields.items()
        if repr((known or {}).get(name)) != repr(field) and not (known and name == "format")
    ]
    return ["\n| key | by default | what it is |\n|---|---|---|", *rows, ""]


def describe_default(field: FieldInfo) -> str:
    """Return the value that stands for a key that may be left out, as YAML has it."""
    if field.is_required():
        return "required"
    value: Any = field.get_default(call_default_factory=True)
    if value in (None, "", {}):
        return "none"
    if isinstance(value, Mapping):
        value = ", ".join(f"{key}: {item}" for key, item in value.items())
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
