"""Files that gave no document, as the commands name them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Protocol


class Skipped(Protocol):
    """A file without a document: `kind` is `other` where its format is not read."""

    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def reason(self) -> str: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102


def describe_skipped(skipped: Iterable[Skipped]) -> Iterator[str]:
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
