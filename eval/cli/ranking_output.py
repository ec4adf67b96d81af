"""What `assay compare` prints of runs that all pairs are compared of: a ranking, and the pairs."""

from collections import Counter
from typing import TYPE_CHECKING

from assay.eval.cli.output import make_table, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from assay.eval.studies.comparison.comparison import Comparison

MOST_PAIRS = 10  # that are listed unless all are asked for
STYLES = {"better": "green", "worse": "red", "not shown (too few queries)": "yellow"}


def print_ranking(console: "Console", compared: "Comparison", whole: bool) -> None:
    """Print the runs, best first, and their pairs in the headline measure; `whole`: however many.

    Then, in a line each, how many pairs differ in the other measures and by type of query.
    """
    _print_runs(console, compared)
    shown = sum(pair.headline.shown for pair in compared.pairs)
    if whole or len(compared.pairs) <= MOST_PAIRS:
        console.print()
        _print_pairs(console, compared)
    else:
        line = f"{shown} of {len(compared.pairs)} pairs are shown to differ (--by-type lists them)"
        console.print(line, markup=False, highlight=False)
    others = Counter(
        item.measure
        for pair in compared.pairs
        for item in pair.differences
        if item.shown and pair.headline.shown and item is not pair.headline
    )
    if shown:
        listed = ", ".join(
            f"{name} {others[name]} of {shown}"
            for name in compared.measures
            if name != compared.pairs[0].headline.measure
        )
        if listed:
            console.print(f"of the pairs shown also differ: {listed}", highlight=False)
    kinds = len(compared.pairs[0].by_type)
    if kinds and not whole:
        types = sum(item.shown for pair in compared.pairs for item in pair.by_type)
        of = kinds * len(compared.pairs)
        console.print(f"types of query (--by-type): {types} of {of} differ", highlight=False)


def _print_runs(console: "Console", compared: "Comparison") -> None:
    from rich.markup import escape

    from assay.eval.scoring.measures import find

    measure = compared.pairs[0].headline.measure
    times = _list_medians(compared)
    costs = any(summary.cost for summary in compared.summaries)
    beside = compared.beside[-2:]
    heads = [measure, "95 % interval", "groups", *(["p50, ms"] if times else []), *beside]
    table = make_table("run", *heads, left=("groups",), ruled=False, whole=True)
    for i, (label, summary) in enumerate(zip(compared.labels, compared.summaries, strict=True)):
        mean = summary.means[measure]
        cells = [f"{mean.value:.3f}", f"{mean.low:.3f} … {mean.high:.3f}", compared.groups[i]]
        cells += [times[i]] if times else []
        cells += [f"{summary.means[name].value:.{min(find(name).digits, 2)}f}" for name in beside]
        table.add_row(f"{i + 1:>2} {escape(label)}", *cells)
    print_table(console, table)
    console.print(f"Runs that share a letter are not shown to differ in {measure}.", style="dim")
    together = all(item.together for pair in compared.pairs for item in pair.latency)
    if times and not together:
        console.print(
            "timed apart, perhaps under other load: these figures do not show which is faster"
        )
    if costs:
        from assay.eval.runs.summary.cost import tell_queries

        each = ", ".join(
            f"{label} {tell_queries(summary.cost)}"
            for label, summary in zip(compared.labels, compared.summaries, strict=True)
        )
        console.print(f"USD per 1,000 queries: {each}", markup=False)


def _list_medians(compared: "Comparison") -> list[str]:
    """Return the median latency of each run in ms; nothing unless all were timed."""
    if not all(pair.latency for pair in compared.against_base):
        return []
    base = compared.against_base[0].latency[0].base
    others = (pair.latency[0].other for pair in compared.against_base)
    return [f"{time:.2f}" for time in (base, *others)]


def _print_pairs(console: "Console", compared: "Comparison") -> None:
    from rich.markup import escape

    table = make_table(
        "pair", "diff", "95 % interval", "p", "verdict", left=("verdict",), ruled=False, whole=True
    )
    table.columns[0].no_wrap = False
    table.columns[-1].no_wrap = False
    for (base, other), pair in zip(compared.names, compared.pairs, strict=True):
        item = pair.headline
        style = STYLES.get(item.verdict, "")
        verdict = f"[{style}]{item.verdict}[/]" if style else item.verdict
        table.add_row(
            escape(f"{other} against {base}"),
            f"{item.difference.value:+.3f}",
            f"{item.interval.low:+.3f} … {item.interval.high:+.3f}",
            tell_p(item.reported_p),
            verdict,
        )
    print_table(console, table)


def tell_p(value: float | None) -> str:
    """Return a p-value to three decimals; a dash where there is none."""
    if value is None:
        return "–"
    return "<0.001" if value < 0.001 else f"{value:.3f}"
