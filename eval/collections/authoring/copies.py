"""Copies of documents in a collection's own folder, if their text differs from their files."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from assay.eval.collections.card import FILE
from assay.eval.collections.catalog import read_card
from assay.eval.collections.formats.native import NativeCard
from assay.retrievers.base import AssayError
from assay.retrievers.store.files import write_atomically, writing

FOLDER = "docs"


def check_copies(
    target: Path, source: Path | None, force: bool, texts: Mapping[str, str] | None = None
) -> None:
    """Raise AssayError when copies in `target` would mix with other files.

    Copies that an earlier call made are replaced, if `force`; no other folder ever is, but for one
    that holds exactly `texts`, as a killed call leaves it. `source` is the folder of the originals,
    if they have one.
    """
    folder = target / FOLDER
    if source and _overlap(folder.resolve(), source.resolve()):
        raise AssayError(
            f"{folder}: the documents' text would be written among the documents in {source}; "
            "say --output FOLDER"
        )
    if texts is not None and _holds(folder, texts):
        return
    if folder.exists() and not owns_copies(target):
        raise AssayError(f"{folder}: is there already and no collection's; say --output FOLDER")
    if folder.exists() and not force:
        raise AssayError(f"{folder}: is there already; --force overwrites it")


def _holds(folder: Path, texts: Mapping[str, str]) -> bool:
    """Return True if a folder holds these texts, by id, and no other file."""
    files = [path for path in folder.rglob("*") if not path.is_dir()]
    return {path.relative_to(folder).as_posix() for path in files} == texts.keys() and all(
        (folder / id_).read_bytes() == text.encode() for id_, text in texts.items()
    )


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def owns_copies(target: Path) -> bool:
    """Return True if a card in `target` names the folder of copies as its documents."""
    if not (target / FILE).is_file():
        return False
    card = read_card(target / FILE)
    return isinstance(card, NativeCard) and (card.location, card.documents) == (".", FOLDER)


def write_copies(target: Path, texts: Mapping[str, str]) -> None:
    """Write the texts, by id, below `target`, in place of all copies there were."""
    folder, partial, old = (target / name for name in (FOLDER, f".{FOLDER}.new", f".{FOLDER}.old"))
    for left in (partial, old):  # what a killed process left
        shutil.rmtree(left, ignore_errors=True)
    for identifier, text in texts.items():
        path = partial / identifier
        write_atomically(path, text.encode())
    with writing(folder):
        if folder.exists():
            folder.replace(old)
        partial.replace(folder)
    shutil.rmtree(old, ignore_errors=True)
