"""`assay mlflow`: MLflow's web pages on the local tracking store."""

import click

from eval.cli import options
from eval.cli.output import print_json


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=5000, show_default=True)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@options.JSON
def mlflow(port: int, no_browser: bool, as_json: bool) -> None:
    """Open MLflow on the store that runs are logged to; Ctrl-C ends it.

    It listens on this machine only. Where MLFLOW_TRACKING_URI is a server, that has a page of its
    own, and its address is printed instead.
    """
    from eval.tracking import redact, tracking_uri
    from eval.tracking.server import locate, serve
    from eval.tracking.store import is_server
    from retrievers.base import AssayError

    uri = tracking_uri()
    if is_server(uri):
        raise AssayError(f"MLFLOW_TRACKING_URI is a server; its pages are at {redact(uri)}")
    address = locate(port)
    with serve(uri, port) as server:
        if as_json:
            print_json({"address": address, "tracking_uri": redact(uri)})
        else:
            click.echo(f"MLflow on {redact(uri)}: {address} (Ctrl-C ends it)")
        if not no_browser:
            click.launch(f"{address}/#/experiments")
        server.wait()
