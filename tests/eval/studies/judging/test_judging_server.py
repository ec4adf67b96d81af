"""The page to judge on without its browser: who is let in, and that a kill loses nothing."""

import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading

import pytest
from samples.judged_guide import APT, TEN, call
from tools.processes import ROOT

from assay.eval.studies.judging.annotation_session import AnnotationSession
from assay.eval.studies.judging.export import find_grade_file
from assay.eval.studies.judging.grades import GradeFile
from assay.eval.studies.judging.server import JudgingServer
from assay.retrievers.base import AssayError


@pytest.fixture
def server(sheet, grades):
    with JudgingServer(AnnotationSession(sheet, grades, "anna", 0), 0) as started:
        threading.Thread(target=started.serve_forever, args=(0.01,), daemon=True).start()
        yield started
        started.shutdown()


def request(server, path, body=None, **headers):
    """Send what the page would; a header of None is left out."""
    home = f"127.0.0.1:{server.server_port}"
    sent = {"Host": home, "Cookie": f"{server.cookie}={server.token}"}
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


KEPT_APART = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
REASONS = {
    400: "this is no address|a JSON object must be sent|there is no such pair",
    403: (
        "this page is of this machine alone|open the address that `assay label --serve` printed"
        "|only the page itself may write"
    ),
    404: "there is no such page|there is nothing to write to here",
    411: "the length must be said",
    413: "at most 65536 bytes",
    415: "only JSON is taken",
}
GRADE = json.dumps({"pair": APT.digest, "grade": 1}).encode()


def test_the_first_address_gives_a_cookie_and_a_strict_page(server):
    status, headers, page = request(server, f"/?token={server.token}", Cookie=None)
    assert status == 200
    assert headers["Set-Cookie"].endswith("; Path=/; HttpOnly; SameSite=Strict")
    assert headers.items() >= {**KEPT_APART, "Content-Type": "text/html; charset=utf-8"}.items()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)', page.decode())
    assert policy[1].startswith("default-src &#39;none&#39;; ")
    assert "unsafe" not in policy[1]
    assert server.token not in page.decode()
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert server.address.startswith("http://127.0.0.1:")
    assert len(server.token) == 32, "of 24 bytes by chance"


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
        ("/grade", b"[" * 65_536, {}, 400),
        ("/grade", b"[" * 65_537, {}, 413),
        ("/grade", b"[]", {}, 400),
        ("/grade", b"\xff", {}, 400),
        ("/grade", b"{}", {}, 400),
        ("/pair?id=x", None, {}, 400),
        ("http://[x", None, {}, 400),
        ("/../etc/passwd", None, {}, 404),
        ("/state", b"{}", {}, 404),
    ],
)
def test_who_is_let_in(server, grades, path, body, headers, expected):
    status, got, content = request(server, path, body, **headers)
    assert status == expected, content
    json_kept_apart = {**KEPT_APART, "Content-Type": "application/json; charset=utf-8"}
    assert got.items() >= json_kept_apart.items()
    assert got.get("Connection") == (None if expected == 200 else "close")
    assert expected == 200 or re.fullmatch(REASONS[expected], json.loads(content)["error"])
    assert bool(grades.read_grades()) == (expected == 200 and body is not None)


@pytest.mark.parametrize("asked", ["GET /state", "GET /?token=x", "POST /grade"])
def test_a_refusal_is_all_that_is_sent(server, grades, asked):
    host = f"127.0.0.1:{server.server_port}"
    lines = [f"{asked} HTTP/1.1", f"Host: {host}", f"Origin: http://{host}"]
    lines += ["Content-Type: application/json", f"Content-Length: {len(GRADE)}", "", ""]
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=5) as connection:
        connection.sendall("\r\n".join(lines).encode() + GRADE)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as answers:
            sent = answers.read()
    assert sent.startswith(b"HTTP/1.1 403 ")
    assert sent.count(b"HTTP/1.1") == 1
    assert not grades.read_grades()


def test_this_machine_has_two_names_a_connection_serves_many_and_none_for_long(server, grades):
    home = f"localhost:{server.server_port}"
    assert request(server, "/grade", GRADE, Host=home, Origin=f"http://{home}")[0] == 200
    assert grades.read_grades()
    cookie = {"Cookie": f"{server.cookie}={server.token}"}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=5)
    for _ in range(2):
        connection.request("GET", "/state", headers=cookie)
        assert connection.getresponse().read()
        assert connection.sock, "it stays open"
    connection.request("GET", "/none", headers=cookie)
    assert connection.getresponse().status == 404
    assert not connection.sock, "what was sent may stand unread"
    timeout = server.RequestHandlerClass.timeout  # type: ignore[attr-defined]
    assert 0 < timeout <= 60


def test_an_odd_cookie_of_another_server_locks_nobody_out(server):
    ours = f"{server.cookie}={server.token}"
    for cookie in (f'theirs=["a"]; {ours}', f'{ours}; theirs=["a"]', f"odd;=;{ours};"):
        assert request(server, "/state", Cookie=cookie)[0] == 200, cookie


def test_a_browser_that_leaves_prints_nothing(server, monkeypatch, capsys):
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


def test_a_port_that_is_taken_is_named(server):
    with pytest.raises(AssayError) as caught:
        JudgingServer(server.session, server.server_port)
    told = f"--port {server.server_port}: Address already in use; name another that is free"
    assert str(caught.value).startswith(told)


def test_a_killed_server_loses_nothing_acknowledged(table):
    code = "from assay.eval.cli.main import main; main()"
    arguments = ["label", str(table), "--serve", "--judge", "anna", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
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


@pytest.mark.parametrize("arguments", [(), ("--judge", ""), ("--judge", "a, b"), ("--judge", " a")])
def test_a_judge_has_a_name(table, arguments):
    result = call(table, "--serve", *arguments)
    assert isinstance(result.exception, AssayError)
    assert "--judge NAME" in str(result.exception)
