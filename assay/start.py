"""Where the command line begins: Ctrl-C while it is imported ends it without a traceback."""

import os
import signal
import sys
from pathlib import Path

OWN = {"__init__.py", "eval", "retrievers", "start.py"}


def main() -> None:
    """Run the command line `assay`."""
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    if told := describe_others(Path(__file__).parent):
        print(told, file=sys.stderr)
    # Else pydantic looks through all that is installed for plug-ins, at the start of each command.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from assay.eval import no_telemetry  # noqa: F401
    from assay.eval.cli import streams  # noqa: F401
    from assay.eval.cli.main import main as run

    signal.signal(signal.SIGINT, handler)
    run()


def describe_others(package: Path) -> str:
    """Return a warning that another distribution installed into this package, too; "" if none did.

    Only then are the names of the installed distributions read, which takes a second.
    """
    names = {entry.name for entry in os.scandir(package) if not entry.name.startswith((".", "__p"))}
    ours = "load_runs" in vars(sys.modules[__name__.partition(".")[0]]).get("__all__", ())
    others = sorted(name for name in names - OWN if name.endswith(".py") or "." not in name)
    if ours and not others:
        return ""
    from importlib.metadata import packages_distributions

    owners = sorted({*packages_distributions().get(package.name, ())} - {"retrieval-assay"})
    return (
        f"warning: {' and '.join(owners) or 'another distribution'} installed into the package "
        f"`{package.name}` too ({', '.join(others) or '__init__.py'}): uninstall it, and install "
        "retrieval-assay again"
    )
