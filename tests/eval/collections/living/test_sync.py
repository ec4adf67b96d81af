"""Syncing collections: files before and after, from the command line and from Python."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner
from samples.collection_folders import write_beir, write_native, write_rows

from assay.eval.cli.main import assay
from assay.eval.collections.catalog import read_card
from assay.eval.collections.check import check
from assay.eval.collections.living import sync as syncing
from assay.eval.collections.living.findings import Status
from assay.eval.collections.living.review import FILE, read_review, write_review
from assay.eval.collections.living.sync import sync
from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError

FEE = "The yearly fee for a reader's card is twelve crowns."
LOAN = "A book may be kept for four weeks, and longer if nobody waits for it."
HOURS = "The reading room opens at nine in the morning on every working day."
GUIDE = f"# Library\n\n## Fees\n\n{FEE}\n\n## Loans\n\n{LOAN}\n"
ROOM = f"# Rooms\n\n{HOURS}\n"
CALL = "from assay.eval.cli.main import main; main()"
SHIFT = "Twenty-seven characters in.\n"[:27]


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with documents, and the collection that `assay init` makes of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/guide.md").write_text(GUIDE)
    (tmp_path / "docs/room.md").write_text(ROOM)
    rows = [("What does a card cost?", FEE), ("How long may I keep it?", LOAN), ("When?", HOURS)]
    (tmp_path / "q.jsonl").write_text(
        "".join(f"{json.dumps({'question': a, 'quote': b})}\n" for a, b in rows)
    )
    done = CliRunner().invoke(assay, ["init", "docs", "--questions", "q.jsonl", "--name", "own"])
    assert done.exit_code == 0, done.output
    return tmp_path / "datasets/own"


def write(own, name, text):
    path = own.parent.parent / "docs" / name
    if text is None:
        path.unlink()
    else:
        path.write_text(text)


def run(own, **options):
    return sync(read_card(own / "dataset.yaml"), **options)


def rows(own):
    return [json.loads(line) for line in (own / "judgments.jsonl").read_text().splitlines()]


def gold(own):
    collection = load(str(own))
    return [
        collection.texts[item.doc_id][item.start : item.end]
        for items in collection.gold.values()
        for item in items
    ]


def test_what_init_writes_is_up_to_date_and_has_selectors(own):
    before = (own / "judgments.jsonl").read_bytes()
    position, quote = rows(own)[0]["selector"]
    start = GUIDE.index(FEE)
    assert position == {"type": "TextPositionSelector", "start": start, "end": start + len(FEE)}
    assert (quote["type"], quote["exact"]) == ("TextQuoteSelector", FEE)
    assert GUIDE.index(quote["prefix"] + FEE + quote["suffix"]) == start - len(quote["prefix"])
    assert rows(own)[0]["headings"] == ["Library", "Fees"]
    report = run(own)
    assert report.statuses == {Status.IN_PLACE: 3}
    assert not report.written
    assert (own / "judgments.jsonl").read_bytes() == before


def test_an_edit_alone_leaves_the_collection_usable_and_a_sync_makes_it_whole(own):
    at_first = load(str(own)).digest
    write(own, "guide.md", GUIDE.replace(FEE, SHIFT + FEE))
    wrong = [item for item in check(read_card(own / "dataset.yaml")) if item.line]
    assert {item.severity for item in wrong} == {"warning"}
    assert all("`assay dataset sync`" in item.message for item in wrong)
    assert gold(own) == [FEE, LOAN, HOURS]
    drifted = load(str(own)).digest
    report = run(own)
    assert report.statuses == {Status.MOVED: 2, Status.IN_PLACE: 1}
    assert load(str(own)).digest == drifted != at_first
    assert check(read_card(own / "dataset.yaml")) == []


def test_loading_says_loudly_what_is_left_out(own, capsys):
    from assay.eval.progress import ConsoleProgress

    write(own, "guide.md", GUIDE.replace(FEE, "").replace(LOAN, f"{SHIFT} {LOAN}"))
    load(str(own), ConsoleProgress())
    told = capsys.readouterr().err
    assert "1 moved (used where their text is now)" in told
    assert "1 gone (LEFT OUT of every measure)" in told
    assert "`assay dataset sync own`" in told
    assert gold(own) == [LOAN, HOURS]


def test_a_rename_a_split_and_a_merge_take_judgments_along(own):
    write(own, "guide.md", None)
    write(own, "fees.md", GUIDE.partition("## Loans")[0])
    write(own, "room.md", ROOM + "\n## Loans" + GUIDE.partition("## Loans")[2])
    report = run(own)
    assert report.statuses == {Status.ELSEWHERE: 2, Status.IN_PLACE: 1}
    assert [row["path"] for row in rows(own)] == ["fees.md", "room.md", "room.md"]
    assert gold(own) == [FEE, LOAN, HOURS]


def test_what_is_gone_stays_in_its_file_and_comes_back_with_its_text(own):
    at_first = (own / "judgments.jsonl").read_bytes()
    write(own, "room.md", None)
    assert [item.query_id for item in run(own).gone] == ["q3"]
    assert [row.get("status") for row in rows(own)] == [None, None, "gone"]
    assert gold(own) == [FEE, LOAN]
    notes = [item for item in check(read_card(own / "dataset.yaml")) if item.severity == "note"]
    assert len(notes) == 1
    assert run(own).gone == []
    write(own, "room.md", ROOM)
    assert run(own).statuses == {Status.IN_PLACE: 3}
    assert (own / "judgments.jsonl").read_bytes() == at_first


def decide(own, decision):
    (item,) = read_review(own / FILE).values()
    item.decision, item.decided_by = decision, "person anna"
    write_review(own / FILE, {item.id: item})


def test_a_reworded_text_counts_once_a_person_has_said_so(own):
    row, *others = rows(own)
    row |= {"grade": 2, "judged_by": "person ben", "judged_on": "2025-03-04"}
    write_rows(own / "judgments.jsonl", [row, *others])
    write(own, "guide.md", GUIDE.replace("twelve", "fifteen"))
    (waits,) = run(own).waiting
    assert waits[0].query_id == "q1"
    assert gold(own) == [LOAN, HOURS]
    (item,) = read_review(own / FILE).values()
    new = FEE.replace("twelve", "fifteen")
    assert (item.text, item.places[0].text, item.judged_by) == (FEE, new, "person ben")
    decide(own, 1)
    assert run(own).accepted == 1
    assert not (own / FILE).exists()
    assert gold(own) == [new, LOAN, HOURS]
    kept = rows(own)[0]
    assert (kept["grade"], kept["judged_by"], kept["judged_on"]) == (2, "person ben", "2025-03-04")
    assert kept["accepted_by"] == "person anna"
    assert "status" not in kept


def test_a_rejected_text_is_gone_and_is_not_proposed_again(own):
    write(own, "guide.md", GUIDE.replace("twelve", "fifteen"))
    run(own)
    decide(own, 0)
    assert run(own).rejected == 1
    assert run(own).waiting == []
    assert rows(own)[0]["status"] == "gone"


def test_a_decision_waits_no_longer_for_a_text_that_changed_again(own):
    write(own, "guide.md", GUIDE.replace("twelve", "fifteen"))
    run(own)
    decide(own, 1)
    write(own, "guide.md", GUIDE.replace("twelve crowns", "thirteen crowns"))
    report = run(own)
    assert (report.accepted, len(report.waiting)) == (0, 1)
    (item,) = read_review(own / FILE).values()
    assert item.decision is None


def test_judgments_as_they_were_kept_before_are_upgraded(own):
    start = GUIDE.index(LOAN)
    write_rows(
        own / "judgments.jsonl",
        [
            {"query_id": "q3", "path": "room.md"},
            {"query_id": "q2", "path": "guide.md", "start": start, "end": start + len(LOAN)},
            {"query_id": "q1", "path": "guide.md", "section": "Fees", "grade": 2},
        ],
    )
    assert run(own).statuses == {Status.IN_PLACE: 3}
    first, second, third = rows(own)
    assert (first["query_id"], first["section"], first["grade"]) == ("q1", "Fees", 2)
    assert first["selector"][1]["exact"] == f"## Fees\n\n{FEE}"
    assert second["selector"][1]["exact"] == LOAN
    assert third["lines"]
    write(own, "guide.md", None)
    write(own, "other.md", SHIFT + "\n\n" + GUIDE)
    write(own, "room.md", None)
    write(own, "hall.md", ROOM)
    assert run(own).statuses == {Status.ELSEWHERE: 3}
    assert gold(own) == [f"## Fees\n\n{FEE}", LOAN, ROOM]


def test_anchors_that_tables_name_move_too(tmp_path):
    card = {"anchors": "anchors.jsonl", "judgments": {"test": "qrels.tsv"}}
    write_native(tmp_path, {"guide.md": GUIDE}, [{"_id": "q", "text": "cost?"}], [], **card)
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tfee\t2\nq\tloan\t1\n")
    places = {"fee": FEE, "loan": LOAN}
    lines = [
        {"_id": name, "metadata": {"path": "guide.md", "start": start, "end": start + len(text)}}
        for name, text in places.items()
        for start in [GUIDE.index(text)]
    ]
    write_rows(tmp_path / "anchors.jsonl", lines)
    assert run(tmp_path).statuses == {Status.IN_PLACE: 2}
    (tmp_path / "docs/guide.md").write_text(SHIFT + GUIDE.replace(LOAN, ""))
    assert gold(tmp_path) == [FEE]
    assert run(tmp_path).statuses == {Status.MOVED: 1, Status.GONE: 1}
    assert gold(tmp_path) == [FEE]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("conflict", "judgments.jsonl:2: a merge conflict's mark; keep the lines that hold"),
        ("binary", "guide.md:1: not UTF-8"),
        ("folder", "there is no folder|there is no such folder"),
        ("empty", "holds no documents"),
        ("review", "review.jsonl:1: .*delete the file"),
        ("decision", "review.jsonl:1: decision: 2; allowed: 0 to 1; correct the line"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_changes_nothing(own, change, message):
    docs = own.parent.parent / "docs"
    if change == "conflict":
        first, rest = (own / "judgments.jsonl").read_text().split("\n", 1)
        (own / "judgments.jsonl").write_text(f"{first}\n<<<<<<< HEAD\n{rest}")
    elif change == "binary":
        (docs / "guide.md").write_bytes(b"\xff\xfe\x00")
    elif change == "folder":
        docs.rename(docs.with_name("elsewhere"))
    elif change == "empty":
        write(own, "guide.md", None)
        write(own, "room.md", None)
    elif change == "decision":
        write(own, "guide.md", GUIDE.replace("twelve", "fifteen"))
        run(own)
        (own / FILE).write_text(
            (own / FILE).read_text().replace('"decision": null', '"decision": 2')
        )
    else:
        (own / FILE).write_text("{}\n")
    before = {path: path.read_bytes() for path in own.iterdir()}
    with pytest.raises(AssayError, match=message) as caught:
        run(own)
    assert "\n" not in str(caught.value)
    assert {path: path.read_bytes() for path in own.iterdir()} == before


def test_a_sync_that_was_killed_goes_on(own, monkeypatch):
    write(own, "guide.md", SHIFT + GUIDE.replace(LOAN, LOAN.replace("four", "six")))

    def die(*given):
        raise KeyboardInterrupt

    for name in ("write_atomically", "load_card", "seal"):
        with monkeypatch.context() as patch:
            patch.setattr(syncing, name, die)
            with pytest.raises(KeyboardInterrupt):
                run(own)
    left = own / ".judgments.jsonl.4711"  # of a process that was killed while it wrote
    other = own / ".judgments.jsonl.backup"
    left.write_text("{")
    other.write_text("mine")
    run(own)
    assert not left.exists()
    assert other.read_text() == "mine"
    assert check_errors(own) == []
    assert gold(own) == [FEE, HOURS]
    assert len(read_review(own / FILE)) == 1
    assert len(rows(own)) == 3


def check_errors(own):
    return [str(i) for i in check(read_card(own / "dataset.yaml")) if i.severity == "error"]


@pytest.mark.slow
def test_two_syncs_at_once_end_as_one(own):
    write(own, "guide.md", SHIFT + GUIDE)
    command = [sys.executable, "-c", CALL, "dataset", "sync", str(own), "--json"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    found = [json.loads(one.communicate()[0])["judgments"] for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert sorted(item["moved"] for item in found) == [0, 2]
    assert gold(own) == [FEE, LOAN, HOURS]


def test_the_screen_fits_a_terminal(own):
    write(own, "guide.md", SHIFT + GUIDE.replace("twelve", "fifteen"))
    write(own, "new.md", "# New\n\nNobody has judged this text, which is new.\n")
    write(own, "room.md", None)
    done = CliRunner().invoke(assay, ["dataset", "sync", "own"], env={"COLUMNS": "80"})
    lines = done.output.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    for words in ("gone now: q3 (room.md)", "to decide: "):
        assert words in " ".join(lines)


def test_other_formats_are_refused(tmp_path):
    write_beir(tmp_path, {"d": "t"}, {"q": "t"}, {"q": {"d": 1}})
    done = CliRunner().invoke(assay, ["dataset", "sync", str(tmp_path)])
    assert isinstance(done.exception, AssayError)
    assert "only collections of the format native" in str(done.exception)
