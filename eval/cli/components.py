"""`assay components`: all that a config can name."""

import click

from assay.eval.cli import options
from assay.eval.cli.output import print_json, print_text


@click.command()
@options.prints(components=["eval.configs.components:Component"])
def components(as_json: bool) -> None:
    """List all that a config can name, one line each, with the extra each needs."""
    from itertools import groupby

    from assay.eval.configs.components import list_components

    found = list(list_components())
    if as_json:
        print_json({"components": found})
        return
    for key, members in groupby(found, key=lambda component: component.key):
        click.secho(key, bold=True)
        for component in members:
            needs = f"  [needs the extra `{component.extra}`]" if component.extra else ""
            print_text(f"  {component.name:<24} {component.summary}{needs}", indent=27)
