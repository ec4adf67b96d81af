"""`assay init`: documents and questions become a collection that loads and checks clean."""

import csv
import json
from pathlib import Path

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
PHONE = {"question": "Phone?", "quote": "Call us."}


@pytest.fixture
def here(tmp_path, monkeypatch):
    return enter(tmp_path, monkeypatch)


def enter(folder, monkeypatch):
    """Write two documents and enter the folder that has them."""
    (folder / "my-docs/sub").mkdir(parents=True)
    (folder / "my-docs/guide.md").write_text(GUIDE, encoding="utf-8")
    (folder / "my-docs/sub/refunds.txt").write_text(REFUNDS)
    monkeypatch.chdir(folder)
    return folder


def run(*arguments):
    return CliRunner().invoke(init, arguments)


def make(*arguments):
    """Return what a call prints that succeeds."""
    result = run(*arguments)
    assert (result.exit_code, result.exception) == (0, None), result.output
    return result.output


def refuse(*arguments):
    """Return the line of a call that is refused."""
    error = run(*arguments).exception
    assert isinstance(error, AssayError), error
    return str(error)


def ask(*rows):
    """Write questions; the arguments that name them."""
    with Path("questions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, dict.fromkeys(key for row in rows for key in row))
        writer.writeheader()
        writer.writerows(rows)
    return "--questions", "questions.csv"


def faults(card="my-docs"):
    """Return what is wrong with a collection, notes left out."""
    return [str(found) for found in check(find_card(card)) if found.severity != "note"]


def read_unlocated(folder="datasets/my-docs"):
    with Path(folder, "unlocated.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def snapshot(folder):
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_questions_become_judged_queries(here):
    questions = ask(
        {"question": "How to install?", "quote": 'install the client - it needs "root"'},
        {"question": "How to install?", "quote": "it needs “root”.", "grade": "3"},
        PHONE | {"type": "fact", "id": "p1", "grade": "2"},
        {"question": "All of it?", "document": "setup guide"},
    )
    make("my-docs", *questions)
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
    assert not faults()
    assert not (here / "datasets/my-docs/unlocated.csv").exists()


def test_what_cannot_be_located_is_listed_with_the_nearest_passage(here):
    (here / "my-docs/opening.md").write_text("# Hours\n\nWe open at nine.\n\nCall me, please.\n")
    rare, call = "Refunds of the client take 14 days, please", "Call us."
    refunds = ("sub/refunds.txt", REFUNDS.strip())
    opening = ("opening.md", "Call me, please.")
    # A row (quote, document, grade), why it has no place, and the nearest passage.
    rows = [
        ((call, "my-docs/sub/refunds.txt", ""), None, None),
        (("Refunds take 14 days.", "", ""), "the quote occurs 2 times (sub/refunds.txt:1, ", None),
        (("refunds take a month", "", ""), "the quote does not occur in any document", refunds),
        ((call, "handbook.md", ""), 'no document is called "handbook.md"', None),
        ((call, "my-docs/guide.md", ""), "the quote does not occur in guide.md, but at sub/refunds"
         ".txt:2; name that document", None),
        (("", "./my-docs/guide.md", ""), 'no document is called "./my-docs/guide.md"; give its '
         'path, as "guide.md"', None),
        ((call, "", "high"), "grade must be a whole number from 0, not 'high'", None),
        (("", "", ""), "neither a quote nor a document is given", None),
        ((rare, "", ""), "the quote does not occur in any", refunds),
        ((rare, "opening.md", ""), "the quote does not occur in opening.md", opening),
        ((rare, "/old/opening.md", ""), "the quote does not occur in opening.md", opening),
        (("Refunds take a month", "opening.md", ""), "the quote does not occur", ("", "")),
    ]  # fmt: skip
    asked = [
        {"query": f"Why\n{i}?", "passage": quote, "path": path, "grade": grade}
        for i, ((quote, path, grade), *_) in enumerate(rows)
    ]
    again = asked[0] | {"grade": "2"}
    output = make("my-docs", *ask(*asked, asked[0] | {"query": ""}, again))
    found = read_unlocated()
    expected = [(why, nearest) for _, why, nearest in rows if why]
    expected += [("no question", None), ("judged before with grade 1", None)]
    for row, (why, nearest) in zip(found, expected, strict=True):
        assert row["why"].startswith(why)
        assert nearest is None or (row["nearest"], row["nearest_text"]) == nearest
        assert f"line {row['line']}: " in output
    assert [int(row["line"]) for row in found[:2]] == [4, 6]
    assert found[0]["why"].endswith("sub/refunds.txt:3); quote more")
    assert found[1]["nearest_line"] == "1"
    assert "nearest passage: sub/refunds.txt:1: Refunds take 14 days. Call us." in output
    assert [query.text for query in load("my-docs").queries] == ["Why\n0?"]


def write_book(path):
    import openpyxl

    book = openpyxl.Workbook()
    for row in (["Question", "Quote", "Grade"], ["Phone?", "Call us.", 2], [None, None, None]):
        book.active.append(row)
    book.save(path)


TABLE = '\ufeffQuestion|Quote|Grade\r\nPhone?|"Call us."|2'
TABLES = {
    "rows.jsonl": '{"Text": "Phone?", "answer": "Call us.", "grade": 2, "type": null}\n',
    "comma.csv": TABLE.replace("|", ","),
    "semicolon.csv": TABLE.replace("|", ";"),
    "tab.csv": TABLE.replace("|", "\t"),
    "book.xlsx": "",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_every_form_are_read(here, name):
    if TABLES[name]:
        (here / name).write_text(TABLES[name], encoding="utf-8", newline="")
    else:
        write_book(here / name)
    told = json.loads(make("my-docs", "--questions", name, "--json"))
    assert (told["queries"], told["judgments"], told["documents"]) == (1, 1, 2)
    ((item,),) = load("my-docs").gold.values()
    assert item.grade == 2


def test_a_row_with_several_references_is_judged_at_each(here):
    second = REFUNDS.rindex("Refunds")
    listed = [
        {"content": " Refunds take 14 days.", "start_index": second - 1, "end_index": second + 21},
        {"content": "Call us.", "start_index": 22, "end_index": 30},
    ]
    row = {"question": "How long?", "references": json.dumps(listed), "corpus_id": "refunds"}
    make("my-docs", *ask(row))
    gold = load("my-docs").gold["q1"]
    assert sorted((item.start, item.end) for item in gold) == [(22, 30), (second, second + 21)]


def test_nothing_located_exits_with_2_and_writes_nothing(here):
    result = run("my-docs", *ask({"question": "a?", "quote": "not there"}))
    assert result.exit_code == 2
    assert "line 2: a?: the quote does not occur" in result.output
    assert not (here / "datasets").exists()


def test_what_could_not_be_placed_is_mended_and_added(here):
    questions = ask(
        PHONE | {"grade": "2"},
        {"question": "How long?", "quote": "Refunds take 14 days.", "type": "fact", "grade": "2"},
        {"question": "Setup?", "quote": "Install it", "id": "s1"},
    )
    make("my-docs", *questions)
    listed = here / "datasets/my-docs/unlocated.csv"
    add = ("my-docs", "--questions", str(listed), "--add")
    assert run(*add).exit_code == 2
    mended = listed.read_text().replace("Refunds take 14 days.,", "Call us. Refunds take 14 days.,")
    listed.write_text(mended)
    make(*add)
    queries = load("my-docs").queries
    assert {query.text: query.type for query in queries} == {"Phone?": "", "How long?": "fact"}
    assert len({query.id for query in queries}) == 2
    assert not faults()
    (left,) = read_unlocated()
    assert (left["question"], left["id"], left["quote"]) == ("Setup?", "s1", "Install it")
    listed.write_text(listed.read_text().replace("Install it", "Install the client"))
    make(*add)
    assert not listed.exists()
    assert len(load("my-docs").queries) == 3


def test_the_same_call_finishes_what_a_killed_one_began(here):
    make("my-docs", *ask(PHONE))
    second = ask({"question": "Setup?", "quote": "Install the client"})
    card = here / "datasets/my-docs/dataset.yaml"
    sealed = card.read_bytes()
    make("my-docs", *second, "--add")
    whole = card.read_bytes()
    card.write_bytes(sealed)  # as a kill before the card was sealed leaves it
    for _ in range(2):
        make("my-docs", *second, "--add")
        assert card.read_bytes() == whole
        assert len(load("my-docs").queries) == 2
        assert not faults()


def test_what_so_many_questions_can_show_is_told(here):
    rows = [PHONE | {"question": f"Phone {i}?"} for i in range(8)]
    about = f"differences of about {detectable(0.3, 8):.2f} in nDCG@10 or more"
    told = make("my-docs", *ask(*rows))
    assert f"8 questions show {about}. Ask 32 to see half of that." in told
    assert "3 questions can show no difference" in make("my-docs", "--force", *ask(*rows[:3]))


@pytest.mark.parametrize("other", ["", "prices.html"])
@pytest.mark.parametrize("inside", ["documents", "collection"])
def test_what_a_card_could_not_name_is_copied(here, monkeypatch, other, inside):
    if other:
        (here / "my-docs" / other).write_text("<h1>Prices</h1><p>Tea is dear.</p>")
    option, name = ask(PHONE)
    (here / "work").mkdir()
    output = here / "work/made" if inside == "collection" else here / "made"
    monkeypatch.chdir(here / ("work" if inside == "collection" else "my-docs"))
    arguments = (str(here / "my-docs"), option, str(here / name), "--output", str(output))
    make(*arguments)
    assert not faults(str(output))
    assert (output / "docs/sub/refunds.txt").read_text() == REFUNDS
    assert "originals" not in yaml.safe_load((output / "dataset.yaml").read_text())
    make(*arguments, "--force")


def test_without_questions_the_documents_can_be_searched_by_a_pipeline_that_ships(here, tmp_path):
    (here / "my-docs/logo.png").write_bytes(b"x")
    (here / "my-docs/empty.md").write_bytes(b"")
    told = make("my-docs", "--output", "datasets/none")
    assert "empty.md: is empty" in told
    assert "files of formats that are not read: 1 .png" in told
    *_, first, second = told.splitlines()
    assert first == "next    assay questions none --provider anthropic --dry-run"
    wanted = "or      assay init my-docs --questions questions.csv --add --output datasets/none"
    assert second == wanted
    assert sorted(path.name for path in (here / "datasets/none").iterdir()) == [
        "dataset.yaml", "judgments.jsonl", "pipeline.yaml", "queries.jsonl",
    ]  # fmt: skip
    assert "There are no questions yet" in (here / "datasets/none/dataset.yaml").read_text()
    (only,) = faults("none")
    assert only.endswith('document "empty.md" has no text')
    written = load_config(str(here / "datasets/none/pipeline.yaml"))
    shipped = load_config("contextual", ["dataset=none"])
    assert written == shipped.model_copy(update={"description": written.description})
    ask(PHONE)
    make(*wanted.split()[3:])
    make("my-docs", "--output", "made/here", "--name", "other")
    assert load_config(here / "made/here/pipeline.yaml").dataset == "made/here"
    assert load("made/here").name == "other"
    moved = here.rename(tmp_path.parent / f"{tmp_path.name}-moved")
    assert len(load(str(moved / "datasets/none")).documents) == 3


def test_the_pipeline_suits_the_script_of_the_documents(here):
    (here / "my-docs/guide.md").write_text("# 안내\n\n" + "도서관의 책은 삼 주 동안 빌립니다. " * 5)
    make("my-docs")
    assert find_card("my-docs").language == "ko"
    config = load_config(str(here / "datasets/my-docs/pipeline.yaml"), ())
    assert config.model_dump()["retriever"]["legs"]["keyword"]["analyzer"]["language"] == "korean"


def test_nothing_is_overwritten_without_force(here):
    make("my-docs")
    before = snapshot(here)
    assert "dataset.yaml: is there already; --force" in refuse("my-docs")
    assert snapshot(here) == before
    questions = ask(PHONE)
    told = refuse("my-docs", *questions)
    assert "already; --add adds the questions to it, --force ov" in told
    make("my-docs", "--force", *questions)
    asked = Path("datasets/my-docs/queries.jsonl").read_bytes()
    make("my-docs", "--force")
    assert Path("datasets/my-docs/queries.jsonl").read_bytes() == asked
    assert len(load("my-docs").queries) == 1


LISTED = "question,quote,references\nPhone?,Call us.,%s\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: there is no such folder"),
        (["my-docs", "--name", "a b"], "name: string should match pattern"),
        (["my-docs", "--questions", "none.csv"], "none.csv: there is no such file"),
        (["my-docs", "--questions", "bad.csv"], "bad.csv: no column of questions; one must be"),
        (["my-docs", "--questions", "bad.jsonl"], "bad.jsonl:1: not JSON"),
        (["my-docs", "--questions", "bad.xlsx"], "bad.xlsx: cannot be read as .xlsx"),
        (["my-docs", "--questions", "empty.csv"], "empty.csv: has no questions"),
        (["my-docs", "--questions", "twice.csv"], 'twice.csv: the column "quote" stands twice'),
        (["my-docs", "--questions", "more.csv"], "more.csv:3: 3 cells, where the header has 2; "),
        (["empty"], "empty: holds no documents; allowed: .md"),
        (["my-docs", "--questions", "list-none.csv"], "list-none.csv:2: references: not read: []"),
        (["my-docs", "--questions", "list-bare.csv"], "list-bare.csv:2: references: not read"),
        (["my-docs", "--questions", "list-half.csv"], "list-half.csv:2: references: not read: {; "),
        (["my-docs", "--output", "my-docs"], "would be written among the documents"),
        (["old", "--output", "made", "--force"], "is there already and no collection's"),
        (["my-docs", "--ci", "github"], "is in no git repository"),
    ],
)  # fmt: skip
def test_bad_input_writes_nothing(here, arguments, message):
    for folder in ("empty", "old", "made/docs"):
        (here / folder).mkdir(parents=True)
    (here / "old/old.txt").write_bytes("Größe".encode("cp1252"))
    (here / "my-docs/old.txt").write_bytes("Größe".encode("cp1252"))
    (here / "made/docs/mine.md").write_text("Mine.")
    (here / "bad.csv").write_text("frage,antwort\na,b\n")
    (here / "bad.jsonl").write_text("{\n")
    (here / "bad.xlsx").write_text("no zip")
    (here / "empty.csv").write_text("question,quote\n")
    (here / "twice.csv").write_text("question,quote, Quote\na,b,c\n")
    (here / "more.csv").write_text("quote,question\nCall us.,Phone?,\nCall us.,Phone, or mail?\n")
    for name, cell in (("none", "[]"), ("bare", '"[{""content"": ""a""}]"'), ("half", "{")):
        (here / f"list-{name}.csv").write_text(LISTED % cell)
    before = snapshot(here)
    assert message in refuse(*arguments)
    assert snapshot(here) == before
    assert not (here / "datasets").exists()


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("x", "start must be a whole number from 0, not 'x'"),
        ("4", "start is given without a document"),
    ],
)
def test_a_start_that_is_none_is_listed(here, cell, message):
    assert run("my-docs", *ask(PHONE, PHONE | {"question": "b?", "start": cell})).exit_code == 0
    assert [row["why"].startswith(message) for row in read_unlocated()] == [True]


@pytest.mark.slow
def test_other_formats_become_text_of_the_collection(here):
    blocks = [(1, "Dogs"), (0, "Dogs travel on the open deck.")]
    write_docx(here / "my-docs/sub/dogs.docx", blocks)
    (here / "my-docs/old.txt").write_bytes("Übergepäck kostet zwölf Euro.\r\n".encode("cp1252"))
    (here / "my-docs/broken.pdf").write_bytes(b"%PDF-")
    (here / "my-docs/logo.png").write_bytes(b"x")
    questions = ask(
        {"question": "Where do dogs travel?", "quote": "on the open deck"},
        {"question": "What does it cost?", "quote": "Übergepäck kostet", "document": "old.txt"},
        PHONE,
    )
    shown = json.loads(make("my-docs", *questions, "--json"))
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
    assert not faults()


@pytest.mark.slow
def test_a_pdf_keeps_its_pages_while_its_text_is_as_it_was(here):
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(here / "my-docs/rules.pdf"))
    for text in ("Dogs travel on the open deck.", "Bicycles cost two pounds."):
        canvas.drawString(72, 720, text)
        canvas.showPage()
    canvas.save()
    make("my-docs", *ask({"question": "Bicycles?", "quote": "Bicycles cost two pounds."}))
    collection = load("my-docs")
    (item,) = collection.gold["q1"]
    pages = collection.by_id["rules.pdf.md"].pages
    assert len(pages) == 2
    assert pages[0] <= collection.by_id["rules.pdf.md"].text.index("Dogs") < pages[1] <= item.start
    assert not faults()
    copy = here / "datasets/my-docs/docs/rules.pdf.md"
    copy.write_text(f"Edited. {copy.read_text()}")
    assert load("my-docs").by_id["rules.pdf.md"].pages == ()
    told = faults()
    assert any("rules.pdf.md: warning: has" in line and "without a page" in line for line in told)
    wrong = here / "datasets/my-docs/pages.jsonl"
    for characters, starts in (('"many"', [0]), (90, [0, 40, 39]), (90, [0, 91]), (90, [-1])):
        wrong.write_text(
            f'{{"path": "rules.pdf.md", "characters": {characters}, "pages": {starts}}}\n'
        )
        with pytest.raises(AssayError, match=r'pages\.jsonl:1: needs "characters" and a list "pa'):
            load("my-docs")
    wrong.write_text('{"path": "gone.md", "characters": 9, "pages": [0]}\n')
    told = faults()
    assert any('pages.jsonl: warning: "gone.md" is no document' in line for line in told)


@pytest.mark.slow
def test_copies_are_replaced_as_a_whole(here):
    original = here / "my-docs/dogs.docx"
    write_docx(original, [(0, "Dogs travel on the open deck.")])
    (here / "my-docs/old.txt").write_bytes("Größe".encode("cp1252"))
    assert "old.txt: not in UTF-8, read as cp1252" in make("my-docs")
    (here / "my-docs/old.txt").unlink()
    assert "docs: is there already" not in str(run("my-docs", "--force").exception)
    (here / "my-docs/guide.md").unlink()
    write_docx(original, [(0, "Dogs stay ashore.")])
    refuse("my-docs")
    assert "open deck" in (here / "datasets/my-docs/docs/dogs.docx.md").read_text()
    make("my-docs", "--force")
    copies = here / "datasets/my-docs/docs"
    assert {path.name for path in copies.rglob("*.*")} == {"dogs.docx.md", "refunds.txt"}
    assert (copies / "dogs.docx.md").read_text() == "Dogs stay ashore."
    hidden = {path.name for path in copies.parent.iterdir() if path.name.startswith(".")}
    assert hidden == set()


def test_columns_without_a_meaning_are_named(here):
    """Where the passage stands in one of them the whole document would be the answer."""
    (here / "a.csv").write_text(
        "question,document,excerpt,by,blank\nPhone?,refunds.txt,Call us.,me,\n"
    )
    told = " ".join(make("my-docs", "--questions", "a.csv").split())
    assert 'a.csv: columns that are not read: "excerpt", "by"; those that are: question, ' in told
    assert "not read" not in make("my-docs", "--force", *ask(PHONE))
