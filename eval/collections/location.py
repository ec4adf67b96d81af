"""The location of a collection's data on this machine."""

import os
import re
import time
from contextlib import suppress
from pathlib import Path

from assay.eval.collections.card import Card
from assay.eval.shipped import find_shipped
from assay.retrievers.base import AssayError
from assay.retrievers.settings.trust import WAY_OUT, check_places, is_trusted, may_name
from assay.retrievers.store.paths import parse_path

OURS = "ASSAY_"
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def find_data(card: Card) -> Path:
    """Return the folder that holds the files of `card`.

    The folder is found and checked once per card. Raises AssayError when a variable is not set, the
    folder is missing, or the card names a path outside it (see `assay.retrievers.settings.trust`).
    """
    if card._data is None:
        root = _find_folder(card)
        named = filter(None, (*card.names(), card.contexts_file))
        files = [parse_path(name, card.path or card.name, root) for name in named]
        if card.path:
            check_places(files, root, card.path)
        card._data = root
    return card._data


def find_repository(folder: Path) -> Path | None:
    """Return the root of the git repository that `folder` lies in; None outside one."""
    here = folder.resolve()
    return next((home for home in (here, *here.parents) if (home / ".git").exists()), None)


def find_place(card: Card) -> str:
    """Return the folder of a collection within its git repository: the same in every checkout.

    "" for a collection that comes with Assay, has no folder, or lies in no repository.
    """
    if card.path is None and not (card.has_folder and card.location != "."):
        return ""
    folder = (card.folder if card.path else Path(card.location)).resolve()
    home = find_repository(folder)
    if home is None or folder.is_relative_to(find_shipped("datasets")):
        return ""
    return folder.relative_to(home).as_posix()


def why_unavailable(card: Card) -> str:
    """Return why the collection cannot be loaded here, or "" if it can."""
    if (reason := card.why_unusable()) or not card.has_folder:
        return reason
    try:
        root = _find_folder(card)
        files = {name: parse_path(name, card.path or card.name, root) for name in card.names()}
    except AssayError as error:
        return str(error)
    missing = [name for name, file in files.items() if not file.exists()]
    return f"{root} lacks {', '.join(missing)}" if missing else ""


def _find_folder(card: Card) -> Path:
    """Return the folder that the location means. No message repeats what a variable holds."""
    location = card.location
    variables = list(VARIABLE.finditer(location))
    own = card.path is None or is_trusted(card.path)
    for name in (_name(variable) for variable in variables if not own):
        if not name.startswith(OURS):
            raise AssayError(
                f"{card.path}: location: reads ${name}; a card from elsewhere may name variables "
                f"that begin with {OURS}; {WAY_OUT}"
            )
    named = VARIABLE.sub(lambda i: _expand(card, i), location)
    try:
        folder = parse_path(named, f"collection {card.name}", card.folder)
    except AssayError:
        if not variables:
            raise
        raise AssayError(f"collection {card.name}: {location} stands for no path") from None
    if not folder.is_dir():
        named = ", ".join(map(_name, variables))
        missing = f"{location}; check the value of {named}" if variables else folder
        raise AssayError(f"collection {card.name}: there is no folder {missing}{_elsewhere(card)}")
    variable = VARIABLE.match(location)
    home = Path(_expand(card, variable)).expanduser() if variable else card.folder
    # A link below what the user named in a variable is the user's own, if the card is too.
    linked = variable and own and ".." not in Path(location).parts
    if card.path and not linked and not may_name(folder, home, card.path):
        where = f"the folder of ${_name(variable)}" if variable else home
        raise AssayError(f"{card.path}: names {location}, which lies outside {where}; {WAY_OUT}")
    return folder


def _expand(card: Card, variable: re.Match[str]) -> str:
    name = _name(variable)
    value = os.environ.get(name)
    if not value:
        rest = card.location[variable.end() :].strip("/")
        raise AssayError(
            f"collection {card.name} lies below ${name}, which is not set; "
            f"set it to the folder that holds {rest}/{_elsewhere(card)}"
        )
    return value


def _elsewhere(card: Card) -> str:
    """Return another source of the same set, as the end of a message; "" if there is none."""
    return f"; or take {card.irds}, which ir_datasets downloads (extra irds)" if card.irds else ""


def _name(variable: re.Match[str]) -> str:
    return variable[1] or variable[2]


def list_changed(card: Card, since: float) -> list[str]:
    """Return the files that a card names, and that changed after `since`, in seconds since 1970.

    They are named relative to where the data lies. A file of the future says that a clock went
    back, and not when it changed.
    """
    if not card.has_folder:
        return []
    root, found = find_data(card), []
    for name in card.names():
        path = root / name
        for file in card.list_files(path) if path.is_dir() else [path]:
            with suppress(OSError):  # gone meanwhile
                if since < file.stat().st_mtime <= time.time():
                    found.append(os.path.relpath(file, root))
    return found
