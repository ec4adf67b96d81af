"""`assay ingest` as a user calls it, on real files, again after an edit, and on bad input."""

import json
import re
import shutil
from pathlib import Path

import pytest
from samples.reference_documents import WRITERS, read_blocks, write_unreadable
from tools.own_cache import make_cache
from tools.processes import ROOT

DOCS = ROOT / "datasets" / "harbourline" / "docs"


@pytest.fixture
def folder(tmp_path):
    """Documents in several formats, and files that give none."""
    folder = tmp_path / "papers"
    (folder / "bad").mkdir(parents=True)
    shutil.copy(DOCS / "api" / "changelog.md", folder)
    blocks = list(read_blocks((DOCS / "ops" / "alert-catalogue.md").read_text(encoding="utf-8")))
    for suffix in (".docx", ".html", ".pdf"):
        WRITERS[suffix](folder / f"alerts{suffix}", blocks)
    write_unreadable(folder / "bad", blocks[:3])
    return folder


@pytest.mark.slow
def test_a_folder_is_ingested_and_only_changes_are_done_again(assay, assay_json, folder, tmp_path):
    cache = {"ASSAY_CACHE": str(make_cache(tmp_path))}
    call = ("ingest", str(folder), "--config", "configs/bm25.yaml", "--no-track")
    first = assay_json(*call, **cache)
    assert (first["documents"], first["fresh_documents"], first["skipped"]) == (4, 4, 13)
    assert (first["oversize"], first["integrity_failures"], first["collisions"]) == (0, 0, 0)
    assert first["seconds_per_100_pages"]["with_embedding"] > 0
    assert {"convert", "chunk"} < first["seconds"].keys()
    stored = json.loads(Path(first["report"]).with_name("ingestion.json").read_text())
    assert stored["figures"]["chunks"] == first["chunks"] == sum(first["ranges"].values())

    again = assay_json(*call, **cache)
    assert (again["fresh_documents"], again["chunks"]) == (0, first["chunks"])
    assert again["seconds_per_100_pages"]["with_embedding"] is None

    (folder / "alerts.pdf").unlink()
    with (folder / "changelog.md").open("a") as file:
        file.write("\n## One more\n\nA line that was not there.\n")
    edited = assay_json(*call, **cache)
    assert (edited["documents"], edited["fresh_documents"]) == (3, 1)

    done = assay(*call, **cache)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^bad/locked\.pdf +is protected by a password", done.stdout, re.MULTILINE)
    assert "format .png is not read" in done.stdout
    assert "nothing was lost: 3 documents can be rebuilt" in done.stdout
    assert "█" in done.stdout


def test_a_collection_is_ingested_and_recorded(assay_json, places):
    made = assay_json("ingest", "harbourline", "documents.chunker={type: combine_split}")
    assert made["documents"] == len(list(DOCS.rglob("*.md")))
    assert made["decisions"]["hard_break"] > 0
    assert made["references"]["found"] >= made["references"]["resolved"] > 0
    from mlflow.tracking import MlflowClient

    run = MlflowClient(places["MLFLOW_TRACKING_URI"]).get_run(made["mlflow_run"])
    assert run.info.status == "FINISHED"
    assert run.data.metrics["ingest/chunks"] == made["chunks"]
    assert run.data.metrics["ingest/integrity_failures"] == 0
    assert run.data.params["documents.chunker.type"] == "combine_split"


def test_one_file(assay_json, tmp_path):
    file = tmp_path / "law.md"
    file.write_text("---\ntitle: [\n---\n# Law\n\n## § 1 Dues\n\nA berth costs ten crowns.\n")
    (tmp_path / "other.md").write_text("# Another\n\nNot asked for.\n")
    made = assay_json("ingest", str(file), "--config", "configs/bm25.yaml", "--no-track")
    assert made["source"] == str(file)
    assert made["documents"] == 1
    assert "frontmatter" in made["notes"]["law.md"]
