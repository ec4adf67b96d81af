"""Folders of files as the commands read them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eval.runs.ingestion import SkippedFile
    from retrievers.documents.folder import Skipped
    from retrievers.settings import Workshop


def make_workshop() -> "Workshop":
    """Return the workshop of a command: the user's cache, progress on the console."""
    from eval.cli.console import ConsoleProgress
    from eval.experiments.locations import threads
    from retrievers.settings import Workshop
    from retrievers.store.cache import Cache, default_root

    return Workshop(Cache(default_root()), ConsoleProgress(), threads())


def describe_skipped(skipped: "Iterable[Skipped | SkippedFile]") -> Iterator[str]:
    """Yield a line for each file that gave no document; those of other formats share one."""
    others: Counter[str] = Counter()
    for item in skipped:
        if item.kind == "other":
            others[PurePosixPath(item.path).suffix.lower() or "without a suffix"] += 1
        else:
            yield f"{item.path}: {item.reason}"
    if others:
        kinds = ", ".join(f"{count} {suffix}" for suffix, count in others.most_common())
        yield f"files of formats that are not read: {kinds}"
