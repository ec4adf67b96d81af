"""Where the command line begins: Ctrl-C while it is imported ends it without a traceback."""

import signal


def main() -> None:
    """Run the command line `assay`."""
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from assay.eval import no_telemetry  # noqa: F401
    from assay.eval.cli import streams  # noqa: F401
    from assay.eval.cli.main import main as run

    signal.signal(signal.SIGINT, handler)
    run()
