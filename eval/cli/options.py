"""Arguments and options that several commands have."""

import json
from collections.abc import Callable
from functools import wraps
from math import isnan
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
MEASURES = click.option(
    "--measure",
    "--measures",
    "measures",
    help="What to compare, separated by commas: Hit@5, nDCG@10; ir-measures' names too.",
)
LIMIT = click.option("--limit", type=at_least(1), help="Ask only so many queries: a quick look.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Estimate tokens and cost; make no call.")


def rerun(help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the option to do again what is stored."""
    return click.option("--rerun", "--again", "rerun", is_flag=True, help=help_text)


def language_model(
    budget: str, reply: str, *, required: bool = True, use: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of whom it asks: the model, what it may cost, and how to ask.

    `budget` says whose cost is limited, `reply` what the longest reply is, and `use` what the
    provider is for.
    """
    offered = (
        click.option(
            "--provider",
            type=click.Choice(["anthropic", "openai"]),
            required=required,
            help=f"{use}openai: also any service that speaks its chat completions, by --base-url.",
        ),
        click.option("--model", help="Default: a small one of the provider's."),
        click.option(
            "--base-url", help="Address of a compatible service; keys are not part of it."
        ),
        click.option("--max-cost-usd", type=float, help=f"Budget of {budget}; never exceeded."),
        click.option(
            "--prices",
            metavar="IN,WRITE,READ,OUT",
            help="US dollars per million tokens: prompt, written to and read from the cache, "
            "answer.",
        ),
        click.option("--concurrency", type=int, help="Calls at a time.  [default: 10]"),
        click.option("--max-tokens", type=int, help=reply),
        click.option(
            "--thinking-tokens",
            type=int,
            help="Token budget for reasoning; 0 is off.  [default: 0]",
        ),
        click.option("--timeout-seconds", type=float, help="Timeout per call.  [default: 60]"),
    )

    def offer(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(offered):
            command = option(command)
        return command

    return offer


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


ENGINES = click.option(
    "--engine", "engines", multiple=True, metavar="NAME", help="Search in this engine; repeatable."
)


class Fraction(click.FloatRange):
    """A number above 0 (`min_open`), at most 1; click lets NaN pass every range."""

    def __init__(self, *, min_open: bool = True) -> None:
        super().__init__(0, 1, min_open=min_open)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number that `value` is."""
        number = super().convert(value, param, ctx)
        return self.fail(f"{value!r} is not a number", param, ctx) if isnan(number) else number


def share(
    name: str, default: float, what: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return an option that is a share, `default` where it is not given."""
    return click.option(name, type=Fraction(), default=default, show_default=True, help=what)


def split_names(text: str) -> list[str]:
    """Return the names in `text`, which have commas between them."""
    return [name.strip() for name in text.split(",")]
