"""Names and paths, as files and users give them, that become paths."""

from pathlib import Path

from assay.retrievers.base import AssayError, cut

WITHIN = "x" * 64  # a file that may be looked for in a folder that is named


def parse_path(named: str | Path, source: object, folder: Path = Path()) -> Path:
    """Return the path that `named` in `source` means from `folder`; a `~` at its start is a home.

    What it names need not be there. Raises AssayError, naming `source`, where the system takes it
    for no path: too long, with a NUL or half a character, below a loop of links or what may not be
    entered, the home of nobody.
    """
    try:
        path = folder / Path(named).expanduser()
        (path / WITHIN).stat()
    except (FileNotFoundError, NotADirectoryError):
        return path
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except (RuntimeError, ValueError) as error:
        reason = str(error)
    else:
        return path
    raise AssayError(f"{source}: {cut(repr(str(named)))}: {reason}")
