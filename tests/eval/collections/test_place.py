"""The folder of a collection within its repository, by which collections of one name differ."""

import pytest

from assay.eval.collections.catalog import find_card
from assay.eval.collections.location import find_place

CARD = "name: judged\ntitle: Judged\nformat: native\ndocuments: docs\njudgments: {test: j.jsonl}\n"


@pytest.mark.parametrize("corpus", ["dataset.yaml", "corpus.jsonl"])
def test_a_place_is_the_same_in_every_checkout(tmp_path, corpus):
    for checkout in ("one", "two"):
        folder = tmp_path / checkout / "services/a/judged"
        (folder / "qrels").mkdir(parents=True)
        (folder / corpus).write_text(CARD)
        (folder / "qrels/test.tsv").write_text("")
        assert find_place(find_card(str(folder))) == ""
        (tmp_path / checkout / ".git").mkdir()
        assert find_place(find_card(str(folder))) == "services/a/judged"


def test_what_comes_with_assay_has_no_place():
    assert find_place(find_card("harbourline")) == ""
    assert find_place(find_card("irds:beir/scifact/test")) == ""
