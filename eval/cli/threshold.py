"""`assay threshold`: the score below which a pipeline should return nothing."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import make_console, make_table, print_json, print_places, print_table

if TYPE_CHECKING:
    from assay.eval.statistics.estimates import Estimate
    from assay.eval.studies.threshold.running import FittedThreshold


@click.command()
@options.CONFIG
@options.OVERRIDES
@options.dataset("overrides")
@click.option("--of", default="", help="`rerank` or a semantic leg.  [default: the first there is]")
@click.option(
    "--false-empty",
    "share",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.05,
    show_default=True,
    help="The share of answered queries that may be left without results.",
)
@click.option("--output", type=click.Path(path_type=Path), help="The config to write.")
@click.option("--force", is_flag=True, help="Replace another result, or file, that is there.")
@options.JSON
def threshold(
    config: Path,
    overrides: tuple[str, ...],
    of: str,
    share: float,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Choose a score threshold below which CONFIG returns nothing, on its collection.

    It is the highest that leaves at most --false-empty of the answered queries without results.
    Unanswerable queries do not count for that. Where the collection has some, the command shows the
    share of them that gets no results, and how well each score of the pipeline separates them: the
    area under the ROC curve, .5 for chance. Report the effect of the threshold on other queries
    than these.
    """
    from assay.eval.progress import ConsoleProgress
    from assay.eval.studies.threshold.running import fit

    progress = ConsoleProgress()
    fitted = fit(config, overrides, of, share, progress, None if force else output)
    if output and (word := fitted.write(output, force)):
        progress.say(word)
    if as_json:
        print_json({**fitted.as_json(), "output": str(output) if output else None})
        return
    _print_fitted(fitted)
    print_places(config=output)


def _print_fitted(fitted: "FittedThreshold") -> None:
    """Print how well scores tell apart, what thresholds do, and the line of the chosen one."""
    console = make_console()
    manifest = fitted.run.manifest
    counts = f"{len(fitted.signal.answered)} answered, {len(fitted.signal.unanswered)} unanswered"
    console.print(f"{manifest.name} on {manifest.collection.name} ({counts})", style="bold")
    if fitted.answering:
        table = make_table("score", "AUC", "95 % interval", whole=True)
        for signal in fitted.answering.signals:
            table.add_row(signal.words, f"{signal.auc.value:.3f}", _interval(signal.auc))
        print_table(console, table)
    console.print("Share of queries for which nothing is returned:")
    heads = ("answered", "95 % interval", "unanswered", "95 % interval")
    table = make_table(f"{fitted.signal.step} below", *heads, whole=True)
    for trade in fitted.trades:
        cells = [
            text
            for i in (trade.falsely_empty, trade.rightly_empty)
            for text in ((f"{i.value:.3f}", _interval(i)) if i else ("–", "–"))
        ]
        table.add_row(f"{trade.minimum:g}", *cells)
    print_table(console, table)
    if not fitted.answering:
        click.echo("No query here is one that nothing answers: what it gains is not known.")
    stage = ", ".join(f"{key}: {value}" for key, value in fitted.stage.items())
    after = "after rerank" if fitted.signal.step == "rerank" else "where a threshold is possible"
    click.echo(f"{after}, below retriever.stages:\n  - {{{stage}}}")


def _interval(estimate: "Estimate") -> str:
    return f"{estimate.low:.3f} – {estimate.high:.3f}"
