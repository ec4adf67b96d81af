"""The report as people read it."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from assay.eval.report.formats import amount, interval, size
from assay.eval.statistics.estimates import OpenEstimate
from benchmarks.report import Report, Row, Size, Times

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 100  # where the output is no terminal


def print_report(report: Report) -> None:
    """Print the tables, and how their figures came to be."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDTH)
    for one in report.sizes:
        console.print(_times_table(one, report.queries))
    if len(report.sizes) > 1:
        console.print(_growth_table(report.sizes))
    console.print(_index_table(report.sizes))
    for line in _notes(report):
        console.print(line)


def _times_table(one: Size, queries: int) -> "Table":
    table = _table(f"{one.chunks:,} chunks: milliseconds a query (n = {queries})")
    for heading in ("p50", "95 % interval", "p95", "95 % interval", "wanted p95"):
        table.add_column(heading, justify="right")
    for row in one.rows:
        wanted = "" if row.verdict is None else f"< {row.wanted_p95_ms:g}: {row.verdict}"
        table.add_row(row.name, *_cells(row.total), wanted)
        for label, times in _parts(row):
            table.add_row(f"  {label}", *_cells(times), style="dim")
    return table


def _growth_table(sizes: tuple[Size, ...]) -> "Table":
    table = _table("Growth with the number of chunks: p50 in milliseconds, and its ratio")
    for one in sizes:
        table.add_column(f"{one.chunks:,}", justify="right")
    for smaller, larger in pairwise(sizes):
        table.add_column(f"{larger.chunks:,} / {smaller.chunks:,}", justify="right")
    for rows in zip(*(one.rows for one in sizes), strict=True):
        _add_growth(table, rows[0].name, [row.total for row in rows])
        for parts in zip(*map(_parts, rows), strict=True):
            _add_growth(table, f"  {parts[0][0]}", [times for _, times in parts], style="dim")
    return table


def _add_growth(table: "Table", label: str, all_times: list[Times], style: str = "") -> None:
    values = [times.p50.value for times in all_times]
    ratios = [f"× {later / earlier:.2f}" for earlier, later in pairwise(values)]
    table.add_row(label, *map(amount, values), *ratios, style=style)


def _index_table(sizes: tuple[Size, ...]) -> "Table":
    table = _table("Index: seconds to make it, embedding left out, and its size")
    for one in sizes:
        table.add_column(f"{one.chunks:,}", justify="right")
    for rows in zip(*(one.rows for one in sizes), strict=True):
        table.add_row(rows[0].name, *map(_index_cell, rows))
    return table


def _index_cell(row: Row) -> str:
    seconds = f"{amount(row.index_seconds)} s"
    return seconds if row.index_bytes is None else f"{seconds}, {size(row.index_bytes)}"


def _notes(report: Report) -> Iterator[str]:
    """Yield what a reader needs to judge the figures."""
    yield (
        "Every contender answers every query (100 passages wanted) in one process, one at a time, "
        "in an order drawn anew for each query, after a warm-up. Intervals lie between "
        "order statistics."
    )
    where = "one core" if report.core is not None else "one thread (no single core: not possible)"
    yield f"Machine: {where} of {report.environment['processor']}."
    real = ", ".join(f"{name} {count:,}" for name, count in report.sources.items())
    yield (
        f"Texts: the real passages ({real}), then passages composed of sentences drawn from them. "
        "Composed passages have no new words, so that a term stands in more of them than in real "
        "collections of that size: keyword search has more to do."
    )
    yield from report.absent
    yield (
        "Vectors: of some real passages, with Gaussian noise, since exact search takes as long "
        "whatever the values. Queries are embedded for real."
    )
    for model, rate in report.embedding_rates.items():
        yield (
            f"Embedding passages with {model}, which index times leave out: {rate:.0f} a second "
            f"on this core."
        )
    yield (
        "Called directly: the library alone, given terms analysed beforehand as bm25 analyses "
        "them. Pipelines analyse the query, look up the passages and trace every step."
    )


def _parts(row: Row) -> list[tuple[str, Times]]:
    if row.embedding is None or row.rest is None:
        return []
    return [("embedding the query", row.embedding), ("all else", row.rest)]


def _cells(times: Times) -> tuple[str, str, str, str]:
    return (*_cell(times.p50), *_cell(times.p95))


def _cell(estimate: OpenEstimate) -> tuple[str, str]:
    return amount(estimate.value), interval(estimate, amount)


def _table(title: str) -> "Table":
    from rich.table import Table

    margin = 4  # so that the title stays on one line
    table = Table(
        title=title, title_justify="left", title_style="bold", min_width=len(title) + margin
    )
    table.add_column("")
    return table
