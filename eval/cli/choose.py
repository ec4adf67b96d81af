"""`assay choose`: which pipeline to ship for a collection."""

import re
from pathlib import Path
from typing import Any

import click

from assay.eval.cli import options
from assay.eval.cli.output import print_json, print_next, print_places
from assay.eval.cli.report_screen import print_report

UNITS = {"s": 1, "m": 60, "h": 3600}
MOST_HOURS = 1000


def read_duration(_: click.Context, parameter: click.Parameter, value: str) -> float:
    """Return the seconds that `value` says. Raises BadParameter naming what is allowed."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d+)?)([smh])", value)
    seconds = float(found[1]) * UNITS[found[2]] if found else 0.0
    if not 0 < seconds <= MOST_HOURS * UNITS["h"]:
        raise click.BadParameter(f"{value!r} is no time; allowed: as 90s, 10m, 1h", param=parameter)
    return seconds


@click.command()
@click.argument("collection", required=False)
@click.argument("overrides", nargs=-1, metavar="[KEY.PATH=VALUE]...")
@click.option("--config", default="hybrid", show_default=True, help="What to start from and beat.")
@click.option(
    "--budget",
    callback=read_duration,
    metavar="TIME",
    default="10m",
    show_default=True,
    help="Begin no further candidate after so long: 90s, 10m, 1h.",
)
@click.option(
    "--max-latency",
    type=click.FloatRange(0, 1e6, min_open=True),
    metavar="MS",
    help="Allow so many milliseconds a query, and try reranking.",
)
@options.language_model(
    "writing contexts over all runs",
    "Longest context.  [default: 100]",
    required=False,
    use="Whom to have contexts written by, which are then tried. ",
)
@click.option("--measure", help="What is to rise.  [default: nDCG@10]")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="The config to write.  [default: chosen/CONFIG-COLLECTION.yaml below the reports]",
)
@click.option("--force", is_flag=True, help="Replace another result, or file, that is there.")
@options.FULL
@options.JSON
def choose(
    collection: str | None,
    overrides: tuple[str, ...],
    config: str,
    budget: float,
    max_latency: float | None,
    measure: str | None,
    output: Path | None,
    force: bool,
    as_json: bool,
    **model: Any,
) -> None:
    """Find the pipeline to ship for COLLECTION, a name or a folder.

    Without COLLECTION: for the one that assay.toml names, by the first of its measures.

    Tries what its documents allow: each leg alone and both, contexts, chunk sizes, windows, exact
    look-ups, weights and kinds of fusion, and reranking where --max-latency allows it. Settings are
    chosen on one half of the questions. The best is then held against the config as given and
    against BM25 alone on the other half, which had no part in the choice. It is shipped only if it
    is shown to be better there; else the config is kept.

    With --provider and --max-cost-usd a language model writes contexts first, as `assay contexts`
    does, if their expected price is allowed; they are then among the candidates.

    Writes the pipeline to ship, a page of all that was tried, and a JSON file beside it. A call
    that was killed goes on where it was, from the cache.
    """
    import json

    from assay.eval.configs.locations import default_dataset, reports_folder
    from assay.eval.configs.resources import make_resources
    from assay.eval.report.files import BESIDE
    from assay.eval.running.result_files import check_place
    from assay.eval.studies.choice.files import write
    from assay.eval.studies.choice.report import report
    from assay.eval.studies.choice.running import ChoiceRequest, choose
    from assay.eval.studies.ingestion.contexts import make_session
    from assay.retrievers.store.digest import digest

    if model["provider"] is None:
        for key in (key for key, value in model.items() if value is not None):
            raise click.UsageError(f"--{key.replace('_', '-')}: only with --provider")
    elif model["max_cost_usd"] is None:
        raise click.UsageError("--provider: needs --max-cost-usd, the most that contexts may cost")
    project = options.tell_project()
    if project and collection is not None and "=" in collection:
        overrides, collection = (collection, *overrides), None
    if collection is None:
        if project is None or project.collection is None:
            raise options.missing("COLLECTION", "collection")
        collection = default_dataset()
    measure = measure or ((project and project.measures) or ["nDCG@10"])[0]
    resources = make_resources()
    contexts = make_session(model, resources) if model["provider"] else None
    given = [f"dataset={json.dumps(collection)}", *overrides]
    request = ChoiceRequest(config, given, measure, budget, max_latency, contexts)
    asked = digest("choose", config, given, measure)
    if output and not force:
        check_place(output, asked, BESIDE)
    found = choose(request, resources)
    told = report(found)
    path = output or reports_folder() / "chosen" / f"{found.id}.yaml"
    named = output is not None
    files, word = write(found, told, config, asked, path, named=named, force=force)
    if as_json:
        places = {"output": str(files[0]), "report": str(files[2])}
        print_json({**found.as_json(), **places})
        return
    print_report(told)
    if word:
        click.echo(word)
    print_places(config=files[0], report=files[2])
    print_next(f"run {files[0]}", f"explain {files[0]}")
