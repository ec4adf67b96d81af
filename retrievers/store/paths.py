"""Names and paths, as files and users give them, that become paths."""

from pathlib import Path

from assay.retrievers.base import AssayError, cut

WITHIN = "x" * 64  # a file that may be looked for in a folder that is named


def parse_path(named: str | Path, source: object, folder: Path = Path()) -> Path:
    """Return the path that `named` in `source` means from `folder`; a `~` at its start is a home.

    The path need not exist. Raises AssayError, naming `source`, if the system does not accept it:
    too long, with a NUL or half a character, below a loop of links or a folder that may not be
    entered, or the home of an unknown user.
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
