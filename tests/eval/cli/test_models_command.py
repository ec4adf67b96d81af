import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.eval.cli.models import models
from assay.retrievers.base import AssayError
from assay.retrievers.model_files.pins import list_pinned
from assay.retrievers.store.cache import Cache, default_root


def test_lists_every_pin(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    rows = json.loads(CliRunner().invoke(models, ["list", "--json"]).stdout)["models"]
    pins = list_pinned()
    assert [(row["name"], row["backend"]) for row in rows] == [(i.name, i.backend) for i in pins]
    assert not any(row["fetched"] for row in rows)
    output = CliRunner().invoke(models, ["list"]).stdout
    assert all(pin.name in output for pin in pins)


def test_fetches_once_and_tells_where(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    first = CliRunner().invoke(models, ["fetch", "bert-base-uncased", "--json"])
    assert "fetching model bert-base-uncased" in first.stderr
    folder = Path(json.loads(first.stdout)["models"][0]["folder"])
    assert folder.is_relative_to(tmp_path)
    assert (folder / "tokenizer.json").exists()
    again = CliRunner().invoke(models, ["fetch", "bert-base-uncased", "--json"])
    assert again.stdout == first.stdout
    assert again.stderr == ""
    rows = json.loads(CliRunner().invoke(models, ["list", "--json"]).stdout)["models"]
    assert [row["name"] for row in rows if row["fetched"]] == ["bert-base-uncased"]


def test_without_names_fetches_what_the_default_configs_use():
    rows = json.loads(CliRunner().invoke(models, ["fetch", "--json"]).stdout)["models"]
    names = "bge-small-en-v1.5 ms-marco-MiniLM-L-12-v2 bert-base-uncased"
    assert [row["name"] for row in rows] == names.split()
    assert all(Path(row["folder"]).is_relative_to(Cache(default_root()).root) for row in rows)


@pytest.mark.parametrize("arguments", [["nix"], ["bge-small-en-v1.5", "--backend", "st"]])
def test_a_model_that_is_not_pinned_is_refused_before_any_work(arguments, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    with pytest.raises(AssayError, match=rf"model {arguments[0]}: not pinned for backend"):
        CliRunner().invoke(
            models, ["fetch", "all-MiniLM-L6-v2", *arguments], catch_exceptions=False
        )
    assert not (tmp_path / "cache" / "models").exists()
