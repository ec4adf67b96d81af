"""What documents, queries and file names cannot do to a terminal or to a runner of GitHub's."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.cli.streams import SafeStream
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
def test_what_is_printed(text: str, shown: str) -> None:
    assert neutralise(text) == shown


def test_on_a_terminal_colours_stay_and_nothing_else() -> None:
    assert neutralise("\x1b[1;31mx\x1b[2J\x1b[0m", COLOUR) == "\x1b[1;31mx\ufffd[2J\x1b[0m"


@given(st.lists(st.text(alphabet="a:# \n\r\x1b[", max_size=6)))
def test_no_line_in_parts_becomes_a_command(parts: list[str]) -> None:
    below = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    stream = SafeStream(below)
    for part in parts:
        assert stream.write(part) == len(part)
    stream.flush()
    lines = stream.buffer.getvalue().decode().split("\n")  # type: ignore[attr-defined]
    stream.detach()
    assert not [line for line in lines if line.lstrip().startswith("::") or "\x1b" in line]


def test_ascii_output_shows_what_it_lacks_as_question_marks(tmp_path: Path) -> None:
    code = "from assay.eval.cli.main import main; main(['dataset', 'show', 'nö::é\\x1b[2J'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"assay: n?::?: there is no such collection")


def test_markdown_holds_neither() -> None:
    assert plain("\x1b[31m::error::x") == "\ufffd\\[31m::error::x"
    assert plain("::error::x") == ": :error::x"
    assert fenced("one\n::error::x\x00") == "```\none\n: :error::x\ufffd\n```"
