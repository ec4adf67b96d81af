"""Words are never cut, however narrow the terminal; in a pipe lines are whole."""

import io
import os
import subprocess
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from tools.processes import ASSAY, ROOT

from assay.eval.cli.output import WholeWordConsole

LONG = "compare-semantic-contextual-hybrid-hybrid_rrf-bm25-harbourline-and-more-of-such-names-yet"


def show(text, width):
    out = io.StringIO()
    console = WholeWordConsole(file=out, width=width, highlight=False)
    console.print(text, markup=False, style="bold")
    return out.getvalue().removesuffix("\n").split("\n")


WORDS = st.lists(st.text("ab-/日é_.", min_size=1, max_size=30), min_size=1)


@example(["see", LONG, "now"], 80)
@given(WORDS, st.integers(5, 90))
def test_a_line_is_broken_between_words_alone(words, width):
    lines = show(" ".join(words), width)
    assert [word for line in lines for word in line.split()] == words
    assert all(cell_len(line) <= width or " " not in line for line in lines)
    for line, after in pairwise(lines):
        assert cell_len(f"{line} {after.split()[0]}") > width, "as much as fits is on a line"


def test_indents_and_blank_lines_stay():
    assert show("one\n\n  two three\n", 80) == ["one", "", "  two three", ""]


def test_a_pipe_has_whole_lines_and_no_colours():
    kept = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    asked = {"FORCE_COLOR": "1", "TTY_COMPATIBLE": "1"}
    plain, other = (
        subprocess.run([ASSAY, "components"], cwd=ROOT, env=env, capture_output=True, check=True)
        for env in (kept, kept | asked)
    )
    assert other.stdout == plain.stdout
    assert b"\x1b" not in plain.stdout
    assert "\ufffd" not in plain.stdout.decode()
    assert max(map(len, plain.stdout.decode().splitlines())) > 80
