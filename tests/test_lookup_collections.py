"""The collections of look-ups: those of the project's own documents are made again the same."""

from tools.processes import ROOT

from assay.eval.collections.catalog import find_card
from assay.eval.collections.check import check
from scripts import lookup_collections

MADE = [name for name, (source, _) in lookup_collections.LOOKUPS.items() if source == "tarnwick"]


def test_they_are_made_again_the_same(tmp_path, monkeypatch):
    """A card has the digests of its data."""
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets/tarnwick").symlink_to(ROOT / "datasets/tarnwick")
    monkeypatch.setenv(lookup_collections.VARIABLE, str(tmp_path / "lookups"))
    monkeypatch.chdir(tmp_path)
    lookup_collections.main(MADE)
    for name in MADE:
        card = f"datasets/{name}/dataset.yaml"
        assert (tmp_path / card).read_text() == (ROOT / card).read_text()
        assert [item for item in check(find_card(name)) if item.severity == "error"] == []
