"""`assay traces`: rankings and queries from the searches of a user's own system."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import present, print_json, print_next, show_path
from assay.eval.cli.report_screen import print_report
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument, StudyOptions
from assay.eval.running.study_options import LARGEST

Region = Annotated[
    str | None,
    Field(description="Country, as DE: finds telephone numbers as they are written there."),
]


class TraceOptions(StudyOptions):
    """Traces, and whether their texts may be stored."""

    sources: Annotated[tuple[str, ...], Argument("SOURCE...")] = Field(min_length=1)
    consent: bool = Field(False, description="Store the text of queries, masked.")


class ReadOptions(TraceOptions):
    """The options of `assay traces read`."""

    dataset: str | None = Field(
        None, description="A collection: write its queries alone, by its own ids and texts."
    )
    output: Path | None = Field(None, description="A new folder for run.jsonl.")
    name: str = Field("traces", description="What to call the system.")


class SampleOptions(TraceOptions):
    """The options of `assay traces sample`."""

    documents: str = Field(description="The folder, or collection, that is searched.")
    number: int = Field(150, ge=1, le=LARGEST, description="Queries to draw.")
    seed: int = Field(0, ge=0, le=LARGEST, description="Of the draw.")
    depth: int = Field(
        10,
        ge=1,
        le=LARGEST,
        description="Judge so many hits of your system, and of --config, for every query.",
    )
    config: str = Field(
        "bm25", description="A pipeline whose hits are judged beside those of your system."
    )
    region: Region = None
    name: str | None = Field(
        None, description="Name of the new collection.  [default: NAME-traffic]"
    )
    output: Path | None = Field(
        None, description="Where the card goes.  [default: ./datasets/NAME]"
    )


class DriftOptions(TraceOptions):
    """The options of `assay traces drift`."""

    at: datetime | None = Field(
        None,
        description="Time of day in UTC at which the later period begins.  [default: the second "
        "SOURCE is it]",
    )
    dataset: str | None = Field(
        None, description="A judged collection: what its queries stand for, and what not."
    )
    region: Region = None


@click.group()
def traces() -> None:
    """Read traces of your own system: OpenTelemetry, Phoenix, MLflow, Langfuse, LangSmith.

    SOURCE is a file (OTLP as JSON or JSON Lines; JSON or Parquet of Phoenix; JSON of MLflow,
    Langfuse or LangSmith; .gz too) or mlflow:EXPERIMENT, in the store of
    MLFLOW_TRACKING_URI. Nothing in it is run, and nothing is sent anywhere.
    """


@traces.command()
@takes(ReadOptions)
@options.FULL
@options.prints("eval.studies.traces.reading:TraceReading")
def read(asked: ReadOptions, as_json: bool) -> None:
    """Say what traces hold, and write the rankings of every step.

    `assay import` judges the file that is written, and `assay explain` then tells at which step
    correct passages were lost. Steps whose kind no span tells are marked (inferred).
    """
    from assay.eval.progress import ConsoleProgress
    from assay.eval.studies.traces import reading
    from assay.eval.studies.traces.report import report_reading

    made = reading.read(
        asked.sources, asked.dataset, asked.output, asked.consent, asked.name, ConsoleProgress()
    )
    if as_json:
        print_json(made)
        return
    print_report(report_reading(made))
    for path in made.files:
        click.echo(f"written: {show_path(path)}")
    if asked.dataset and made.files:
        missing = " --missing drop" if made.lacking else ""
        print_next(f"import {show_path(made.files[0])} --dataset {asked.dataset}{missing}")


@traces.command()
@takes(SampleOptions)
@options.FULL
@options.prints("eval.studies.traces.sample_files:TrafficSample")
def sample(asked: SampleOptions, as_json: bool) -> None:
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

    if not asked.consent:
        raise AssayError(
            "--consent: a sample stores the texts of queries, masked; say --consent to allow it"
        )
    made = sample_files.sample(
        asked.sources,
        asked.documents,
        sample_files.SampleSpec(asked.number, asked.seed, asked.depth, asked.region),
        load_config(asked.config, ()),
        asked.name,
        asked.output,
        make_resources(),
    )
    if as_json:
        print_json(made)
        return
    print_report(report_sample(made))
    pool = show_path(made.folder / sample_files.POOL)
    click.echo(f"judge   {pool}")
    print_next(f"label {pool} --serve --judge NAME")


@traces.command()
@takes(DriftOptions)
@options.FULL
@options.prints({"...": "eval.studies.traces.period_comparison:TrafficDrift", "report": str})
def drift(asked: DriftOptions, as_json: bool) -> None:
    """Say what moved between two periods of traffic.

    Two SOURCEs, the earlier first, or any with --at. Tested are how many searches found nothing,
    scores, times, lengths and words of queries; where nothing moved, anything at all is found in
    5 % of comparisons. With --dataset, queries to judge next are named. The page is written with
    --consent, since it shows texts of queries.
    """
    from assay.eval.configs.locations import reports_folder
    from assay.eval.configs.resources import make_resources
    from assay.eval.report.files import write_blocks
    from assay.eval.studies.traces.period_comparison import compare
    from assay.eval.studies.traces.report import report_drift

    moment = asked.at.replace(tzinfo=UTC) if asked.at else None
    found = compare(asked.sources, moment, asked.dataset, asked.region, make_resources())
    told = report_drift(found)
    page = write_blocks(found, told, reports_folder() / found.id) if asked.consent else None
    present(found, as_json, lambda _: print_report(told), report=page)
