"""`assay components`: all that a config can name."""

from dataclasses import asdict

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def components(as_json: bool) -> None:
    """List all that a config can name, one line each, with the extra each needs."""
    from eval.cli.console import print_json
    from eval.experiments.components import list_components

    found = list(list_components())
    if as_json:
        print_json({"components": [asdict(component) for component in found]})
        return
    key = ""
    for component in found:
        if component.key != key:
            key = component.key
            click.secho(key, bold=True)
        needs = f"  [needs the extra `{component.extra}`]" if component.extra else ""
        click.echo(f"  {component.name:<24} {component.summary}{needs}")
