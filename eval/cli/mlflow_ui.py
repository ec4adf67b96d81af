"""`assay mlflow`: MLflow's web pages on the local tracking store."""

import click

from assay.eval.cli import options
from assay.eval.cli.output import open_browser, print_json


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=5000, show_default=True)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@options.prints(address=str, runs=str, tracking_uri=str)
def mlflow(port: int, no_browser: bool, as_json: bool) -> None:
    """Open MLflow's table of runs on the store that they are logged to; Ctrl-C ends it.

    It listens on this machine only. Where MLFLOW_TRACKING_URI is a server, its address is printed
    instead.
    """
    from assay.eval.tracking import redact, tracking_uri
    from assay.eval.tracking.server import serve
    from assay.eval.tracking.store import is_server
    from assay.retrievers.base import AssayError

    uri = tracking_uri()
    if is_server(uri):
        raise AssayError(f"MLFLOW_TRACKING_URI is a server; its pages are at {redact(uri)}")
    with serve(uri, port) as server:
        if as_json:
            places = {"address": server.address, "runs": server.runs}
            print_json({**places, "tracking_uri": redact(uri)})
        else:
            click.echo(f"MLflow on {redact(uri)}: {server.runs} (Ctrl-C ends it)")
        if not no_browser:
            open_browser(server.runs)
        server.process.wait()
