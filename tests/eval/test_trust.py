"""What a config and a card from elsewhere may ask for."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from eval.cli.main import assay
from eval.collections.card_files import read_card
from eval.collections.loading import load_card
from eval.collections.location import find_data
from eval.experiments.config import load_config
from retrievers.base import AssayError
from retrievers.settings.files import read_mapping

NAMING_PYTHON = [
    "retriever: {type: python, class: 'mine:Mine'}",
    "retriever: {type: langchain, object: 'mine:mine'}",
    "retriever: {type: llamaindex, object: 'mine:mine'}",
    "retriever: {type: haystack, object: 'mine:mine'}",
    "retriever: {legs: {one: {type: python, class: 'mine:Mine'}}}",
    "documents: {chunker: {type: python, class: 'mine:Mine'}}",
    "axes: {retriever.legs.one.type: [bm25, python]}",
]
CARD = "name: tiny\ntitle: Tiny\nformat: native\n"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside the working one."""
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("ASSAY_TRUST", raising=False)
    return tmp_path / "elsewhere"


@pytest.mark.parametrize("text", NAMING_PYTHON)
def test_a_file_from_elsewhere_names_no_python(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    path = elsewhere / "config.yaml"
    path.write_text(text)
    with pytest.raises(AssayError, match=r"config\.yaml: .*type: names code to run.*--trust"):
        read_mapping(path)
    Path("config.yaml").write_text(text)
    assert read_mapping(Path("config.yaml"))
    monkeypatch.setenv("ASSAY_TRUST", "1")
    assert read_mapping(path)


def test_a_base_from_elsewhere_names_none_either(elsewhere: Path) -> None:
    (elsewhere / "base.yaml").write_text("name: x\nretriever: {type: python, class: 'mine:Mine'}\n")
    Path("mine.yaml").write_text(f"base: {elsewhere}/base.yaml\n")
    with pytest.raises(AssayError, match=r"elsewhere/base\.yaml: retriever\.type: names code"):
        load_config(Path("mine.yaml"))


def test_nothing_is_imported_of_what_is_refused(elsewhere: Path) -> None:
    Path("mine.py").write_text("open('imported', 'w')\n")
    path = elsewhere / "config.yaml"
    path.write_text("name: x\nretriever: {type: python, class: 'mine:Mine'}\n")
    assert isinstance(CliRunner().invoke(assay, ["run", str(path)]).exception, AssayError)
    assert not Path("imported").exists()
    CliRunner(env={"ASSAY_TRUST": None}).invoke(assay, ["run", str(path), "--trust", "--no-track"])
    assert Path("imported").exists()


@pytest.mark.parametrize(
    "keys",
    [
        "documents: ../../etc",
        "documents: /etc",
        "documents: linked",
        "location: ..",
        "location: /etc",
        "location: $ASSAY_HERE/../..",
        "queries: ../secret.jsonl",
        "judgments: {test: /etc/passwd}",
    ],
)
def test_a_card_from_elsewhere_names_no_other_place(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, keys: str
) -> None:
    monkeypatch.setenv("ASSAY_HERE", str(elsewhere))
    (elsewhere / "linked").symlink_to("/etc")
    card = CARD if keys.startswith("judgments") else CARD + "judgments: {test: j.jsonl}\n"
    (elsewhere / "dataset.yaml").write_text(f"{card}{keys}\n")
    with pytest.raises(AssayError, match=r"dataset\.yaml: names .* which lies outside .*--trust"):
        find_data(read_card(elsewhere / "dataset.yaml"))
    monkeypatch.setenv("ASSAY_TRUST", "1")
    assert find_data(read_card(elsewhere / "dataset.yaml"))


def test_a_document_that_is_a_link_to_elsewhere_is_refused(elsewhere: Path) -> None:
    (elsewhere / "docs").mkdir()
    (elsewhere / "docs/secret.md").symlink_to("/etc/passwd")
    (elsewhere / "queries.jsonl").write_text("")
    (elsewhere / "dataset.yaml").write_text(
        f"{CARD}documents: docs\njudgments: {{test: j.jsonl}}\n"
    )
    card = read_card(elsewhere / "dataset.yaml")
    with pytest.raises(AssayError, match=r"secret\.md, which lies outside"):
        load_card(card, "test")


def test_a_card_of_the_working_folder_names_what_lies_there(elsewhere: Path) -> None:
    for name in ("texts", "set"):
        Path(name).mkdir()
    Path("set/dataset.yaml").write_text(f"{CARD}location: ../texts\njudgments: {{test: j.jsonl}}\n")
    assert find_data(read_card(Path("set/dataset.yaml"))).resolve() == Path("texts").resolve()
