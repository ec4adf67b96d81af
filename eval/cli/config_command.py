"""`assay config`: a config with bases and overrides applied, and the schema of configs."""

import json
from typing import Annotated

import click

from assay.eval.cli import options
from assay.eval.cli.output import print_json
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument
from assay.eval.running.study_options import ChangeOptions


@click.group()
def config() -> None:
    """Show a resolved config, or the JSON Schema of configs."""


class ShownConfig(ChangeOptions):
    """The config that is shown."""

    path: Annotated[str, Argument()]


@config.command()
@takes(ShownConfig)
@options.prints("eval.configs.config:RunConfig", [str])
@click.option("--trust", "trusting", is_flag=True, hidden=True)  # said in the help of `assay`
def show(asked: ShownConfig, as_json: bool, trusting: bool) -> None:
    """Show the config at PATH with bases, overrides and defaults."""
    import yaml

    from assay.eval.configs.config import list_trusted, load_config

    path = asked.path
    if trusting:
        told = list_trusted(path)
        if as_json:
            print_json(told)
        else:
            click.echo("\n".join(told) or f"{path}: asks for nothing that needs trust")
        return
    values = load_config(path, asked.changes).model_dump(mode="json")
    if as_json:
        print_json(values)
    else:
        click.echo(yaml.safe_dump(values, sort_keys=False, allow_unicode=True), nl=False)


@config.command()
@options.prints({str: object})
def schema(as_json: bool) -> None:  # noqa: ARG001
    """Print the JSON Schema that editors complete and check configs by."""
    from assay.eval.configs.config import make_schema

    click.echo(json.dumps(make_schema(), indent=1))
