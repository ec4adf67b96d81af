"""Options that commands with and without a model have, and the project file that they read."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from assay.eval.configs.project import Project

FULL_KEY = "assay.full"  # in the context of a command that has `FULL`
JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else."
)


def prints(*forms: Any, **keys: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the option --json; it prints an object with these `keys`, or one of `forms`.

    `assay.eval.cli.schema` says what a form is.
    """

    def mark(command: Callable[..., Any]) -> Callable[..., Any]:
        vars(command)["printed"] = (*forms, *([keys] if keys else []))
        return JSON(command)

    return mark


FULL = click.option(
    "--full",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _, wanted: context.meta.update({FULL_KEY: wanted}),
    help="Show every table, column and warning.",
)
TEXT = str | None
# What a run prints, with its files.
RUN = {"...": "eval.runs.summary.summary:Summary", "report?": TEXT, "mlflow_run?": TEXT}
NO_TRACK = click.option("--no-track", is_flag=True, help="Do not log to MLflow.")


def tell_project() -> "Project | None":
    """Return the project file, and report on standard error that it is used."""
    from assay.eval.configs.locations import find_project

    project = find_project()
    if project is not None:
        click.echo(f"settings from {project.source}", err=True)
    return project
