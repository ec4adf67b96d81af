"""How long work shows itself: a bar on a terminal, plain lines in a log; on standard error."""

import sys
import time
from collections.abc import Iterable, Iterator

import click

from retrievers.base import T

SECONDS_BETWEEN_LINES = 10.0


class ConsoleProgress:
    """The `Progress` of the command line."""

    def track(self, items: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield `items`; a bar with the time left on a terminal, else a line now and then."""
        if not total:
            return
        yield from (self._bar if sys.stderr.isatty() else self._lines)(items, what, total)

    def say(self, line: str) -> None:
        """Print one line on standard error."""
        click.echo(line, err=True)

    def _bar(self, items: Iterable[T], what: str, total: int) -> Iterator[T]:
        from rich.console import Console
        from rich.progress import track

        console = Console(stderr=True)
        yield from track(items, f"{what:<28}", total, console=console, transient=True)

    def _lines(self, items: Iterable[T], what: str, total: int) -> Iterator[T]:
        begin = last = time.monotonic()
        for number, item in enumerate(items, start=1):
            yield item
            now = time.monotonic()
            if now - last >= SECONDS_BETWEEN_LINES:
                last = now
                self.say(f"{what}: {number} of {total}, {now - begin:.0f} s")


def print_json(value: object) -> None:
    """Print one JSON object on standard output."""
    import json

    click.echo(json.dumps(value, ensure_ascii=False, indent=1))
