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
    """Standard error for bars: rich may move the cursor, but no text that it prints may.

    Rich keeps its control codes separate from texts. Once written they cannot be distinguished,
    so this writes to the stream below `assay.eval.cli.streams.SafeStream`.
    """

    def __init__(self) -> None:
        sys.stderr.flush()
        super().__init__(file=getattr(sys.stderr, "commands", sys.stderr))

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield segments, with control characters in their texts shown as U+FFFD."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(replace_controls(segment.text), segment.style)


def make_bars() -> Progress:
    """Return bars, not started, that are erased at the end."""
    columns = (
        TextColumn("{task.description:<28}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=BarConsole(), transient=True)
