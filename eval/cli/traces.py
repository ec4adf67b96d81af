"""`assay traces`: rankings and queries from the searches of a user's own system."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import present, print_json, print_next, show_path
from assay.eval.cli.report_screen import print_report

if TYPE_CHECKING:
    from datetime import datetime

SOURCES = click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
NAME = click.option("--name", default="traces", show_default=True, help="What to call the system.")
REGION = click.option(
    "--region", help="Country, as DE: finds telephone numbers as they are written there."
)
CONSENT = click.option("--consent", is_flag=True, help="Store the text of queries, masked.")


@click.group()
def traces() -> None:
    """Read traces of your own system: OpenTelemetry, Phoenix, MLflow, Langfuse, LangSmith.

    SOURCE is a file (OTLP as JSON or JSON Lines; JSON or Parquet of Phoenix; JSON of MLflow,
    Langfuse or LangSmith; .gz too) or mlflow:EXPERIMENT, in the store of
    MLFLOW_TRACKING_URI. Nothing in it is run, and nothing is sent anywhere.
    """


@traces.command()
@SOURCES
@click.option("--dataset", help="A collection: write its queries alone, by its own ids and texts.")
@click.option("--output", type=click.Path(path_type=Path), help="A new folder for run.jsonl.")
@NAME
@CONSENT
@options.FULL
@options.JSON
def read(
    sources: tuple[str, ...],
    dataset: str | None,
    output: Path | None,
    name: str,
    consent: bool,
    as_json: bool,
) -> None:
    """Say what traces hold, and write the rankings of every step.

    `assay import` judges the file that is written, and `assay explain` then tells at which step
    correct passages were lost. Steps whose kind no span tells are marked (inferred).
    """
    from assay.eval.progress import ConsoleProgress
    from assay.eval.studies.traces import reading
    from assay.eval.studies.traces.report import report_reading

    made = reading.read(sources, dataset, output, consent, name, ConsoleProgress())
    if as_json:
        print_json(made.as_json())
        return
    print_report(report_reading(made))
    for path in made.files:
        click.echo(f"written: {show_path(path)}")
    if dataset and made.files:
        missing = " --missing drop" if made.lacking else ""
        print_next(f"import {show_path(made.files[0])} --dataset {dataset}{missing}")


@traces.command()
@SOURCES
@click.option("--documents", required=True, help="The folder, or collection, that is searched.")
@click.option(
    "--number", type=options.at_least(1), default=150, show_default=True, help="Queries to draw."
)
@click.option("--seed", type=options.at_least(0), default=0, show_default=True, help="Of the draw.")
@click.option(
    "--depth",
    type=options.at_least(1),
    default=10,
    show_default=True,
    help="Judge so many hits of your system, and of --config, for every query.",
)
@click.option(
    "--config",
    default="bm25",
    show_default=True,
    help="A pipeline whose hits are judged beside those of your system.",
)
@REGION
@click.option("--name", help="Name of the new collection.  [default: NAME-traffic]")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Where the card goes.  [default: ./datasets/NAME]",
)
@CONSENT
@options.FULL
@options.JSON
def sample(
    sources: tuple[str, ...],
    documents: str,
    number: int,
    seed: int,
    depth: int,
    config: str,
    region: str | None,
    name: str | None,
    output: Path | None,
    consent: bool,
    as_json: bool,
) -> None:
    """Draw queries of your traffic to be judged, each with a known chance.

    Searches of the same words count as one query. All that are asked most are drawn; of the others
    some, by how often they are asked, whether they found nothing or scored low, and when. The
    queries become a collection, without judgments yet, with the table pool.csv for `assay label`.
    Once they are judged, `assay run` estimates every measure for the traffic, beside the mean over
    queries.
    """
    from assay.eval.configs.config import load_config
    from assay.eval.configs.resources import make_resources
    from assay.eval.studies.traces import sample_files
    from assay.eval.studies.traces.report import report_sample
    from assay.retrievers.base import AssayError

    if not consent:
        raise AssayError(
            "--consent: a sample stores the texts of queries, masked; say --consent to allow it"
        )
    spec = sample_files.SampleSpec(number, seed, depth, region)
    resources = make_resources()
    made = sample_files.sample(
        sources, documents, spec, load_config(config, ()), name, output, resources
    )
    if as_json:
        print_json(made.as_json())
        return
    print_report(report_sample(made))
    pool = show_path(made.folder / sample_files.POOL)
    click.echo(f"judge   {pool}")
    print_next(f"label {pool} --serve --judge NAME")


@traces.command()
@SOURCES
@click.option(
    "--at",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    help="Time of day in UTC at which the later period begins.  [default: the second SOURCE is it]",
)
@click.option("--dataset", help="A judged collection: what its queries stand for, and what not.")
@REGION
@CONSENT
@options.FULL
@options.JSON
def drift(
    sources: tuple[str, ...],
    at: "datetime | None",
    dataset: str | None,
    region: str | None,
    consent: bool,
    as_json: bool,
) -> None:
    """Say what moved between two periods of traffic.

    Two SOURCEs, the earlier first, or any with --at. Tested are how many searches found nothing,
    scores, times, lengths and words of queries; where nothing moved, anything at all is found in
    5 % of comparisons. With --dataset, queries to judge next are named. The page is written with
    --consent, since it shows texts of queries.
    """
    from datetime import UTC

    from assay.eval.configs.locations import reports_folder
    from assay.eval.configs.resources import make_resources
    from assay.eval.report.files import write_blocks
    from assay.eval.studies.traces.period_comparison import compare
    from assay.eval.studies.traces.report import report_drift

    moment = at.replace(tzinfo=UTC) if at else None
    found = compare(sources, moment, dataset, region, make_resources())
    told = report_drift(found)
    page = write_blocks(found, told, reports_folder() / found.id) if consent else None
    present(found, as_json, lambda _: print_report(told), report=page)
