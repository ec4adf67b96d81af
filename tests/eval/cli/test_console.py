"""How long work shows itself."""

import io
import sys

import pytest

from assay.eval import progress as console
from assay.eval.progress import ConsoleProgress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def nest(progress):
    """Track work within work, with a word said in the middle."""
    seen = []
    for one in progress.track(range(2), "outer", 2):
        for other in progress.track(range(3), "inner", 3):
            seen.append((one, other))
            progress.say(f"at {one} and [{other}]")
    return seen


ALL = [(one, other) for one in range(2) for other in range(3)]


def test_work_within_work_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    progress = ConsoleProgress()
    assert nest(progress) == ALL
    shown = terminal.getvalue()
    assert "outer" in shown
    assert "inner" in shown
    assert "at 1 and [2]" in shown
    assert nest(progress) == ALL  # the bars are gone and may begin anew


def test_a_broken_off_bar_leaves_nothing_behind(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    progress = ConsoleProgress()

    def break_off():
        for _ in progress.track(range(3), "outer", 3):
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        break_off()
    assert nest(progress) == ALL


def test_lines_tell_what_is_done_and_left(monkeypatch, capsys):
    clock = iter(range(0, 1000, 20))
    monkeypatch.setattr(console.time, "monotonic", lambda: float(next(clock)))
    list(ConsoleProgress().track("abcd", "points", 4))
    assert capsys.readouterr().err.splitlines() == [
        "points: 1 of 4, 20 s",
        "points: 2 of 4, 40 s, about 40 left",
        "points: 3 of 4, 60 s, about 20 left",
    ]


def test_what_starts_late_and_comes_in_batches_is_not_taken_for_slow(monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(console.time, "monotonic", lambda: now)

    def work():
        """Yield four batches of ten, after a start of a minute 20 seconds each."""
        nonlocal now
        now += 60.0
        for i in range(40):
            now += 0.0 if i % 10 else 20.0
            yield i

    list(ConsoleProgress().track(work(), "points", 40))
    assert capsys.readouterr().err.splitlines() == [
        "points: 1 of 40, 80 s",
        "points: 11 of 40, 100 s, about 58 left",  # 40: a batch, of which one is known, too many
        "points: 21 of 40, 120 s, about 38 left",
        "points: 31 of 40, 140 s, about 18 left",
    ]
