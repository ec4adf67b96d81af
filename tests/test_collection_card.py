"""The card of tarnwick agrees with its data."""

import pytest
from tools.processes import ROOT

from scripts.collection_facts import CollectionData, fill_block, fill_data, fill_rows

FOLDER = ROOT / "datasets" / "tarnwick"
CARD = (FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_card_has_the_figures_of_the_data():
    """Otherwise: `python -m scripts.collection_card tarnwick --data`."""
    assert fill_data(CARD, CollectionData(FOLDER)) == CARD


def test_a_wrong_figure_is_found():
    wrong = {
        "65 Markdown documents": "66 Markdown documents",
        "171 of 200 got": "172 of 200 got",
        "91 of the 254 test queries": "90 of the 254 test queries",
        "| 3 | 508 |": "| 3 | 510 |",
        "| `docs/law/` | 13 | 21,807 |": "| `docs/law/` | 13 | 21,808 |",
        "beside the point | 42 | 20 |": "beside the point | 42 | 21 |",
    }
    changed = CARD
    for written, other in wrong.items():
        assert written in CARD
        changed = changed.replace(written, other, 1)
    assert fill_data(changed, CollectionData(FOLDER)) == CARD


def test_what_the_card_lacks_is_refused():
    with pytest.raises(ValueError, match="<!-- facts -->"):
        fill_block("text", "facts", "block")
    with pytest.raises(ValueError, match="no table has a row 4"):
        fill_rows(CARD, {"4": ["1"]})


def test_the_grades_read_again_are_of_chunks_and_a_quarter_of_each_grade():
    data = CollectionData(FOLDER)
    chunks = {(row["path"], row["start"], row["end"]) for row in data.read("contexts.jsonl")}
    rows = data.read("reread.jsonl")
    assert len({(row["query_id"], row["path"], row["start"]) for row in rows}) == len(rows) == 200
    assert {(row["path"], row["start"], row["end"]) for row in rows} <= chunks
    assert "49 of 50 of grade 0" in CARD
