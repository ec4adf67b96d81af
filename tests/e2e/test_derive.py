"""From documents alone to a measured look-up."""

from pathlib import Path


def test_lookups_are_derived_and_run(assay, assay_json, tmp_path: Path) -> None:
    folder = tmp_path / "lookups"
    kinds = ("--kinds", "title,identifier,duplicate")
    made = assay_json("dataset", "derive", "harbourline", "--output", str(folder), *kinds)
    assert made["queries"]["title"] == 18
    assert made["copies"] == 12
    assert assay("dataset", "check", str(folder)).returncode == 0
    found = assay_json(
        "run", "configs/bm25.yaml", f"dataset={folder}", "latency.queries=0", "--no-track"
    )
    assert found["measures"]["Hit@10"]["mean"] > 0.9
    refused = assay("dataset", "derive", "harbourline", "--output", str(folder))
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
