"""The table a run ends with."""

from pathlib import Path

from eval.latency import TOTAL
from eval.measures import spoken
from eval.summary import Summary


def print_summary(summary: Summary, page: Path, tracked: str | None, reused: bool) -> None:
    """Print measures and latencies with their intervals, and where the report is."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    manifest = summary.run.manifest
    count = len(summary.run.queries)
    sample = ", a sample" if manifest.sampled else ""
    title = f"{manifest.name} on {manifest.collection.name} (n = {count}{sample})"
    table = Table(title=title, title_justify="left")
    table.add_column("measure")
    table.add_column("mean", justify="right")
    table.add_column("95 % interval", justify="right")
    for name, mean in summary.means.items():
        digits = 0 if name.startswith("Tokens") else 3
        table.add_row(
            spoken(name),
            f"{mean.value:.{digits}f}",
            f"{mean.low:.{digits}f} – {mean.high:.{digits}f}",
        )
    for stage, figures in summary.latency.items():
        table.add_section() if stage == TOTAL else None
        p50, p95, p99 = figures["p50"], figures["p95"], figures["p99"]
        label = "ms a query" if stage == TOTAL else f"  {stage}"
        table.add_row(
            f"{label}, p50 / p95 / p99",
            f"{p50.value:.2f} / {p95.value:.2f} / {p99.value:.2f}",
            f"p95 {p95.low:.2f} – {p95.high:.2f}",
        )
    console.print(table)
    for line, queries in manifest.degraded.items():
        console.print(f"degraded on {queries} of {count} queries: {line}", style="bold red")
    if reused:
        console.print(
            f"Nothing has changed since this was measured ({manifest.created}); "
            "--again measures again."
        )
    console.print(f"report  {page}", soft_wrap=True)
    if tracked:
        console.print(f"MLflow  run {tracked}; `make mlflow` opens the UI", soft_wrap=True)
