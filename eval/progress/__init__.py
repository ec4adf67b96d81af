"""Progress of long work on standard error: a bar on a terminal, plain lines in a log."""

import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import chain
from textwrap import wrap
from typing import TYPE_CHECKING

from assay.retrievers.base import T
from assay.retrievers.base.printing import replace_controls

if TYPE_CHECKING:
    from rich.progress import Progress

SECONDS_BETWEEN_LINES = 10.0


def break_line(line: str) -> str:
    """Return a line for standard error, broken between words on a terminal, unbroken in a log."""
    if not sys.stderr.isatty():
        return line
    columns = shutil.get_terminal_size().columns
    parts = (
        wrap(part, columns, break_long_words=False, break_on_hyphens=False) or [part]
        for part in line.split("\n")
    )
    return "\n".join(chain.from_iterable(parts))


class ConsoleProgress:
    """The `Progress` of the command line. Nested work is shown below the outer one."""

    def __init__(self) -> None:
        self._live: Progress | None = None

    def track(self, items: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield `items`; a bar with the time left on a terminal, else a line now and then."""
        if not total:
            return
        # While bars are shown rich stands in for standard error, and not always for a terminal.
        live = self._live is not None or sys.stderr.isatty()
        yield from (self._bar if live else self._lines)(items, what, total)

    def say(self, line: str) -> None:
        """Print one line on standard error, above the bars if there are any."""
        line = break_line(line)
        if self._live is None:
            print(line, file=sys.stderr)
        else:
            self._live.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _bar(self, items: Iterable[T], what: str, total: int) -> Iterator[T]:
        if self._live is not None:
            yield from _follow(self._live, items, what, total)
            return
        from assay.eval.progress.bars import make_bars

        with make_bars() as self._live:
            try:
                yield from _follow(self._live, items, what, total)
            finally:
                self._live = None

    def _lines(self, items: Iterable[T], what: str, total: int) -> Iterator[T]:
        begin = last = first = time.monotonic()
        for number, item in enumerate(items, start=1):
            yield item
            now = time.monotonic()
            if number == 1:
                first = now
            if now - last >= SECONDS_BETWEEN_LINES and number < total:
                last = now
                # Until the first, models load and workers start. What comes in batches comes with
                # its first when all of it is done: a pace is counted from first to first.
                pace = (now - first) / (number - 1) if number > 1 else None
                left = "" if pace is None else f", about {pace * (total - number):.0f} left"
                self.say(f"{what}: {number} of {total}, {now - begin:.0f} s{left}")


def _follow(live: "Progress", items: Iterable[T], what: str, total: int) -> Iterator[T]:
    task = live.add_task(replace_controls(what), total=total)
    try:
        yield from live.track(items, task_id=task, total=total)
    finally:
        live.remove_task(task)
