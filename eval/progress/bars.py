"""Progress bars on a terminal. Loads rich: import it only where a bar is drawn."""

import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment

from assay.retrievers.base.printing import replace_controls


class BarConsole(Console):
    """Standard error as bars need it: rich moves the cursor, and no text that it prints can.

    Rich keeps its control codes apart from texts. Once both are written nothing tells them apart,
    so this writes to the stream below `assay.eval.cli.streams.SafeStream`.
    """

    def __init__(self) -> None:
        sys.stderr.flush()
        super().__init__(file=getattr(sys.stderr, "commands", sys.stderr))

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield segments, in whose texts control characters are shown as U+FFFD."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(replace_controls(segment.text), segment.style)


def make_bars() -> Progress:
    """Return bars, not begun, that leave nothing behind."""
    columns = (
        TextColumn("{task.description:<28}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=BarConsole(), transient=True)
