"""What commands show on a terminal of 80 columns, read off its screen."""

import sys

import pytest
from tools.own_cache import make_cache
from tools.processes import ASSAY, ROOT
from tools.terminals import show

BAR = "━"


def show_bars(screen):
    """Return the lines with a bar, of each of which there is at most one at a time."""
    bars = []
    for lines in screen.states:
        found = [line for line in lines if BAR in line]
        assert len(found) <= 1, "\n".join(lines)
        bars += found
    return bars


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("compare", "bm25", "other.yaml", "limit=40", "--no-track"),
            "other against bm25 on harbourline, 40 queries",
        ),
        (("ingest", "harbourline", "--config", "bm25", "--no-track"), "18 documents"),
    ],
)
def test_one_bar_moves_in_place_and_leaves_nothing(arguments, line, places, tmp_path):
    (tmp_path / "other.yaml").write_text(
        "base: bm25\nname: other\nretriever: {legs: {keyword: {k1: 2.0}}}\n"
    )
    alone = places | {"ASSAY_CACHE": str(make_cache(tmp_path))}
    screen = show([str(ASSAY), *arguments], alone, tmp_path)
    assert screen.status == 0, screen.output
    assert "\ufffd" not in screen.output
    bars = show_bars(screen)
    assert len({bar.split(BAR)[0] for bar in bars}) > 1, "of several steps, one after another"
    assert not [bar for bar in bars if bar[0].isspace()]
    assert BAR not in "".join(screen.final)
    assert screen.final[0][0].isalnum()
    assert [shown for shown in screen.final if line in shown]


HOSTILE = "name\r no \x1b[1A\x1b[2Ktext \x9b2J\x1b]0;title\x07end"


def test_texts_move_no_cursor_beside_a_bar(tmp_path):
    script = tmp_path / "hostile.py"
    script.write_text(f"""
import sys
from assay.eval.cli.streams import safe_streams
from assay.eval.progress import ConsoleProgress

hostile = {HOSTILE!r}
with safe_streams():
    progress = ConsoleProgress()
    print("first line", file=sys.stderr)
    for at in progress.track(range(3), hostile, 3):
        progress.say(f"said {{at}} {{hostile}}")
        print(f"printed {{at}} n{{hostile[7:]}}", file=sys.stderr)
    print(f"last line {{hostile}}", file=sys.stderr)
    print(f"output {{hostile}}")
""")
    screen = show([sys.executable, str(script)], {"PYTHONPATH": str(ROOT)}, tmp_path)
    assert screen.status == 0, screen.output
    assert len({bar[:10] for bar in show_bars(screen)}) == 1
    lines = [line for line in screen.final if line]
    assert lines[0] == "first line"
    starts = [line.split(" n")[0] for line in lines[1:]]
    assert starts == [f"{how} {i}" for i in range(3) for how in ("said", "printed")] + [
        "last line",
        "output",
    ]
    assert "\x9b" not in screen.output
    assert "\x1b]" not in screen.output


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "told"), [(b"n\n", "--trust"), (b"y\n", "cannot be reached")])
def test_what_a_foreign_file_asks_for_is_asked_before_it_is_done(
    answer, told, environment, tmp_path
):
    config = tmp_path / "foreign.yaml"
    config.write_text("name: foreign\nretriever: {type: http, url: 'http://127.0.0.1:9/search'}\n")
    (tmp_path / "here").mkdir()
    command = [str(ASSAY), "run", str(config), "latency.queries=0", "--no-track"]
    screen = show(command, environment, tmp_path / "here", answer)
    words = " ".join(screen.output.split())
    assert "asks for: retriever.url: sends texts to 127.0.0.1 Allow it" in words
    assert told in words.partition("Allow it")[2]
    assert screen.status == 2
