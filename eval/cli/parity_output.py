"""What `assay parity` prints."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.eval.cli.output import make_console, make_table, print_places, print_table
from assay.eval.report.formats import amount, p_value, score, signed, size
from assay.eval.studies.comparison.differences import SYMMETRY, Difference
from assay.eval.studies.stores.parity.fusions import BASES, MEASURE, Fusions
from assay.eval.studies.stores.parity.quality import (
    DENSE,
    HYBRID,
    KEYWORD,
    MEASURES,
    NATIVE,
    OURS,
    TIMED,
)
from assay.eval.studies.stores.parity.results import Parity
from assay.eval.studies.stores.parity.verdicts import QueryVerdict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from assay.eval.studies.stores.parity.running import ParityOutcome

FIXED = (DENSE, KEYWORD, OURS, HYBRID)
STYLES: dict[QueryVerdict, str] = {
    "identical": "green",
    "ties": "green",
    "different": "bold red",
}


def print_one(delivered: "ParityOutcome") -> None:
    """Print the parity of one engine."""
    (parity,) = delivered.parities
    _print(make_console(), parity)
    print_places(report=delivered.pages[parity.id], mlflow_run=delivered.tracked.get(parity.id))


def print_all(delivered: "ParityOutcome") -> None:
    """Print a table of all engines on each collection."""
    console = make_console()
    for name in dict.fromkeys(item.collection for item in delivered.parities):
        items = [item for item in delivered.parities if item.collection == name]
        console.print(f"{name} (n = {items[0].queries}{_sample(items[0])})", style="bold")
        print_table(console, _tabulate_all([item for item in items if item.label == item.engine]))
        if fusing := [item for item in items if item.quality.differences]:
            print_table(console, _tabulate_fusions(fusing))
        for parity in items:
            _print_waits(console, parity)
    for item in delivered.absent:
        word = "failed" if item.failed else "left out"
        console.print(f"{word}: {item.reason}", markup=False)
    for page in delivered.files:
        print_places(page=page)


def print_fusions(found: Fusions) -> None:
    """Print a table of all fusions on each collection, best first."""
    from rich.markup import escape

    from assay.eval.studies.stores.parity.page import AGAINST, NAMES

    console = make_console()
    for table in found.tables:
        sample = ", a sample" if table.sampled else ""
        console.print(f"{table.collection} (n = {table.queries}{sample})", style="bold")
        alone = (
            f"{NAMES[system]} {_mean(table.shared[0].means[system][MEASURE])}" for system in FIXED
        )
        console.print(f"{MEASURE}: {'; '.join(alone)}")
        heads = (MEASURE, *(f"less {AGAINST[base]}" for base in BASES))
        for title, shown in (
            ("the same two lists", table.shared),
            ("each engine's own", table.own),
        ):
            shape = make_table(title, *heads)
            shape.columns[0].no_wrap = False
            for row in shown:
                shape.add_row(
                    "\n".join(map(escape, row.labels)),
                    score(row.means[NATIVE][MEASURE].value),
                    *(_change(row.against[base]) for base in BASES),
                )
            print_table(console, shape)
    for engine, reason in found.absent.items():
        console.print(
            f"not measured; its stated formula is used: {engine}: {reason}",
            markup=False,
        )


def _print(console: "Console", parity: Parity) -> None:
    from assay.eval.studies.stores.parity.page import (
        describe_against,
        describe_ratios,
        describe_recall,
        describe_verdict,
    )

    title = f"{parity.label} on {parity.collection} (n = {parity.queries}{_sample(parity)})"
    console.print(f"{title}: {parity.verdict}", style="bold", markup=False)
    console.print(f"formula: {parity.meaning['formula']}", markup=False)
    console.print(describe_verdict(parity), markup=False)
    _print_examples(console, parity)
    print_table(console, _tabulate(parity))
    for item in parity.quality.differences:
        console.print(
            f"{item.measure}: native minus ours {signed(item.difference.value)} "
            f"({signed(item.interval.low)} … {signed(item.interval.high)}), "
            f"p {p_value(item.adjusted)}: {item.verdict}"
            f"{f', which {SYMMETRY}' if item.presumes_symmetry else ''}",
        )
    for line in (*describe_against(parity), *describe_ratios(parity)):
        console.print(line)
    _print_waits(console, parity)
    index = parity.index
    console.print(f"index: {amount(index.seconds)} s, {size(index.bytes)}")
    for name, value in describe_recall(parity):
        console.print(f"{name[:1].lower()}{name[1:]}: {value}")


def _print_waits(console: "Console", parity: Parity) -> None:
    from assay.eval.studies.stores.parity.page import describe_waits

    for line in describe_waits(parity):
        console.print(line, style="yellow", markup=False)


def _print_examples(console: "Console", parity: Parity) -> None:
    for example in parity.examples:
        console.print(
            f"  {example.verdict}, from rank {example.rank}: {example.text}",
            style=STYLES["different"] if example.verdict == "different" else "",
            markup=False,
        )
        for place in example.places:
            console.print(
                f"    {place.chunk}: returned at {place.returned or '–'}, by the formula at "
                f"{place.expected or '–'}; dense {place.dense or '–'}, keyword "
                f"{place.keyword or '–'}",
                markup=False,
            )


def _tabulate(parity: Parity) -> "Table":
    from assay.eval.studies.stores.parity.page import system_row

    table = make_table("search", *MEASURES, "p50 ms", "p95 ms")
    for system in parity.quality.means:
        row = system_row(parity, system)
        figures = [f"{item.value} ({item.interval})" for item in row.figures]
        table.add_row(row.name, *figures, *(item.value for item in row.latency))
    return table


def _tabulate_all(items: Sequence[Parity]) -> "Table":
    from rich.markup import escape

    from assay.eval.studies.stores.parity.page import NAMES

    table = make_table("engine", "search", "nDCG@10", "Recall@20", "p50 ms", "p95 ms", "index s",
                       "size", "parity", left=("search", "parity"))  # fmt: skip
    for item in items:
        shown = [system for system in TIMED if system in item.quality.means]
        for system in shown:
            first = system == shown[0]
            means = item.quality.means[system]
            times = item.timing.systems[system] if item.timing else {}
            table.add_row(
                escape(item.label) if first else "",
                NAMES[system],
                *(_mean(means[name]) for name in ("nDCG@10", "Recall@20")),
                *(amount(times[name].value) if times else "–" for name in ("p50", "p95")),
                amount(item.index.seconds) if first else "",
                size(item.index.bytes) if first else "",
                escape(item.verdict) if first else "",
            )
    return table


def _tabulate_fusions(items: Sequence[Parity]) -> "Table":
    from rich.markup import escape

    table = make_table("native minus ours", *MEASURES, "p50 ratio", "p95 ratio",
                       "parity", left=("parity",))  # fmt: skip
    for item in items:
        ratios = item.timing.ratios if item.timing else {}
        table.add_row(
            escape(item.label),
            *map(_change, item.quality.differences),
            *(f"{ratios[name].value:.2f}" if ratios else "–" for name in ("p50", "p95")),
            escape(item.verdict),
        )
    return table


def _mean(mean: Any) -> str:
    return f"{score(mean.value)} ({score(mean.low)} – {score(mean.high)})"


def _change(item: Difference) -> str:
    low, high = signed(item.interval.low), signed(item.interval.high)
    return f"{signed(item.difference.value)} ({low} … {high})"


def _sample(parity: Parity) -> str:
    return ", a sample" if parity.sampled else ""
