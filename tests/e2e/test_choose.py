"""`assay choose` as a user meets it."""

import json

import pytest

from assay.eval.configs.config import load_config

SHORT = ("choose", "harbourline", "latency.queries=5", "--budget", "1s")


@pytest.mark.slow
def test_the_pipeline_to_ship_is_written_with_a_page(assay, tmp_path):
    done = assay(*SHORT, ASSAY_REPORTS=str(tmp_path))
    assert done.returncode == 0, done.stderr
    title, first, *_ = done.stdout.splitlines()
    assert title.startswith("Which pipeline to ship on harbourline, chosen on 30 questions")
    assert first.startswith(("Keep hybrid", "Ship "))
    path = tmp_path / "chosen" / "hybrid-harbourline.yaml"
    found = json.loads(path.with_suffix(".json").read_text())
    assert found["conclusion"].split()[0] == first.split()[0]
    assert (found["chosen_on"], found["judged"]) == (30, 30)
    legs = [item for item in found["trials"] if item["stage"] == "legs"]
    assert [item["mean"] is not None for item in legs] == [True] * 3
    rest = [item for item in found["trials"] if item["stage"] != "legs"]
    left_out = [item for item in rest if item["mean"] is None]
    assert {item["left_out"] for item in left_out} == {"not tried: the budget was used up"}
    assert {"contexts", "chunks"} <= {item["stage"] for item in left_out}
    tried = {item["stage"] for item in rest if item["mean"] is not None}
    assert {"look-ups", "fusion"} <= tried, "what needs no new embedding is tried in any case"
    assert load_config(path).name == "hybrid_chosen"
    assert path.with_suffix(".html").stat().st_size > 1000
