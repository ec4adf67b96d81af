"""Names that no system takes for a path, in every place where a name becomes one."""

from pathlib import Path

import pytest

from assay.eval.collections.catalog import find_card, make_card
from assay.eval.collections.location import find_data
from assay.eval.configs.config import load_config, make_config
from assay.eval.running.experiment import names_system
from assay.eval.running.sources import open_source
from assay.eval.runs.stored import find
from assay.eval.studies.tuning.sweep_running import read_sweep
from assay.retrievers.base import AssayError
from assay.retrievers.model_files.files import locate
from assay.retrievers.query.synonyms import WordNet
from assay.retrievers.settings import Resources
from assay.retrievers.settings.files import read_mapping
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.paths import WITHIN, parse_path

CARD = {"name": "x", "title": "X", "format": "native", "judgments": {"all": "gold.jsonl"}}
CONFIG = {"name": "x", "retriever": {"legs": {"words": {"type": "bm25"}}}}
NAMES = {
    "long": "x" * 300,
    "deep": "x/" * 2500,
    "NUL": "a\0b",
    "loop": "loop",
    "half a character": "\udc80\ud800",
}


def find_card_data(name):
    return find_data(make_card({**CARD, "documents": name}, Path("dataset.yaml").absolute()))


def find_card_folder(name):
    return find_data(make_card({**CARD, "location": name}, Path("dataset.yaml").absolute()))


def find_archive(name):
    place = {"url": "http://127.0.0.1:9/x.zip", "sha256": "0" * 64, "folder": name}
    return find_data(make_card({**CARD, "location": place}, None))


def load_on(name):
    return make_config({**CONFIG, "base": name}, (), "x.yaml")


def sweep_over(name):
    written = name.encode("unicode-escape").decode()
    text = f'base: x.yaml\naxes: {{depth: [1]}}\ncollections: ["./{written}"]\n'
    Path("sweep.yaml").write_text(text)
    return read_sweep(Path("sweep.yaml"))


PLACES = {
    "path": lambda name: parse_path(name, "here"),
    "collection": find_card,
    "documents of a card": find_card_data,
    "location of a card": find_card_folder,
    "folder of an archive": find_archive,
    "base": load_on,
    "config": lambda name: load_config(Path(name)),
    "YAML": lambda name: read_mapping(Path(name)),
    "system": names_system,
    "run": lambda name: find(Path("reports"), name),
    "model": lambda name: locate(name, "onnx", "encoder", Resources(Cache(Path("cache")))),
    "WordNet": WordNet.locate,
    "ingested": lambda name: open_source(name, Resources(Cache(Path("cache")))),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("place", PLACES)
def test_a_name_that_is_no_path_is_refused(place, kind):
    with pytest.raises(AssayError) as refused:
        PLACES[place](NAMES[kind])
    assert len(str(refused.value)) < 500
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", ["long", "NUL", "loop"])
def test_a_collection_of_a_sweep_is_refused(kind):
    with pytest.raises(AssayError, match=r"^sweep\.yaml: collections: folder: "):
        sweep_over(NAMES[kind])


def test_a_path_is_taken_from_its_folder_whatever_lies_there(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / WITHIN).touch()
    assert parse_path("docs", "here", tmp_path) == tmp_path / "docs"
    assert parse_path("none", "here", tmp_path) == tmp_path / "none"
    assert parse_path("~/x", "here") == Path.home() / "x"


def test_a_home_of_nobody_is_refused():
    with pytest.raises(AssayError, match=r"here: '~nobody-has-this-name/x': .*home"):
        parse_path("~nobody-has-this-name/x", "here")


def test_what_is_missing_is_a_path(folder):
    assert parse_path("no/such", "here", folder) == folder / "no/such"
    (folder / "file").write_text("")
    assert parse_path(folder / "file", "here") == folder / "file"
