"""Every key of a card is described, and the cards of docs/collections.md are read."""

import re
import sys

import pytest
import yaml
from tools.processes import ROOT

from assay.eval.collections.card import Card
from assay.eval.collections.catalog import parse_card
from assay.eval.collections.formats.registry import FORMATS

MODELS = {"card": Card, **{k: v.card_class for k, v in FORMATS.items()}}
CARDS = re.findall(
    r"^```yaml\n(name: .*?)^```$", (ROOT / "docs/collections.md").read_text(), re.M | re.S
)


@pytest.mark.parametrize("name", MODELS)
def test_every_key_is_described(name):
    assert not [key for key, field in MODELS[name].model_fields.items() if not field.description]


@pytest.mark.parametrize("text", CARDS, ids=lambda text: yaml.safe_load(text)["format"])
def test_the_cards_of_the_page_are_read(text, tmp_path):
    card = parse_card(text, tmp_path / yaml.safe_load(text)["name"] / "dataset.yaml")
    assert card.title


def test_the_page_has_a_card_of_each_format():
    assert {yaml.safe_load(text)["format"] for text in CARDS} == set(FORMATS)


def test_the_generated_page_has_every_key(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts/docs_site"))
    try:
        from card_page import PAGE, render_cards

        text = render_cards()[PAGE]
    finally:
        sys.modules.pop("card_page", None)
    for model in MODELS.values():
        assert not [key for key in model.model_fields if f"| `{key}` |" not in text]
