"""Documents made of files follow these: what changes there is read as it is now."""

import json
import os

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tools.recording_progress import RecordingProgress

from assay.eval.cli.init import init
from assay.eval.collections.catalog import find_card
from assay.eval.collections.check import check
from assay.eval.collections.living.sync import sync
from assay.eval.collections.loading import load
from assay.eval.configs.resources import make_resources
from assay.eval.studies.questions.sources import open_documents
from assay.retrievers.base import AssayError
from assay.retrievers.documents.conversion.folder import read_folder

FARES = "Fares\n=====\n\nAdults pay ten marks.\n\nDogs ride free of charge.\n"
NAMES = ("a.md", "b.tsv", "c/d.csv", "e.mdx", "f.txt")
WORDS = st.sampled_from(["quay", "ferry", "dogs", "fare", "tide"])
TEXTS = st.none() | st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
FOLDERS = st.fixed_dictionaries(dict.fromkeys(NAMES, TEXTS)).filter(
    lambda files: any(files[name] for name in ("b.tsv", "c/d.csv", "e.mdx"))
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    write(tmp_path / "docs", {"fares.rst": FARES, "guide.md": "# Guide\n\nRead it.\n"})
    (tmp_path / "docs/asked.csv").write_text("question,quote\nDogs?,Dogs ride free\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)


def run(*arguments):
    return CliRunner().invoke(init, arguments)


def texts(collection="docs"):
    return {item.id: item.text for item in load(collection).documents}


def hear():
    """Return what loading the collection says."""
    said = RecordingProgress()
    load("docs", progress=said)
    return "\n".join(said.lines)


def snapshot(folder):
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_init_says_that_it_copied_and_what_it_does_not_follow(here, monkeypatch):
    shown = run("docs", "--questions", "docs/asked.csv")
    assert (shown.exit_code, shown.exception) == (0, None)
    where = "copied:   the text of docs, to datasets/docs/docs; files that change there are"
    assert where in shown.output
    assert texts().keys() == {"fares.rst.md", "guide.md"}, "questions are no document"
    made = run("docs", "--output", "other", "--json")
    assert json.loads(made.stdout)["copies"] == str(here / "other/docs")
    (here / "docs/fares.rst").unlink()
    (here / "docs/asked.csv").unlink()
    assert "copied" not in run("docs", "--output", "plain").output
    (here / "work").mkdir()
    monkeypatch.chdir(here / "work")
    shown = run(str(here / "docs"), "--output", "made").output
    assert "to made/docs; what changes there later is not seen" in shown


def test_files_that_changed_are_read_as_they_are_now(here):
    run("docs", "--questions", "docs/asked.csv")
    assert check(find_card("docs")) == []
    edited = FARES.replace("Adults", "Cats pay nothing.\n\nAdults")
    write(here / "docs", {"fares.rst": edited, "new.mdx": "<A>Blue</A>", "guide.md": None})
    before = snapshot(here / "datasets")
    assert "Cats pay nothing." in texts()["fares.rst.md"]
    assert texts().keys() == {"fares.rst.md", "new.mdx.md"}
    assert "docs: 1 changed, 1 new, 1 gone since their text was copied" in hear()
    ((_, (item,)),) = load("docs").gold.items()
    assert texts()["fares.rst.md"][item.start : item.end] == "Dogs ride free"
    told = [problem.message for problem in check(find_card("docs"))]
    assert any(message.startswith("1 changed, 1 new, 1 gone since") for message in told)
    sync(find_card("docs"), dry_run=True)
    assert snapshot(here / "datasets") == before
    report = sync(find_card("docs"))
    assert report.statuses == {"moved": 1}
    copies = here / "datasets/docs/docs"
    assert "Cats pay nothing." in (copies / "fares.rst.md").read_text()
    assert sorted(path.name for path in copies.iterdir()) == ["fares.rst.md", "new.mdx.md"]
    assert check(find_card("docs")) == []
    assert hear() == ""


@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(before=FOLDERS, after=FOLDERS)
def test_after_any_edits_the_collection_is_that_of_the_folder(here, before, after):
    write(here / "any", before)
    assert run("any", "--force").exit_code == 0
    write(here / "any", after)
    read = read_folder(here / "any", make_resources())
    expected = {item.id: item.converted.text for item in read.documents}
    assert texts("any") == expected
    sync(find_card("any"))
    assert texts("any") == expected
    copies = here / "datasets/any/docs"
    assert {
        path.relative_to(copies).as_posix(): path.read_text()
        for path in copies.rglob("*")
        if path.is_file()
    } == expected


def test_a_file_that_is_broken_now_is_named_and_gives_no_document(here):
    run("docs")
    (here / "docs/fares.rst").write_bytes(b"\0")
    assert texts().keys() == {"asked.csv.md", "guide.md"}
    assert "docs/fares.rst: is not text" in hear()
    told = map(str, check(find_card("docs")))
    assert any("docs/fares.rst: warning: is not text" in problem for problem in told)


def test_without_the_files_the_copies_are_read(here):
    run("docs")
    before = texts()
    (here / "docs").rename(here / "elsewhere")
    assert texts() == before
    (here / "docs").mkdir()
    assert texts() == before
    assert any("holds none of the files" in str(item) for item in check(find_card("docs")))


def test_pages_of_changed_files_are_those_of_now(here):
    from samples.reference_documents import write_pdf

    write_pdf(here / "docs/a.pdf", [(1, "Conditions"), (0, "The ferry sails twice a day.")])
    run("docs")
    write_pdf(here / "docs/a.pdf", [(1, "Conditions"), (0, "The ferry sails once.")])
    (pdf,) = [item for item in load("docs").documents if item.id == "a.pdf.md"]
    assert "once" in pdf.text
    assert len(pdf.pages) == 1
    sync(find_card("docs"))
    rows = (here / "datasets/docs/pages.jsonl").read_text().splitlines()
    assert [json.loads(row)["characters"] for row in rows] == [len(pdf.text)]


def test_a_converter_of_ones_own_reads_what_changes_later(here):
    write(here / "docs", {"a.adoc": "= Tides\n\nHigh water.\n"})
    result = run("docs", "--converter", "sed s/=/#/", "--suffixes", ".adoc")
    assert (result.exit_code, result.exception) == (0, None)
    assert texts()["a.adoc.md"] == "# Tides\n\nHigh water."
    write(here / "docs", {"a.adoc": "= Tides\n\nLow water.\n"})
    assert texts()["a.adoc.md"] == "# Tides\n\nLow water."
    card = yaml.safe_load((here / "datasets/docs/dataset.yaml").read_text())
    assert card["converter"]["command"] == ["sed", "s/=/#/"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--suffixes", ".adoc"), "--suffixes: goes with --converter"),
        (
            ("--converter", "cat", "--suffixes", "adoc"),
            "--converter: suffixes.0: 'adoc' is no suffix; allowed",
        ),
        (("--converter", "no-such-program"), "there is no program no-such-program"),
        (("--converter", "'"), "--converter: ': No closing quotation"),
        (("--converter", ""), "--converter: command"),
    ],
)
def test_a_converter_that_cannot_be_is_refused(here, arguments, message):
    result = run("docs", *arguments)
    assert isinstance(result.exception, AssayError)
    with pytest.raises(AssayError, match=message):
        raise result.exception
    assert not (here / "datasets").exists()


def test_a_converter_of_a_card_from_elsewhere_is_not_run(here, monkeypatch):
    run("docs", "--output", "made", "--converter", "cat", "--suffixes", ".rst")
    (here / "docs").rename(here / "made/docs/originals")
    card = here / "made/dataset.yaml"
    card.write_text(card.read_text().replace("originals: ../docs", "originals: docs/originals"))
    (here / "away").mkdir()
    monkeypatch.chdir(here / "away")
    with pytest.raises(AssayError, match=r"converter\.type: names code to run"):
        load(os.fspath(here / "made"))


def test_no_questions_are_asked_about_text_that_has_changed(here):
    run("docs")
    write(here / "docs", {"fares.rst": FARES + "\nMore.\n"})
    with pytest.raises(AssayError, match="run `assay dataset sync docs` first"):
        open_documents("docs", make_resources())
