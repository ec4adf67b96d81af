"""The page to judge on without its browser: who is let in, what is kept, what is exported."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from test_labelling import GUIDE, call, pair, spot, tiny, write_table  # noqa: F401

from eval.collections import check, load
from eval.collections.authoring import worksheet
from eval.collections.catalog import find_card
from eval.judging.desk import Desk
from eval.judging.export import find_grade_file
from eval.judging.grades import SCHEMA, GradeFile
from eval.judging.server import JudgingServer
from eval.judging.sheet import Sheet, make_sheet
from eval.statistics.agreement import measure_agreement
from retrievers.base import AssayError

ROOT = Path(__file__).parents[2]
APT, TEN, BOTH = (
    pair("q", "Use apt."),
    pair("r", "=Ten a day."),
    pair("r", "Install it.\n\nUse apt."),
)


@pytest.fixture
def table(tiny: Path, tmp_path: Path) -> Path:  # noqa: F811
    return write_table(tmp_path / "pool.csv", {APT: "", TEN: "", BOTH: ""})


@pytest.fixture
def grades(table: Path) -> Iterator[GradeFile]:
    file = GradeFile(find_grade_file(table))
    yield file
    file.close()


@pytest.fixture
def sheet(table: Path) -> Sheet:
    return make_sheet(worksheet.read(table), load("tiny"), None)


# Agreement


def test_kappa_of_a_known_table() -> None:
    """Counts 20, 5, 10, 15: κ = (0.7 − 0.5) / (1 − 0.5); of two grades both κ are one."""
    found = measure_agreement([(0, 0)] * 20 + [(0, 1)] * 5 + [(1, 0)] * 10 + [(1, 1)] * 15)
    assert (found.n, found.same) == (50, 0.7)
    assert found.kappa == pytest.approx(0.4)
    assert found.weighted == pytest.approx(0.4)


def test_weighted_kappa_forgives_near_grades() -> None:
    """By hand: squares 1 + 1 + 9 observed; by chance (0+1+4+9 + 1+0+1+4 + …) / 4."""
    found = measure_agreement([(0, 1), (1, 0), (2, 2), (3, 3)])
    assert found.kappa == pytest.approx(1 - 4 * 2 / 12)
    assert found.weighted == pytest.approx(1 - 4 * 2 / 40)


def test_agreement_without_a_choice_has_no_kappa() -> None:
    found = measure_agreement([(1, 1), (1, 1)])
    assert (found.same, found.kappa, found.weighted) == (1, None, None)


# The order and what is shown


def test_the_order_is_of_the_judge_and_holds_queries_together(sheet: Sheet) -> None:
    orders = {tuple(sheet.order(judge, seed)) for judge in ("anna", "bo") for seed in range(9)}
    assert len(orders) > 1
    assert sheet.order("anna", 3) == sheet.order("anna", 3)
    for order in orders:
        assert sorted(order) == sorted(sheet.by_digest)
        asked = [sheet.by_digest[id_].query_id for id_ in order]
        assert asked in (["q", "r", "r"], ["r", "r", "q"])


def test_nothing_but_the_pair_is_shown(sheet: Sheet) -> None:
    assert sheet.show(APT) == {
        "id": APT.digest, "query": "how to install", "document": "guide.md", "title": "",
        "before": GUIDE[: APT.start], "text": "Use apt.", "after": GUIDE[APT.end :],
    }  # fmt: skip


def test_a_table_that_does_not_fit_is_refused(table: Path) -> None:
    write_table(table, {APT: "", TEN: ""}, text="x", start="1")
    with pytest.raises(AssayError, match=r"pool.csv:2: .* pool again"):
        make_sheet(worksheet.read(table), load("tiny"), None)


@pytest.mark.parametrize(
    "given",
    [
        {"pair": "sha256:0", "grade": 1},
        {"pair": ["x"], "grade": 1},
        {"pair": APT.digest, "grade": 4},
        {"pair": APT.digest, "grade": True},
        {"pair": APT.digest, "grade": "1"},
        {"pair": APT.digest, "grade": 1, "span": [0, 99]},
        {"pair": APT.digest, "grade": 1, "span": [3, 4]},
        {"pair": APT.digest, "grade": 1, "span": "0"},
        {"pair": APT.digest, "grade": 1, "settles": True},
    ],
)
def test_what_the_page_never_sends_is_refused(
    sheet: Sheet, grades: GradeFile, given: dict[str, Any]
) -> None:
    with pytest.raises(AssayError):
        Desk(sheet, grades, "anna", 0).grade(given)
    assert not grades.read_grades()


def test_a_judge_is_told_of_another_only_after_judging(sheet: Sheet, grades: GradeFile) -> None:
    desk = Desk(sheet, grades, "anna", 0)
    grades.add(APT.digest, "bo", 3)
    assert desk.agreement() == {"judges": [], "disagreements": []}
    assert desk.pair(APT.digest)["grade"] is None
    desk.grade({"pair": APT.digest, "grade": 1})
    (open_,) = desk.agreement()["disagreements"]
    assert open_["grades"] == {"anna": 1, "bo": 3}
    desk.grade({"pair": APT.digest, "grade": 2, "settles": True})
    assert desk.agreement()["disagreements"][0]["settled"] == 2
    grades.add(APT.digest, "bo", 0)
    assert desk.agreement()["disagreements"][0]["settled"] is None, "graded anew since"


def test_a_note_that_no_file_can_hold_is_refused(sheet: Sheet, grades: GradeFile) -> None:
    with pytest.raises(AssayError, match="surrogate"):
        Desk(sheet, grades, "anna", 0).note({"pair": APT.digest, "note": "a \ud83d"})
    assert not grades.read_notes()


# Who is let in


@pytest.fixture
def server(sheet: Sheet, grades: GradeFile) -> Iterator[JudgingServer]:
    with JudgingServer(Desk(sheet, grades, "anna", 0), 0) as started:
        threading.Thread(target=started.serve_forever, args=(0.01,), daemon=True).start()
        yield started
        started.shutdown()


def request(
    server: JudgingServer, path: str, body: bytes | None = None, **headers: str | None
) -> tuple[int, dict[str, str], bytes]:
    """Send what the page would; a header of None is left out."""
    home = f"127.0.0.1:{server.server_port}"
    sent: dict[str, str | None] = {"Host": home, "Cookie": f"{server.cookie}={server.token}"}
    if body is not None:
        sent |= {"Origin": f"http://{home}", "Content-Type": "application/json"}
        sent |= {"Content-Length": str(len(body))}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=5)
    connection.putrequest("GET" if body is None else "POST", path, skip_host=True)
    for name, value in sent.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), content


GRADE = json.dumps({"pair": APT.digest, "grade": 1}).encode()


def test_the_first_address_gives_a_cookie_and_a_strict_page(server: JudgingServer) -> None:
    status, headers, page = request(server, f"/?token={server.token}", Cookie=None)
    assert status == 200
    assert headers["Set-Cookie"].endswith("; Path=/; HttpOnly; SameSite=Strict")
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    policy = re.search(r'Content-Security-Policy" content="([^"]+)', page.decode())
    assert policy
    assert policy[1].startswith("default-src &#39;none&#39;; ")
    assert "unsafe" not in policy[1]
    assert server.token not in page.decode()


@pytest.mark.parametrize(
    ("path", "body", "headers", "expected"),
    [
        ("/state", None, {}, 200),
        ("/grade", GRADE, {}, 200),
        ("/", None, {"Cookie": None}, 403),
        ("/?token=x", None, {"Cookie": None}, 403),
        ("/?token=%F0%9F%8C%91", None, {"Cookie": None}, 403),
        ("/state", None, {"Cookie": None}, 403),
        ("/state", None, {"Host": "evil.example"}, 403),
        ("/state", None, {"Host": None}, 403),
        ("/grade", GRADE, {"Cookie": None}, 403),
        ("/grade", GRADE, {"Origin": None}, 403),
        ("/grade", GRADE, {"Origin": "http://127.0.0.1:1"}, 403),
        ("/grade", GRADE, {"Origin": "null"}, 403),
        ("/grade", GRADE, {"Content_Type": "text/plain"}, 415),
        ("/grade", b"x", {"Content_Length": "99999999"}, 413),
        ("/grade", b"x", {"Content_Length": "9" * 5000}, 413),
        ("/grade", b"x", {"Content_Length": None}, 411),
        ("/grade", b"[" * 60_000, {}, 400),
        ("/grade", b"[]", {}, 400),
        ("/grade", b"\xff", {}, 400),
        ("/grade", b"{}", {}, 400),
        ("/pair?id=x", None, {}, 400),
        ("http://[x", None, {}, 400),
        ("/../etc/passwd", None, {}, 404),
        ("/state", b"{}", {}, 404),
    ],
)
def test_who_is_let_in(
    server: JudgingServer,
    grades: GradeFile,
    path: str,
    body: bytes | None,
    headers: dict[str, str | None],
    expected: int,
) -> None:
    status, _, content = request(server, path, body, **headers)
    assert status == expected, content
    assert bool(grades.read_grades()) == (expected == 200 and body is not None)


def test_an_odd_cookie_of_another_server_locks_nobody_out(server: JudgingServer) -> None:
    ours = f"{server.cookie}={server.token}"
    for cookie in (f'theirs=["a"]; {ours}', f'{ours}; theirs=["a"]', f"odd;=;{ours};"):
        assert request(server, "/state", Cookie=cookie)[0] == 200, cookie


def test_a_browser_that_leaves_prints_nothing(
    server: JudgingServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = threading.Event()
    monkeypatch.setattr(server, "shutdown_request", lambda _: ended.set())
    with socket.create_connection(("127.0.0.1", server.server_port)) as browser:
        browser.sendall(b"GET /state")
        browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert ended.wait(5)
    assert capsys.readouterr().err == ""
    try:
        raise ValueError("a defect")
    except ValueError:
        server.handle_error(None, ("127.0.0.1", 1))
    assert "a defect" in capsys.readouterr().err


def test_a_port_that_is_taken_is_named(server: JudgingServer) -> None:
    with pytest.raises(AssayError, match=f"--port {server.server_port}: "):
        JudgingServer(server.desk, server.server_port)


# What is kept


def test_another_file_is_not_taken_for_grades(tmp_path: Path) -> None:
    other = tmp_path / "pool.csv.grades.db"
    other.write_text("no database, but long enough to be read as one " * 9)
    with pytest.raises(AssayError, match="cannot be used as a file of grades"):
        GradeFile(other)


def test_another_database_is_not_taken_for_grades(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "pool.csv.grades.db", isolation_level=None)
    other.execute("CREATE TABLE theirs (a)")
    with pytest.raises(AssayError, match="is no file of grades"):
        GradeFile(tmp_path / "pool.csv.grades.db")
    assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    other.execute("INSERT INTO theirs VALUES (1)")  # nothing is locked
    other.close()


def test_judges_may_start_together_on_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv.grades.db"
    first = sqlite3.connect(path, isolation_level=None)
    first.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA:
        first.execute(statement)
    with ThreadPoolExecutor() as pool:
        second = pool.submit(GradeFile, path)
        time.sleep(0.2)  # it meets a file that is half made
        first.execute("COMMIT")
        first.close()
        file = second.result()
    file.add(APT.digest, "anna", 1)
    file.close()


def test_the_file_alone_holds_all_grades_while_the_page_is_open(
    grades: GradeFile, tmp_path: Path
) -> None:
    for grade in range(4):
        grades.add(APT.digest, "anna", grade)
    shutil.copy(grades.path, tmp_path / "copy.db")
    copied = GradeFile(tmp_path / "copy.db")
    assert copied.read_grades() == grades.read_grades() != {}
    copied.close()


def test_a_killed_server_loses_nothing_acknowledged(table: Path) -> None:
    code = "from eval.cli.main import main; main()"
    arguments = ["label", str(table), "--serve", "--judge", "anna", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    lines = []
    while not lines or lines[-1] != "}\n":
        lines.append(process.stdout.readline())
    address = json.loads("".join(lines))["address"]
    host, token = re.fullmatch(r"http://([^/]+)/\?token=(.+)", address).groups()  # type: ignore[union-attr]
    cookie = f"assay_label_{host.rpartition(':')[2]}={token}"
    headers = {"Cookie": cookie, "Origin": f"http://{host}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(host, timeout=10)
    for number in range(20):
        given = {"pair": (APT, TEN)[number % 2].digest, "grade": number % 4}
        connection.request("POST", "/grade", json.dumps(given), headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    file = GradeFile(find_grade_file(table))
    kept = {id_: by["anna"].grade for id_, by in file.read_grades().items()}
    assert kept == {APT.digest: 2, TEN.digest: 3}
    assert max(by["anna"].number for by in file.read_grades().values()) == 20
    file.close()


# What is exported


def test_grades_of_the_page_join_the_collection_with_who_gave_them(
    tiny: Path,  # noqa: F811
    table: Path,
    grades: GradeFile,
) -> None:
    start, end = spot("Use apt.")
    grades.add(APT.digest, "anna", 2)
    grades.add(APT.digest, "bo", 2)
    grades.add(TEN.digest, "anna", 3)
    grades.add(TEN.digest, "bo", 0)
    grades.add(BOTH.digest, "anna", 1, (start, end))
    grades.note(BOTH.digest, "anna", "only Debian")
    result = call(table)
    assert result.exit_code == 0, result.output
    assert "grades of the page: anna 3, bo 2; not settled: 1" in result.output
    assert "2 judgments added to tiny" in result.output
    rows = [json.loads(line) for line in (tiny / "judgments.jsonl").read_text().splitlines()][2:]
    day = rows[0].pop("judged_on")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day)
    place = {"path": "guide.md", "start": start, "end": end, "text": "Use apt."}
    assert rows == [
        {"query_id": "q", **place, "grade": 2, "judged_by": "person anna, person bo"},
        {
            "query_id": "r", **place, "grade": 1, "comment": "only Debian",
            "judged_by": "person anna", "judged_on": day,
        },
    ]  # fmt: skip
    assert not check(find_card("tiny")), "the card is sealed"
    grades.add(TEN.digest, "bo", 1, settles=True)
    assert "1 judgments added" in call(table).output
    settled = json.loads((tiny / "judgments.jsonl").read_text().splitlines()[-1])
    assert settled["grade"] == 1
    assert settled["judged_by"] == "person anna, person bo; settled by person bo"


def test_a_settlement_ends_with_its_disagreement(
    tiny: Path,  # noqa: F811
    table: Path,
    grades: GradeFile,
) -> None:
    grades.add(APT.digest, "anna", 2)
    grades.add(APT.digest, "bo", 0)
    grades.add(APT.digest, "anna", 1, settles=True)
    assert grades.undo("bo") == APT.digest
    assert call(table).exit_code == 0
    row = json.loads((tiny / "judgments.jsonl").read_text().splitlines()[-1])
    assert (row["grade"], row["judged_by"]) == (2, "person anna")


def test_a_comment_in_the_table_stays_beside_the_notes(
    tiny: Path,  # noqa: F811
    table: Path,
    grades: GradeFile,
) -> None:
    write_table(table, {APT: ""}, comment="see the card")
    grades.add(APT.digest, "anna", 2)
    assert call(table, "--output", str(tiny.parent / "first")).exit_code == 0
    grades.note(APT.digest, "anna", "only Debian")
    assert call(table).exit_code == 0
    first, second = (
        json.loads((folder / "judgments.jsonl").read_text().splitlines()[-1])["comment"]
        for folder in (tiny.parent / "first", tiny)
    )
    assert (first, second) == ("see the card", "see the card; only Debian")


def test_a_short_row_beside_grades_of_the_page(table: Path, grades: GradeFile) -> None:
    grades.add(APT.digest, "anna", 2)
    lines = table.read_text("utf-8-sig").splitlines()
    table.write_text("\n".join([*lines, "r"]))
    result = call(table)
    assert result.exit_code == 0, result.output
    assert "rows without a grade: 3" in result.output


def test_what_has_joined_the_collection_is_not_changed(
    tiny: Path,  # noqa: F811
    table: Path,
    grades: GradeFile,
) -> None:
    grades.add(BOTH.digest, "anna", 1)
    assert "1 judgments added" in call(table).output
    grades.add(BOTH.digest, "anna", 1, spot("Use apt."))
    assert "1 judgments added" in call(table).output
    before = (tiny / "judgments.jsonl").read_bytes()
    grades.add(BOTH.digest, "anna", 0)
    grades.add(TEN.digest, "anna", 1)
    result = call(table)
    assert result.exit_code == 2
    assert "one text must have one grade" in result.output
    assert (tiny / "judgments.jsonl").read_bytes() == before


def test_a_row_changed_since_it_was_judged_is_refused(
    tiny: Path,  # noqa: F811
    table: Path,
    grades: GradeFile,
) -> None:
    grades.add(BOTH.digest, "anna", 1, spot("Use apt."))
    before = (tiny / "judgments.jsonl").read_bytes()
    write_table(table, {BOTH: "", APT: ""}, query_id="q")
    result = call(table)
    assert result.exit_code == 2
    assert "pool again" in result.output
    assert (tiny / "judgments.jsonl").read_bytes() == before


@pytest.mark.parametrize("arguments", [(), ("--judge", ""), ("--judge", "a, b"), ("--judge", " a")])
def test_a_judge_has_a_name(table: Path, arguments: tuple[str, ...]) -> None:
    result = call(table, "--serve", *arguments)
    assert isinstance(result.exception, AssayError)
    assert "--judge NAME" in str(result.exception)
