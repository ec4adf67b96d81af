"""Options that commands with and without a model have, and the project file that they read."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from assay.eval.configs.project import Project

FULL_KEY = "assay.full"  # in the context of a command that has `FULL`
JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else."
)
FULL = click.option(
    "--full",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _, wanted: context.meta.update({FULL_KEY: wanted}),
    help="Show every table, column and warning.",
)
NO_TRACK = click.option("--no-track", is_flag=True, help="Do not log to MLflow.")


def tell_project() -> "Project | None":
    """Return the project file, and report on standard error that it is used."""
    from assay.eval.configs.locations import find_project

    project = find_project()
    if project is not None:
        click.echo(f"settings from {project.source}", err=True)
    return project
