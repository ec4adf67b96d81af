"""The tokens of chunks as bars and as lines of text."""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.eval.runs.token_counts import Bin, TokenCounts

LONGEST = 40  # characters of a bar


@dataclass(frozen=True)
class BinRow:
    """A bar: its range, its chunks, and their percentage of the longest bar."""

    label: str
    chunks: int
    share: float


def bin_rows(bins: tuple[Bin, ...]) -> tuple[BinRow, ...]:
    """Return a bar for each bin."""
    longest = max(item.chunks for item in bins) or 1
    return tuple(
        BinRow(item.label, item.chunks, round(100 * item.chunks / longest, 2)) for item in bins
    )


def draw_bars(rows: tuple[BinRow, ...]) -> Iterator[str]:
    """Yield a line for each bar, for terminals and Markdown."""
    width = max(len(row.label) for row in rows)
    for row in rows:
        bar = "█" * round(LONGEST * row.share / 100)
        yield " ".join(filter(None, (f"{row.label:>{width}}", bar, f"{row.chunks:,}")))


def describe_percentiles(counts: TokenCounts) -> str:
    """Return the percentiles and the largest chunk in one line; "" without chunks."""
    found = [f"{name} {value:,.0f}" for name, value in counts.percentiles().items()]
    return ", ".join([*found, f"largest {counts.largest:,}"]) if found else ""
