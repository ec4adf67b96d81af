"""`assay init`: documents and questions become a collection that loads and checks clean."""

import csv
import json
import subprocess
from pathlib import Path

import openpyxl
import pytest
import yaml
from click.testing import CliRunner
from samples.reference_documents import write_docx

from assay.eval.cli.init import init
from assay.eval.collections.catalog import find_card
from assay.eval.collections.check import check
from assay.eval.collections.loading import load
from assay.eval.configs.config import load_config
from assay.eval.statistics.significance import detectable
from assay.retrievers.base import AssayError

GUIDE = "---\ntitle: Setup Guide\n---\n# Setup\n\nInstall the **client** — it needs “root”.\n"
REFUNDS = "Refunds take 14 days.\nCall us.\nRefunds take 14 days.\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "my-docs/sub").mkdir(parents=True)
    (tmp_path / "my-docs/guide.md").write_text(GUIDE, encoding="utf-8")
    (tmp_path / "my-docs/sub/refunds.txt").write_text(REFUNDS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(init, arguments)


def faults(card):
    """Return what is wrong with a collection, notes left out."""
    return [str(problem) for problem in check(card) if problem.severity != "note"]


def ask(folder, *rows, columns):
    with (folder / "questions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns.split())
        writer.writeheader()
        writer.writerows(rows)
    return "questions.csv"


def test_questions_become_judged_queries(here):
    questions = ask(
        here,
        {"question": "How to install?", "quote": 'install the client - it needs "root"'},
        {"question": "How to install?", "quote": "it needs “root”.", "grade": "3"},
        {"question": "Phone?", "quote": "Call us.", "type": "fact", "id": "p1", "grade": "2"},
        {"question": "All of it?", "document": "setup guide"},
        columns="question quote document type grade id",
    )
    result = run("my-docs", "--questions", questions)
    assert (result.exit_code, result.exception) == (0, None)
    collection = load("my-docs")
    assert [query.id for query in collection.queries] == ["q1", "p1", "q2"]
    assert collection.queries[1].type == "fact"
    texts = {document.id: document.text for document in collection.documents}
    spans = {
        name: [(texts[item.doc_id][item.start : item.end], item.grade) for item in items]
        for name, items in collection.gold.items()
    }
    assert spans["q1"] == [("Install the **client** — it needs “root”", 1), ("it needs “root”.", 3)]
    assert spans["p1"] == [("Call us.", 2)]
    assert collection.gold["q2"][0].id == "guide.md"
    assert not faults(find_card("my-docs"))
    assert not (here / "datasets/my-docs/unlocated.csv").exists()


def test_a_document_may_be_given_by_its_path_from_elsewhere(here):
    """The quote tells whether it is the one; without a quote it is asked for."""
    questions = ask(
        here,
        {"query": "Phone?", "quote": "Call us.", "document": "my-docs/sub/refunds.txt"},
        {"query": "Elsewhere?", "quote": "Call us.", "document": "my-docs/guide.md"},
        {"query": "All of it?", "document": "./my-docs/guide.md"},
        columns="query quote document",
    )
    assert run("my-docs", "--questions", questions).exit_code == 0
    assert [items[0].doc_id for items in load("my-docs").gold.values()] == ["sub/refunds.txt"]
    with (here / "datasets/my-docs/unlocated.csv").open(newline="") as file:
        assert [row["why"] for row in csv.DictReader(file)] == [
            "the quote does not occur in guide.md, but at sub/refunds.txt:2; name that document",
            'no document is called "./my-docs/guide.md"; give its path, as "guide.md"',
        ]


def test_the_nearest_passage_is_of_the_document_that_the_row_names(here):
    (here / "my-docs/opening.md").write_text("# Hours\n\nWe open at nine.\n\nCall us, please.\n")
    rare = "Refunds of the client take 14 days"
    questions = ask(
        here,
        {"question": "Anywhere?", "quote": f"{rare}, please"},
        {"question": "There?", "quote": f"{rare}, please", "document": "opening.md"},
        {"question": "As elsewhere?", "quote": f"{rare}, please", "document": "/old/opening.md"},
        {"question": "No word?", "quote": "Refunds take a month", "document": "opening.md"},
        {"question": "Good?", "quote": "We open at nine."},
        columns="question quote document",
    )
    result = run("my-docs", "--questions", questions)
    assert result.exit_code == 0, result.output
    with (here / "datasets/my-docs/unlocated.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["nearest"], row["nearest_text"]) for row in rows] == [
        ("sub/refunds.txt", REFUNDS.strip()),
        ("opening.md", "Call us, please."),
        ("opening.md", "Call us, please."),
        ("", ""),
    ]


def test_what_cannot_be_located_is_listed(here):
    questions = ask(
        here,
        {"query": "Good?", "passage": "Call us."},
        {"query": "Twice?", "passage": "Refunds take 14 days."},
        {"query": "Made\nup?", "passage": "refunds take a month"},
        {"query": "Where?", "passage": "Call us.", "path": "handbook.md"},
        {"query": "Elsewhere?", "passage": "Call us.", "path": "guide.md"},
        {"query": "Grade?", "passage": "Call us.", "grade": "high"},
        {"query": "Neither?"},
        {"query": "", "passage": "Call us."},
        {"query": "Good?", "passage": "Call us.", "grade": "2"},
        columns="query passage path grade",
    )
    result = run("my-docs", "--questions", questions)
    assert (result.exit_code, result.exception) == (0, None)
    with (here / "datasets/my-docs/unlocated.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(int(row["line"]), row["why"].split(";")[0]) for row in rows] == [
        (3, "the quote occurs 2 times (sub/refunds.txt:1, sub/refunds.txt:3)"),
        (4, "the quote does not occur in any document"),
        (6, 'no document is called "handbook.md"'),
        (7, "the quote does not occur in guide.md, but at sub/refunds.txt:2"),
        (8, "grade must be a whole number from 0, not 'high'"),
        (9, "neither a quote nor a document is given"),
        (10, "no question"),
        (11, "judged before with grade 1"),
    ]
    assert rows[0]["why"].endswith("sub/refunds.txt:3); quote more")
    assert rows[1]["nearest"] == "sub/refunds.txt"
    assert (rows[1]["nearest_line"], rows[1]["nearest_text"]) == ("1", REFUNDS.strip())
    assert "nearest passage: sub/refunds.txt:1: Refunds take 14 days. Call us." in result.output
    assert [query.text for query in load("my-docs").queries] == ["Good?"]
    assert all(f"line {row['line']}: " in result.output for row in rows)


def test_json_lines_of_questions(here):
    rows = [{"Text": "Phone?", "answer": "Call us.", "grade": 2, "type": None}, {"question": "x"}]
    (here / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("my-docs", "--questions", "q.jsonl", "--json")
    shown = json.loads(result.stdout)
    assert (shown["queries"], shown["judgments"], shown["documents"]) == (1, 1, 2)
    assert shown["unlocated"][0]["line"] == 2


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_tables_of_any_delimiter(here, delimiter):
    lines = ["Question|Quote", 'Phone?|"Call us."']
    text = "\ufeff" + "\r\n".join(lines).replace("|", delimiter)
    (here / "q.csv").write_text(text, encoding="utf-8", newline="")
    assert run("my-docs", "--questions", "q.csv").exit_code == 0
    assert len(load("my-docs").queries) == 1


def test_a_row_with_several_references_is_judged_at_each(here):
    second = REFUNDS.rindex("Refunds")
    listed = [
        {"content": " Refunds take 14 days.", "start_index": second - 1, "end_index": second + 21},
        {"content": "Call us.", "start_index": 22, "end_index": 30},
    ]
    row = {"question": "How long?", "references": json.dumps(listed), "corpus_id": "refunds"}
    questions = ask(here, row, columns="question references corpus_id")
    assert run("my-docs", "--questions", questions).exit_code == 0
    gold = load("my-docs").gold["q1"]
    assert sorted((item.start, item.end) for item in gold) == [(22, 30), (second, second + 21)]


@pytest.mark.parametrize(
    ("columns", "cells", "message"),
    [
        ("references", "[]", "questions.csv:2: references: not read: []; it must be a JSON list"),
        ("references", '[{"content": "a"}]', "questions.csv:2: references: not read"),
        ("references", "{", "questions.csv:2: references: not read: {; "),
        ("start", "x", "start must be a whole number from 0, not 'x'"),
        ("start", "4", "start is given without a document"),
    ],
)
def test_references_in_another_form_are_refused(here, columns, cells, message):
    row = {"question": "Phone?", "quote": "Call us.", columns: cells}
    questions = ask(here, row, columns=f"question quote {columns}")
    done = run("my-docs", "--questions", questions)
    assert done.exit_code in (1, 2)
    unlocated = here / "datasets/my-docs/unlocated.csv"
    told = f"{done.output} {done.exception}"
    assert message in told + (unlocated.read_text() if unlocated.exists() else "")


def test_nothing_located_exits_with_2_and_writes_nothing(here):
    questions = ask(here, {"question": "a?", "quote": "not there"}, columns="question quote")
    result = run("my-docs", "--questions", questions)
    assert result.exit_code == 2
    assert "line 2: a?: the quote does not occur" in result.output
    assert not (here / "datasets").exists()
    questions = ask(here, {"question": "a?", "quote": "Call us."}, columns="question quote")
    assert run("my-docs", "--questions", questions).exit_code == 0


def test_what_could_not_be_placed_is_mended_and_added(here):
    questions = ask(
        here,
        {"question": "Phone?", "quote": "Call us.", "grade": "2"},
        {"question": "How long?", "quote": "Refunds take 14 days.", "type": "fact", "grade": "2"},
        {"question": "Setup?", "quote": "Install it", "id": "s1"},
        columns="question quote type grade id",
    )
    assert run("my-docs", "--questions", questions).exit_code == 0
    listed = here / "datasets/my-docs/unlocated.csv"
    assert run("my-docs", "--questions", str(listed), "--add").exit_code == 2
    mended = listed.read_text().replace("Refunds take 14 days.,", "Call us. Refunds take 14 days.,")
    listed.write_text(mended)
    result = run("my-docs", "--questions", str(listed), "--add")
    assert (result.exit_code, result.exception) == (0, None)
    collection = load("my-docs")
    assert {query.text: query.type for query in collection.queries} == {
        "Phone?": "",
        "How long?": "fact",
    }
    assert len({query.id for query in collection.queries}) == 2
    assert not faults(find_card("my-docs"))
    with listed.open(newline="") as file:
        (left,) = csv.DictReader(file)
    assert (left["question"], left["id"], left["quote"]) == ("Setup?", "s1", "Install it")
    listed.write_text(listed.read_text().replace("Install it", "Install the client"))
    assert run("my-docs", "--questions", str(listed), "--add").exit_code == 0
    assert not listed.exists()
    assert len(load("my-docs").queries) == 3


def test_the_same_call_finishes_what_a_killed_one_began(here):
    first = ask(here, {"question": "Phone?", "quote": "Call us."}, columns="question quote")
    assert run("my-docs", "--questions", first).exit_code == 0
    row = {"question": "Setup?", "quote": "Install the client"}
    second = ask(here, row, columns="question quote")
    card = here / "datasets/my-docs/dataset.yaml"
    sealed = card.read_bytes()
    assert run("my-docs", "--questions", second, "--add").exit_code == 0
    whole = card.read_bytes()
    card.write_bytes(sealed)  # as a kill before the card was sealed leaves it
    for _ in range(2):
        assert run("my-docs", "--questions", second, "--add").exit_code == 0
        assert card.read_bytes() == whole
        assert len(load("my-docs").queries) == 2
        assert not faults(find_card("my-docs"))


def test_questions_of_a_spreadsheet(here):
    book = openpyxl.Workbook()
    for row in (["Question", "Quote", "Grade"], ["Phone?", "Call us.", 2], [None, None, None]):
        book.active.append(row)
    book.save(here / "q.xlsx")
    assert run("my-docs", "--questions", "q.xlsx").exit_code == 0
    ((item,),) = load("my-docs").gold.values()
    assert item.grade == 2
    (here / "bad.xlsx").write_text("no zip")
    failed = run("my-docs", "--questions", "bad.xlsx", "--force")
    assert "bad.xlsx: cannot be read as .xlsx" in str(failed.exception)


def test_what_so_many_questions_can_show_is_told(here):
    rows = [{"question": f"Phone {i}?", "quote": "Call us."} for i in range(8)]
    shown = run("my-docs", "--questions", ask(here, *rows, columns="question quote")).output
    about = f"differences of about {detectable(0.3, 8):.2f} in nDCG@10 or more"
    assert f"8 questions show {about}. Ask 32 to see half of that." in shown
    few = ask(here, *rows[:3], columns="question quote")
    assert (
        "3 questions can show no difference" in run("my-docs", "--force", "--questions", few).output
    )


@pytest.mark.parametrize("other", ["", "prices.html"])
@pytest.mark.parametrize("inside", ["documents", "collection"])
def test_what_a_card_could_not_name_is_copied(here, monkeypatch, other, inside):
    if other:
        (here / "my-docs" / other).write_text("<h1>Prices</h1><p>Tea is dear.</p>")
    questions = here / ask(
        here, {"question": "Tel?", "quote": "Call us."}, columns="question quote"
    )
    (here / "work").mkdir()
    output = here / "work/made" if inside == "collection" else here / "made"
    monkeypatch.chdir(here / ("work" if inside == "collection" else "my-docs"))
    arguments = (str(here / "my-docs"), "--questions", str(questions), "--output", str(output))
    result = run(*arguments)
    assert (result.exit_code, result.exception) == (0, None)
    assert not faults(find_card(str(output)))
    assert (output / "docs/sub/refunds.txt").read_text() == REFUNDS
    assert "originals" not in yaml.safe_load((output / "dataset.yaml").read_text())
    assert run(*arguments, "--force").exit_code == 0


def test_the_config_names_the_collection_from_the_working_directory(here):
    assert run("my-docs", "--output", "made/here").exit_code == 0
    assert load_config(here / "made/here/pipeline.yaml").dataset == "made/here"
    assert not faults(find_card("made/here"))


def test_without_questions_the_documents_can_be_searched(here):
    result = run("my-docs")
    assert (result.exit_code, result.exception) == (0, None)
    collection = load("my-docs")
    assert (len(collection.documents), collection.queries) == (2, ())
    card = (here / "datasets/my-docs/dataset.yaml").read_text()
    assert "There are no questions yet" in card
    assert not faults(find_card("my-docs"))


def test_the_pipeline_is_one_that_ships(here):
    run("my-docs")
    written = load_config(str(here / "datasets/my-docs/pipeline.yaml"))
    shipped = load_config("contextual", ["dataset=my-docs"])
    assert written == shipped.model_copy(update={"description": written.description})


def test_the_pipeline_suits_the_script_of_the_documents(here):
    (here / "my-docs/guide.md").write_text("# 안내\n\n" + "도서관의 책은 삼 주 동안 빌립니다. " * 5)
    assert run("my-docs").exit_code == 0
    assert find_card("my-docs").language == "ko"
    config = load_config(str(here / "datasets/my-docs/pipeline.yaml"), ())
    assert config.model_dump()["retriever"]["legs"]["keyword"]["analyzer"]["language"] == "korean"


def test_another_output_and_name(here):
    result = run("my-docs", "--output", "made", "--name", "no")
    assert (result.exit_code, result.exception) == (0, None)
    assert sorted(path.name for path in (here / "made").iterdir()) == [
        "dataset.yaml",
        "judgments.jsonl",
        "pipeline.yaml",
        "queries.jsonl",
    ]
    config = yaml.safe_load((here / "made/pipeline.yaml").read_text())
    assert load(config["dataset"]).name == "no"


def test_relative_documents_move_with_the_project(here, tmp_path):
    run("my-docs")
    moved = here.rename(tmp_path.parent / f"{tmp_path.name}-moved")
    assert len(load(str(moved / "datasets/my-docs")).documents) == 2


def snapshot(folder):
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_nothing_is_overwritten_without_force(here):
    run("my-docs")
    before = snapshot(here)
    result = run("my-docs")
    assert isinstance(result.exception, AssayError)
    assert "dataset.yaml: is there already; --force" in str(result.exception)
    assert snapshot(here) == before
    questions = ask(here, {"question": "a?", "quote": "Call us."}, columns="question quote")
    again = run("my-docs", "--questions", questions)
    assert "already; --add adds the questions to it, --force ov" in str(again.exception)
    assert run("my-docs", "--force", "--questions", questions).exit_code == 0
    asked = Path("datasets/my-docs/queries.jsonl").read_bytes()
    assert run("my-docs", "--force").exit_code == 0
    assert Path("datasets/my-docs/queries.jsonl").read_bytes() == asked
    assert len(load("my-docs").queries) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: there is no such folder"),
        (["my-docs", "--name", "a b"], "name: string should match pattern"),
        (["my-docs", "--questions", "none.csv"], "none.csv: there is no such file"),
        (["my-docs", "--questions", "bad.csv"], "bad.csv: no column of questions; one must be"),
        (["my-docs", "--questions", "bad.jsonl"], "bad.jsonl:1: not JSON"),
        (["my-docs", "--questions", "empty.csv"], "empty.csv: has no questions"),
        (["empty"], "empty: holds no documents; allowed: .md"),
    ],
)
def test_bad_input_writes_nothing(here, arguments, message):
    (here / "empty").mkdir()
    (here / "bad.csv").write_text("frage,antwort\na,b\n")
    (here / "bad.jsonl").write_text("{\n")
    (here / "empty.csv").write_text("question,quote\n")
    before = snapshot(here)
    result = run(*arguments)
    assert isinstance(result.exception, AssayError)
    assert message in str(result.exception)
    assert snapshot(here) == before
    assert not (here / "datasets").exists()


@pytest.mark.slow
def test_other_formats_become_text_of_the_collection(here):
    blocks = [(1, "Dogs"), (0, "Dogs travel on the open deck.")]
    write_docx(here / "my-docs/sub/dogs.docx", blocks)
    (here / "my-docs/old.txt").write_bytes("Übergepäck kostet zwölf Euro.\r\n".encode("cp1252"))
    (here / "my-docs/broken.pdf").write_bytes(b"%PDF-")
    (here / "my-docs/logo.png").write_bytes(b"x")
    questions = ask(
        here,
        {"question": "Where do dogs travel?", "quote": "on the open deck"},
        {"question": "What does it cost?", "quote": "Übergepäck kostet", "document": "old.txt"},
        {"question": "Phone?", "quote": "Call us."},
        columns="question quote document",
    )
    shown = json.loads(run("my-docs", "--questions", questions, "--json").stdout)
    assert (shown["documents"], shown["queries"]) == (4, 3)
    assert [item["path"] for item in shown["skipped"]] == ["broken.pdf", "logo.png"]
    made = here / "datasets/my-docs"
    assert yaml.safe_load((made / "dataset.yaml").read_text())["documents"] == "docs"
    assert (made / "docs/guide.md").read_bytes() == (here / "my-docs/guide.md").read_bytes()
    assert (made / "docs/old.txt").read_bytes().decode() == "Übergepäck kostet zwölf Euro.\r\n"
    assert (made / "docs/sub/dogs.docx.md").read_text().startswith("# Dogs")
    collection = load("my-docs")
    texts = {document.id: document.text for document in collection.documents}
    (item,) = collection.gold["q1"]
    assert texts["sub/dogs.docx.md"][item.start : item.end] == "on the open deck"
    assert not faults(find_card("my-docs"))


@pytest.mark.slow
def test_a_pdf_keeps_its_pages_while_its_text_is_as_it_was(here):
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(here / "my-docs/rules.pdf"))
    for text in ("Dogs travel on the open deck.", "Bicycles cost two pounds."):
        canvas.drawString(72, 720, text)
        canvas.showPage()
    canvas.save()
    row = {"question": "Bicycles?", "quote": "Bicycles cost two pounds."}
    questions = ask(here, row, columns="question quote")
    assert run("my-docs", "--questions", questions).exit_code == 0
    collection = load("my-docs")
    (item,) = collection.gold["q1"]
    pages = collection.by_id["rules.pdf.md"].pages
    assert len(pages) == 2
    assert pages[0] <= collection.by_id["rules.pdf.md"].text.index("Dogs") < pages[1] <= item.start
    assert not faults(find_card("my-docs"))
    copy = here / "datasets/my-docs/docs/rules.pdf.md"
    copy.write_text(f"Edited. {copy.read_text()}")
    assert load("my-docs").by_id["rules.pdf.md"].pages == ()
    told = faults(find_card("my-docs"))
    assert any("rules.pdf.md: warning: has" in line and "without a page" in line for line in told)
    wrong = here / "datasets/my-docs/pages.jsonl"
    for characters, starts in (('"many"', [0]), (90, [0, 40, 39]), (90, [0, 91]), (90, [-1])):
        wrong.write_text(
            f'{{"path": "rules.pdf.md", "characters": {characters}, "pages": {starts}}}\n'
        )
        with pytest.raises(AssayError, match=r'pages\.jsonl:1: needs "characters" and a list "pa'):
            load("my-docs")
    wrong.write_text('{"path": "gone.md", "characters": 9, "pages": [0]}\n')
    told = faults(find_card("my-docs"))
    assert any('pages.jsonl: warning: "gone.md" is no document' in line for line in told)


@pytest.mark.slow
def test_copies_are_replaced_as_a_whole(here):
    original = here / "my-docs/dogs.docx"
    write_docx(original, [(0, "Dogs travel on the open deck.")])
    (here / "my-docs/old.txt").write_bytes("Größe".encode("cp1252"))
    assert "old.txt: not in UTF-8, read as cp1252" in run("my-docs").output
    (here / "my-docs/old.txt").unlink()
    assert "docs: is there already" not in str(run("my-docs", "--force").exception)
    (here / "my-docs/guide.md").unlink()
    write_docx(original, [(0, "Dogs stay ashore.")])
    assert isinstance(run("my-docs").exception, AssayError)
    assert "open deck" in (here / "datasets/my-docs/docs/dogs.docx.md").read_text()
    assert run("my-docs", "--force").exit_code == 0
    copies = here / "datasets/my-docs/docs"
    assert {path.name for path in copies.rglob("*.*")} == {"dogs.docx.md", "refunds.txt"}
    assert (copies / "dogs.docx.md").read_text() == "Dogs stay ashore."
    hidden = {path.name for path in copies.parent.iterdir() if path.name.startswith(".")}
    assert hidden == set()


def test_copies_never_mix_with_other_files(here):
    (here / "my-docs/old.txt").write_bytes("Größe".encode("cp1252"))
    before = snapshot(here)
    inside = run("my-docs", "--output", "my-docs")
    assert "would be written among the documents" in str(inside.exception)
    (here / "made/docs").mkdir(parents=True)
    (here / "made/docs/mine.md").write_text("Mine.")
    taken = run("my-docs", "--output", "made", "--force")
    assert "is there already and no collection's" in str(taken.exception)
    (here / "made/docs/mine.md").unlink()
    (here / "made/docs").rmdir()
    (here / "made").rmdir()
    assert snapshot(here) == before


def test_text_files_stay_where_they_are(here):
    (here / "my-docs/logo.png").write_bytes(b"x")
    (here / "my-docs/empty.md").write_bytes(b"")
    result = run("my-docs")
    assert "empty.md: is empty" in result.output
    assert "files of formats that are not read: 1 .png" in result.output
    assert not (here / "datasets/my-docs/docs").exists()


@pytest.fixture
def repository(here):
    (here / ".git").mkdir()
    ask(here, {"question": "Phone?", "quote": "Call us."}, columns="question quote")
    return here


def test_paths_are_relative_within_a_repository(repository, monkeypatch):
    (repository / "tools").mkdir()
    monkeypatch.chdir(repository / "tools")
    monkeypatch.setenv("ASSAY_TRUST", "1")  # what is named lies beside the working folder
    made = run("../my-docs", "--questions", "../questions.csv", "--output", "../judged")
    assert made.exit_code == 0, made.output
    card = yaml.safe_load((repository / "judged/dataset.yaml").read_text())
    assert card["documents"] == "../my-docs"
    pipeline = yaml.safe_load((repository / "judged/pipeline.yaml").read_text())
    assert pipeline["dataset"] == "../judged"


@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_a_job_gates_the_pipeline(ci, repository):
    (repository / ".gitignore").write_text("mlruns/\n*.tmp")
    made = run("my-docs", "--questions", "questions.csv", "--ci", ci)
    assert made.exit_code == 0, made.output
    ignored = (repository / ".gitignore").read_text().splitlines()
    assert ignored[:3] == ["mlruns/", "*.tmp", "reports/*"]
    assert len(set(ignored)) == len(ignored)
    if ci == "github":
        job = yaml.safe_load((repository / ".github/workflows/assay.yml").read_text())
        steps = job["jobs"]["gate"]["steps"]
        commands = [step["run"] for step in steps if "run" in step]
        assert steps[0]["with"]["fetch-depth"] == 0
    else:
        (include,) = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["include"]
        gate = yaml.safe_load((repository / include["local"]).read_text())["assay-gate"]
        commands = gate["script"]
        assert gate["variables"]["GIT_DEPTH"] == "0"
    assert commands[0].startswith('pip install "${ASSAY_PACKAGE:?')
    refused = subprocess.run(
        ["bash", "-c", commands[0]], env={"ASSAY_PACKAGE": ""}, capture_output=True, text=True
    )
    assert refused.returncode
    assert "ASSAY_PACKAGE: say above what pip is to install" in refused.stderr
    assert commands[1].startswith("assay gate datasets/my-docs/pipeline.yaml ")


def test_a_job_that_is_there_is_kept_and_nothing_written(repository):
    job = repository / ".github/workflows/assay.yml"
    job.parent.mkdir(parents=True)
    job.write_text("mine\n")
    refused = run("my-docs", "--questions", "questions.csv", "--ci", "github")
    assert "assay.yml: is there already; --force overwrites it" in str(refused.exception)
    assert job.read_text() == "mine\n"
    assert not (repository / "datasets").exists()
    assert not (repository / ".gitignore").exists()


def test_a_job_needs_the_root_of_a_repository(here, monkeypatch):
    refused = run("my-docs", "--ci", "github")
    assert "is in no git repository" in str(refused.exception)
    (here / ".git").mkdir()
    monkeypatch.chdir(here / "my-docs")
    refused = run("sub", "--ci", "github")
    assert "must be given in the root of the repository" in str(refused.exception)
    assert not (here / "my-docs/datasets").exists()
