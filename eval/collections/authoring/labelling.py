"""Adding judgments to a collection: in its own files, or in a copy of it."""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from eval.collections.authoring.labels import Label
from eval.collections.card import FILE, BeirCard, Card, NativeCard, TrecCard, read_card
from eval.collections.catalog import dataset_folders
from eval.collections.check import check
from eval.collections.collection import Collection, GoldItem
from eval.collections.digests import seal, write_text
from eval.collections.formats.native import list_texts
from eval.collections.formats.reading import read_beir_qrels, read_jsonl
from eval.collections.formats.trec import list_documents
from eval.collections.loading import load_card
from eval.collections.location import find_data
from eval.collections.problems import Problems
from retrievers.base import AssayError

# Keys of a card whose values name files.
FILE_KEYS = {"documents", "whole_documents", "anchors", "contexts", "queries", "judgments"}
TABLE = ".tsv"  # judgments of anchors, among which no span can stand
FileCard = NativeCard | BeirCard | TrecCard


@dataclass(frozen=True, slots=True)
class Labelled:
    """The card of the collection that holds the judgments now, and the files they went into."""

    card: Card
    files: tuple[Path, ...]


def add_in_place(collection: Collection, variant: str, labels: Sequence[Label]) -> Labelled:
    """Add judgments to the files of a native collection and seal its card.

    Raises AssayError, and changes nothing, when they are not in the collection's own folder below
    the current one or the project's datasets, may not be written, or are not as the card says.
    """
    card = collection.card
    if not isinstance(card, NativeCard):
        raise _refuse(card, f"it is in the format {card.format}")
    additions = _render_additions(card, variant, labels)
    if reason := _why_not_in_place(card, list(additions)):
        raise _refuse(card, reason)
    if wrong := [problem for problem in check(card) if problem.severity == "error"]:
        raise AssayError(f"{wrong[0]} (no judgment was added)")
    before = {path: path.read_bytes() for path in additions}
    try:
        for path, text in additions.items():
            _append(path, text)
        return Labelled(seal(card), tuple(additions))
    except AssayError:
        for path, content in before.items():
            write_text(path, content.decode())
        raise


def add_to_copy(
    collection: Collection, variant: str, labels: Sequence[Label], output: Path, origin: str
) -> Labelled:
    """Make a copy of a collection in its own format, with the judgments, in the folder `output`.

    `origin` is named in its card as where the judgments come from. Raises AssayError when the
    folder is there already, or the collection is not one of files.
    """
    card = collection.card
    if not isinstance(card, FileCard):
        raise AssayError(
            f"{card.name}: a collection of the format {card.format} cannot be copied; allowed: "
            "native, beir, trec"
        )
    if output.exists():
        raise AssayError(f"{output}: is there already; say --output with another folder")
    partial = output.absolute().with_name(f".{output.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # what a killed process left
    partial.mkdir(parents=True)
    try:
        values = _copy_files(card, partial)
        values |= {"name": output.name, "location": ".", "source": _tell_source(card, origin)}
        if isinstance(card, NativeCard):
            queries = {label.query_id for label in labels}
            values |= _convert_tables(collection, card, variant, queries, partial)
        text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=100)
        write_text(partial / FILE, text)
        copied = read_card(partial / FILE)
        assert isinstance(copied, FileCard)
        additions = _render_additions(copied, variant, labels)
        for path, lines in additions.items():
            _append(path, lines)
        load_card(seal(copied), variant)
        partial.replace(output)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    files = tuple(output / path.relative_to(partial) for path in additions)
    return Labelled(read_card(output / FILE), files)


def _refuse(card: Card, reason: str) -> AssayError:
    return AssayError(
        f"{card.name}: no judgment is added in place, since {reason}; "
        "say --output FOLDER to make a copy that has them"
    )


def _why_not_in_place(card: NativeCard, files: Sequence[Path]) -> str:
    """Return why these files are not to be changed, "" if they are."""
    folder = card.folder.resolve()
    homes = [home.resolve() for home in (Path.cwd(), *dataset_folders())]
    if not any(folder.is_relative_to(home) for home in homes):
        return f"it lies in {folder}, outside the current folder"
    for path in files:
        if not path.resolve().is_relative_to(folder):
            return f"its data lies in {path.parent}, not in its own folder"
        if path.suffix == TABLE:
            return f"{path.name} judges anchors or documents and cannot hold spans"
        if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
            return f"{path} may not be written"
    return ""


def _render_additions(card: FileCard, variant: str, labels: Sequence[Label]) -> dict[Path, str]:
    """Return the lines to be added to each file of judgments."""
    first = find_data(card) / card.judgment_files(variant)[0]
    files = _find_files(card, variant) if isinstance(card, NativeCard) else {}
    additions: dict[Path, str] = {}
    for label in labels:
        path = files.get(label.query_id, first)
        additions[path] = additions.get(path, "") + _render(card, label)
    return additions


def _find_files(card: NativeCard, variant: str) -> dict[str, Path]:
    """Return the file that judges each query: of several, the first that does."""
    found: dict[str, Path] = {}
    for name in card.judgment_files(variant):
        path = find_data(card) / name
        read = read_beir_qrels if path.suffix == TABLE else read_jsonl
        for row in read(path, Problems(strict=True)):
            found.setdefault(row.string("query_id"), path)
    return found


def _render(card: FileCard, label: Label) -> str:
    if isinstance(card, BeirCard):
        return f"{label.query_id}\t{label.passage_id}\t{label.grade}\n"
    if isinstance(card, TrecCard):
        return f"{label.query_id} 0 {label.passage_id} {label.grade}\n"
    span = {"start": label.start, "end": label.end, "text": label.text}
    row = {"query_id": label.query_id, "path": label.doc_id, **span, "grade": label.grade}
    return _line(row | ({"comment": label.comment} if label.comment else {}))


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
            listed = list_texts(path) if isinstance(card, NativeCard) else list_documents(path)
            for file in listed:
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


def _convert_tables(
    collection: Collection, card: NativeCard, variant: str, queries: set[str], target: Path
) -> dict[str, Any]:
    """Write the judgments of those `queries` that a table judges as spans, in a file of their own
    that comes first; return what then changes in the card.
    """
    files = _find_files(card, variant)
    in_tables = {query for query, path in files.items() if path.suffix == TABLE}
    moved = [query for query in collection.gold if query in queries & in_tables]
    if not moved:
        return {}
    name = f"judgments-{variant}.jsonl"
    items = [item for query in moved for item in collection.gold[query]]
    write_text(target / name, "".join(_line(_gold_row(item)) for item in items))
    judgments = {known: card.judgment_files(known) for known in card.variants}
    return {"judgments": judgments | {variant: [name, *judgments[variant]]}}


def _gold_row(item: GoldItem) -> dict[str, Any]:
    row: dict[str, Any] = {"query_id": item.query_id, "path": item.doc_id}
    if item.id != item.doc_id:
        row |= {"start": item.start, "end": item.end}
    return row | {"grade": item.grade}


def _line(row: dict[str, Any]) -> str:
    return f"{json.dumps(row, ensure_ascii=False)}\n"


def _append(path: Path, lines: str) -> None:
    """Add lines at the end of a file, in one piece."""
    text = path.read_bytes().decode()
    ended = text if not text or text.endswith("\n") else f"{text}\n"
    write_text(path, ended + lines)
