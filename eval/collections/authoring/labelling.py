"""Adding judgments to a collection: in its own files, or in a copy of it."""

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import yaml

from assay.eval.collections.card import FILE, Card, FileCard
from assay.eval.collections.catalog import dataset_folders, read_card
from assay.eval.collections.check import check
from assay.eval.collections.collection import Collection, Label
from assay.eval.collections.digests import seal
from assay.eval.collections.formats.native import TABLE
from assay.eval.collections.formats.reading import GZIP, find_suffix
from assay.eval.collections.formats.registry import FORMATS, find_format
from assay.eval.collections.loading import load_card, open_source
from assay.eval.collections.location import find_data
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError
from assay.retrievers.store.files import write_atomically, writing
from assay.retrievers.store.locks import changing

# Keys of a card whose values name files.
FILE_KEYS = {"documents", "whole_documents", "pages", "anchors", "contexts", "queries", "judgments"}


@dataclass(frozen=True, slots=True)
class LabelledCollection:
    """The card of the collection that holds the judgments now, and the files they went into."""

    card: Card
    files: tuple[Path, ...]


def add_in_place(
    collection: Collection, variant: str, labels: Sequence[Label]
) -> LabelledCollection:
    """Add judgments to the files of a native collection and seal its card.

    Call it with the lock of the card's folder, taken before the collection was read. Raises
    AssayError, and changes nothing, when they are not in the collection's own folder below the
    current one or the project's datasets, may not be written, or are not as the card says.
    """
    card = collection.card
    if not _takes(card, "in place"):
        raise _refuse(card, f"it is in the format {card.format}")
    additions = _render_additions(card, variant, labels)
    if reason := _why_not_in_place(card, list(additions)):
        raise _refuse(card, reason)
    found = check(card, spans=False, judged=False)
    if wrong := [problem for problem in found if problem.severity == "error"]:
        raise AssayError(f"{wrong[0]} (no judgment was added)")
    before = {path: path.read_bytes() for path in additions}
    added = {path: _append(path, content, additions[path]) for path, content in before.items()}
    states = {str(path): [_digest(before[path]), _digest(added[path])] for path in additions}
    write_atomically(_journal(card), json.dumps(states).encode())
    try:
        for path, content in added.items():
            write_atomically(path, content)
        sealed = seal(card)
    except AssayError:
        for path, content in before.items():
            write_atomically(path, content)
        _journal(card).unlink()
        raise
    _journal(card).unlink()
    return LabelledCollection(sealed, tuple(additions))


def finish_labelling(card: Card) -> Card:
    """Return the card, sealed if a process was killed while it added judgments in place.

    It is sealed only if each file is as that process found or left it; a later change keeps it
    unsealed.
    """
    journal = _journal(card)
    if card.path is None or not journal.exists():
        return card
    with changing(card.folder):  # which another process holds while it adds them
        card = read_card(card.path)
        try:
            states = json.loads(journal.read_bytes())
            known = all(_digest(Path(path).read_bytes()) in found for path, found in states.items())
        except (OSError, ValueError):
            return card
        sealed = seal(card) if known else card
        with writing(journal):
            journal.unlink()
        return sealed


def add_to_copy(
    collection: Collection, variant: str, labels: Sequence[Label], output: Path, origin: str
) -> LabelledCollection:
    """Make a copy of a collection in its own format, with the judgments, in the folder `output`.

    `origin` is named in its card as where the judgments come from. Call it with the lock of
    `output`. Raises AssayError when the folder is there already, or the collection is not one of
    files.
    """
    card = collection.card
    if not _takes(card, "copy", "in place"):
        allowed = ", ".join(name for name, source in FORMATS.items() if source.takes_labels)
        raise AssayError(
            f"{card.name}: a collection of the format {card.format} cannot be copied; allowed: "
            f"{allowed}"
        )
    if not find_format(card.format).names_judges and any(
        label.by_model != card.by_model for label in labels
    ):
        judge, other = ("person", "model") if card.by_model else ("model", "person")
        raise AssayError(
            f"{card.name}: files of the format {card.format} have no place to say that a {judge} "
            f"judged, and its grades would pass for a {other}'s; allowed: native"
        )
    if output.exists():
        raise AssayError(f"{output}: is there already; say --output with another folder")
    partial = output.absolute().with_name(f".{output.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # what a killed process left
    partial.mkdir(parents=True)
    try:
        values = _copy_files(card, partial)
        values |= {"name": output.name, "location": ".", "source": _tell_source(card, origin)}
        source = open_source(card, Problems(strict=True))
        queries = {label.query_id for label in labels}
        # A part of the questions has no judgments of its own.
        variant = variant if variant in card.variants else card.variants[0]
        values |= source.convert_judgments(collection.gold, variant, queries, partial)
        text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=100)
        write_atomically(partial / FILE, text.encode())
        copied = read_card(partial / FILE)
        assert isinstance(copied, FileCard)
        additions = _render_additions(copied, variant, labels)
        for path, lines in additions.items():
            write_atomically(path, _append(path, path.read_bytes(), lines))
        load_card(seal(copied), variant)
        partial.replace(output)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    files = tuple(output / path.relative_to(partial) for path in additions)
    return LabelledCollection(read_card(output / FILE), files)


def _refuse(card: Card, reason: str) -> AssayError:
    return AssayError(
        f"{card.name}: no judgment is added in place, since {reason}; "
        "say --output FOLDER to make a copy that has them"
    )


def _why_not_in_place(card: Card, files: Sequence[Path]) -> str:
    """Return why these files are not to be changed, "" if they are."""
    folder = card.folder.resolve()
    homes = [home.resolve() for home in (Path.cwd(), *dataset_folders())]
    if not any(folder.is_relative_to(home) for home in homes):
        return f"it lies in {folder}, outside the current folder"
    for path in files:
        if not path.resolve().is_relative_to(folder):
            return f"its data lies in {path.parent}, not in its own folder"
        if find_suffix(path) == TABLE:
            return f"{path.name} judges anchors or documents and cannot hold spans"
        if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
            return f"{path} may not be written"
    return ""


def _takes(card: Card, *ways: str) -> TypeGuard[FileCard]:
    return isinstance(card, FileCard) and find_format(card.format).takes_labels in ways


def _render_additions(card: FileCard, variant: str, labels: Sequence[Label]) -> dict[Path, str]:
    """Return the lines to be added to each file of judgments."""
    first = find_data(card) / card.judgment_files(variant)[0]
    source = open_source(card, Problems(strict=True))
    files = source.find_files(variant)
    additions: dict[Path, str] = {}
    for label in labels:
        path = files.get(label.query_id, first)
        additions[path] = additions.get(path, "") + source.render_label(label)
    return additions


def _copy_files(card: FileCard, target: Path) -> dict[str, Any]:
    """Copy all files that a card names below `target`; return the card's values for there."""
    root = find_data(card)
    names: dict[str, str] = {}
    for name in card.names():
        path = root / name
        inside = not Path(name).is_absolute() and ".." not in Path(name).parts
        kept = name if inside else path.resolve().name
        if kept in names.values():
            raise AssayError(f"{card.name}: two of its files are called {kept}; rename one")
        names[name] = kept
        if path.is_dir():
            for file in card.list_files(path):
                _copy_file(file, target / kept / file.relative_to(path))
        else:
            _copy_file(path, target / kept)
    values = card.model_dump(mode="json", exclude_unset=True, exclude={"sizes", "digests"})
    return {
        key: _rename(value, names) if key in FILE_KEYS else value for key, value in values.items()
    }


def _copy_file(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(path, target)
    except OSError as error:
        raise AssayError(f"{path}: cannot be copied: {error.strerror}") from None


def _rename(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _rename(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_rename(part, names) for part in value]
    return names.get(value, value)


def _tell_source(card: Card, origin: str) -> str:
    added = f"judgments added from {origin}"
    return f"{card.source}; {added}" if card.source else f"{card.name}; {added}"


def _append(path: Path, content: bytes, lines: str) -> bytes:
    """Return the content of a file with lines added at its end. Raises AssayError if packed."""
    if path.suffix == GZIP:
        raise AssayError(f"{path}: no judgment is added to a packed file; unpack it")
    ended = content if not content or content.endswith(b"\n") else content + b"\n"
    return ended + lines.encode()


def _journal(card: Card) -> Path:
    """Return the journal of an addition: the digests of each file before and after it."""
    return card.folder / f".{FILE}.labelling"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
