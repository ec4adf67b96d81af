"""Collection formats of somebody's own: found by name, used as others are, refused where wrong."""

import pytest
from tools.plugged_packages import install

from assay.eval.collections.catalog import read_card
from assay.eval.collections.check import check
from assay.eval.collections.digests import seal
from assay.eval.collections.loading import load_card
from assay.eval.collections.location import why_unavailable
from assay.retrievers.base import AssayError

CARD = "name: faq\ntitle: FAQ\nformat: faq\n"
ROWS = """{"_id": "q1", "text": "When is high water?", "answer": "Twice a day."}
{"_id": "q2", "text": "Where is the slip?", "answer": "Behind the boat house."}
"""
OWN = "examples.faq_format:FaqSource"
WRONG = """
from assay.eval.collections.formats.source import Source

class NoCard(Source):
    def documents(self): ...
    def queries(self): ...
    def gold(self, variant, documents, queries): ...

class Half(Source): ...
class Other: ...
"""


@pytest.fixture
def folder(tmp_path):
    """A collection of the format faq."""
    (tmp_path / "faq").mkdir()
    (tmp_path / "faq/dataset.yaml").write_text(CARD)
    (tmp_path / "faq/faq.jsonl").write_text(ROWS)
    return tmp_path / "faq"


@pytest.fixture
def plug(tmp_path, monkeypatch):
    """Return what installs formats, {name: path of a class}."""
    return lambda **parts: install(tmp_path, monkeypatch, "assay.collection_formats", **parts)


def test_a_format_is_used_as_others_are(folder, plug):
    plug(faq=OWN)
    card = read_card(folder / "dataset.yaml")
    assert why_unavailable(card) == ""
    collection = load_card(card, "test")
    assert collection.documents[0].text == "Twice a day."
    assert collection.gold["q2"][0].doc_id == "q2"
    assert check(seal(card)) == []
    assert "documents: 2" in (folder / "dataset.yaml").read_text()


def test_a_format_that_is_not_installed_is_told(folder, plug):
    with pytest.raises(AssayError, match=r"one of beir, irds, native$"):
        read_card(folder / "dataset.yaml")
    plug(other=OWN)
    with pytest.raises(AssayError, match=r"one of beir, irds, native, other$"):
        read_card(folder / "dataset.yaml")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("NoCard", "`card_class` must be a subclass of Card"),
        ("Half", "does not define documents, gold, queries"),
        ("Other", "no subclass of assay.eval.collections.formats.source.Source"),
        ("Missing", "has no Missing"),
    ],
)
def test_a_wrong_one_is_told(tmp_path, folder, plug, name, told):
    (tmp_path / "plugged_formats.py").write_text(WRONG)
    plug(faq=f"plugged_formats:{name}")
    with pytest.raises(AssayError, match=told):
        read_card(folder / "dataset.yaml")
