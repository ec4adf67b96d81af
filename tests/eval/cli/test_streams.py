"""What documents, queries and file names cannot do to a terminal or to a runner of GitHub's."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.processes import ASSAY

from assay.eval.cli.streams import SafeStream, safe_streams
from assay.eval.report.markdown import fenced, plain
from assay.retrievers.base.printing import COLOUR, neutralise

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error title=x::y", ": :error title=x::y"),
        ("one\n  ::stop-commands::x\n", "one\n  : :stop-commands::x\n"),
        ("a::b std::vector", "a::b std::vector"),
        ("x ##[error]y", "x ## [error]y"),
        ("\x1b]0;title\x07", "\ufffd]0;title\ufffd"),
        ("\x1b[31mred\x1b[0m", "\ufffd[31mred\ufffd[0m"),
        ("a\rb\r\n", "a\ufffdb\r\n"),
        ("right\u202eleft", "right\ufffdleft"),
        ("tab\tand line\nstay é", "tab\tand line\nstay é"),
    ],
)
def test_what_is_printed(text, shown):
    assert neutralise(text) == shown


def test_a_terminal_gets_colours_a_file_does_not_and_what_an_encoding_lacks_is_a_question():
    red = "\x1b[31mred"
    assert write(Below(terminal=True), [red]) == red.encode()
    assert write(Below(), [red]) == "\ufffd[31mred".encode()
    assert write(Below("latin-1"), ["1 €"]) == b"1 ?"
    assert neutralise("\x1b[1;31mx\x1b[2J\x1b[0m", COLOUR) == "\x1b[1;31mx\ufffd[2J\x1b[0m"


class Below(io.TextIOWrapper):
    """A stream of a process that shows what arrived; `terminal` says whether it is one."""

    def __init__(self, encoding="utf-8", terminal=False):
        self.arrived = io.BytesIO()
        self.terminal = terminal
        super().__init__(self.arrived, encoding, newline="")

    def isatty(self):
        return self.terminal


def write(below, parts):
    stream = SafeStream(below)
    assert stream.commands is below
    for part in parts:
        assert stream.write(part) == len(part)
    stream.flush()
    stream.detach()
    return below.arrived.getvalue()


@given(st.lists(st.text(alphabet="a:# \n\r\x1b[", max_size=6)))
def test_no_line_in_parts_becomes_a_command(parts):
    lines = write(Below(), parts).decode().split("\n")
    assert not [line for line in lines if line.lstrip().startswith("::") or "\x1b" in line]


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ([":", ":error"], ": :error"),
        (["x:", ":y"], "x::y"),
        ([":", "y:"], ":y:"),
        (["x", "::y"], "x::y"),
        (["x", ":", ":y"], "x::y"),
        (["x", "y\n::z"], "xy\n: :z"),
        (["x\ny", "::z"], "x\ny::z"),
        (["x\n", "::z"], "x\n: :z"),
        (["x\n", " ", "::z"], "x\n : :z"),
        (["x" * 79 + "##", "[z"], "x" * 79 + "## [z"),
        (["x##", "z"], "x##z"),
        (["x#", "[z"], "x#[z"),
    ],
)
def test_a_line_in_parts_is_one_line(parts, shown):
    assert write(Below(), parts) == shown.encode()


def test_what_is_printed_stays_in_order_and_a_line_is_there_at_once(monkeypatch):
    below = Below()
    monkeypatch.setattr(sys, "stdout", below)
    monkeypatch.setattr(sys, "stderr", None)
    print("before")
    with safe_streams():
        print("a line")
        assert below.arrived.getvalue() == b"before\na line\n"
        print("begun", end=" \x07")
    print("after", flush=True)
    assert below.arrived.getvalue() == "before\na line\nbegun \ufffdafter\n".encode()


def test_ascii_output_shows_what_it_lacks_as_question_marks(tmp_path):
    code = "from assay.eval.cli.main import main; main(['dataset', 'show', 'nö::é\\x1b[2J'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"assay: n?::?: there is no such collection")


def test_markdown_holds_neither():
    assert plain("\x1b[31m::error::x") == "\ufffd\\[31m::error::x"
    assert plain("::error::x") == ": :error::x"
    assert fenced("one\n::error::x\x00") == "```\none\n: :error::x\ufffd\n```"


@pytest.mark.parametrize(("worse", "status"), [(False, 0), (True, 1)])
def test_a_reader_that_goes_away_changes_no_verdict(tmp_path, worse, status):
    """`assay gate … | head -1` ends with the exit code of the gate."""
    for name, order in (("base", range(20)), ("head", range(20)[:: -1 if worse else 1])):
        rows = [(query, rank, hit) for query in range(40) for rank, hit in enumerate(order, 1)]
        (tmp_path / name).write_text(
            "".join(f"q{query} Q0 {query}-{hit} {rank} {-rank} t\n" for query, rank, hit in rows)
        )
    (tmp_path / "qrels").write_text("".join(f"q{query} 0 {query}-0 1\n" for query in range(40)))
    words = "gate", "head", "--baseline", "base", "--qrels", "qrels"
    called = subprocess.Popen(
        [ASSAY, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    called.stdout.close()
    assert (called.wait(), called.stderr.read()) == (status, b"")
