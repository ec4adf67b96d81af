"""Arguments and options that several commands have."""

import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from assay.eval.configs.project import Project

FULL_KEY = "assay.full"  # in the context of a command that has `FULL`
LARGEST = 1_000_000  # as numbers of a config


def at_least(least: int) -> click.IntRange:
    """Return the type of an integer from `least` to the largest that a config may have."""
    return click.IntRange(least, LARGEST)


FILE = click.Path(path_type=Path, dir_okay=False)
RUN = click.argument("run", metavar="CONFIG|RUN")
OVERRIDES = click.argument("overrides", nargs=-1, metavar="[KEY.PATH=VALUE]...")
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


def rerun(help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the option to repeat stored work."""
    return click.option("--rerun", "--again", "rerun", is_flag=True, help=help_text)


def dataset(parameter: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the option `--dataset`: one more override among those in `parameter`."""

    def offer(command: Callable[..., Any]) -> Callable[..., Any]:
        @click.option("--dataset", metavar="NAME", help="Collection, by name or folder.")
        @wraps(command)
        def call(dataset: str | None, **given: Any) -> Any:
            if dataset is not None:
                given[parameter] = (*given[parameter], f"dataset={json.dumps(dataset)}")
            return command(**given)

        return call

    return offer


def tell_project() -> "Project | None":
    """Return the project file, and report on standard error that it is used."""
    from assay.eval.configs.locations import find_project

    project = find_project()
    if project is not None:
        click.echo(f"settings from {project.source}", err=True)
    return project


def missing(argument: str, key: str) -> click.UsageError:
    """Return the error for an argument that neither a command line nor a project file gives."""
    return click.UsageError(
        f"Missing argument '{argument}'; or name `{key}` in assay.toml, for every call.",
        click.get_current_context(silent=True),
    )
