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
    """Return the type of a whole number from `least` to the most that a config may say."""
    return click.IntRange(least, LARGEST)


FILE = click.Path(path_type=Path, dir_okay=False)
CONFIG = click.argument("config", type=click.Path(path_type=Path))
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
BASELINES = click.option(
    "--baselines",
    type=click.Path(path_type=Path),
    help="Folder of the baselines.  [default: baselines below the reports]",
)
GATE_SETTINGS = click.option(
    "--settings",
    type=click.Path(path_type=Path),
    help="Settings of the gate.  [default: configs/gate.yaml]",
)


def rerun(help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the option to do again what is stored."""
    return click.option("--rerun", "--again", "rerun", is_flag=True, help=help_text)


def ray(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a cluster that does its work."""
    address = click.option(
        "--ray",
        metavar="ADDRESS|local",
        help="Let workers of a Ray cluster do it: HOST:PORT, or local for some on this machine.",
    )
    gpus = click.option(
        "--ray-gpus",
        type=click.FloatRange(0, 64),
        default=0.0,
        metavar="NUMBER",
        help="GPUs of each of its workers: 1, or a share as 0.25.  [default: none]",
    )
    return address(gpus(command))


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


def pipelines(parameter: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the list of its pipelines in `parameter`: the one that is named, if any.

    Else those of the project file, which is told of. An override that stands first is none.
    """

    def offer(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def call(**given: Any) -> Any:
            named, project = given[parameter], tell_project()
            if named is not None and project and "=" in str(named):
                given["overrides"], named = (str(named), *given["overrides"]), None
            if named is not None:
                given[parameter] = [named]
            elif project is not None:
                given[parameter] = project.list_pipelines()
            else:
                raise missing("CONFIG|RUN" if parameter == "target" else "CONFIG", "pipelines")
            return command(**given)

        return call

    return offer


def tell_project() -> "Project | None":
    """Return what the project file says, and say on standard error that it counts."""
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


def engine(parameter: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the option `--engine`: the config in `parameter` becomes CONFIG@NAME.

    So does each of several.
    """

    def place(config: Any, engine: str) -> Any:
        from assay.eval.configs.named_configs import add_engines, name_in_engine, split_engine

        named = str(config)
        # What else may be a run must be known for a config; a config's reader tells more.
        if parameter == "config" and split_engine(named)[1] is None:
            reference = name_in_engine(named, engine)
        else:
            [reference] = add_engines([named], [engine])
        return type(config)(reference)

    def offer(command: Callable[..., Any]) -> Callable[..., Any]:
        @click.option("--engine", metavar="NAME", help="Search in this engine, as CONFIG@NAME.")
        @wraps(command)
        def call(engine: str | None, **given: Any) -> Any:
            config = given[parameter]
            if engine is not None and isinstance(config, list):
                given[parameter] = [place(each, engine) for each in config]
            elif engine is not None and config is not None:
                given[parameter] = place(config, engine)
            return command(**given)

        return call

    return offer
