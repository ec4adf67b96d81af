"""`assay threshold`: the score below which a pipeline should return nothing."""

from pathlib import Path

import click

from assay.eval.cli import options
from assay.eval.cli.output import print_json, print_places
from assay.eval.cli.report_screen import print_report


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
@options.FULL
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
    from assay.eval.configs.locations import reports_folder
    from assay.eval.progress import ConsoleProgress
    from assay.eval.report.files import write_blocks
    from assay.eval.studies.threshold.report import report
    from assay.eval.studies.threshold.running import fit

    progress = ConsoleProgress()
    fitted = fit(config, overrides, of, share, progress, None if force else output)
    if output and (word := fitted.write(output, force)):
        progress.say(word)
    told = report(fitted)
    page = write_blocks(fitted, told, reports_folder() / fitted.id)
    if as_json:
        places = {"output": str(output) if output else None, "report": str(page)}
        print_json({**fitted.as_json(), **places})
        return
    print_report(told)
    print_places(config=output, report=page)
