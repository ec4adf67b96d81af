"""The files that documents were made of, and what of them has changed since."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.eval.collections.formats.native import NativeCard
from assay.eval.collections.formats.reading import read_jsonl
from assay.eval.collections.formats.rows import render_rows
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError
from assay.retrievers.documents.conversion.conversion import list_formats
from assay.retrievers.documents.conversion.converters import MARKITDOWN
from assay.retrievers.documents.conversion.folder import FolderContents, list_files, read_files
from assay.retrievers.settings import Resources
from assay.retrievers.settings.trust import check_places, check_values
from assay.retrievers.store.cache import Cache, default_root
from assay.retrievers.store.digest import digest_file
from assay.retrievers.store.files import write_atomically

ORIGINAL, PATH, DIGEST = "original", "path", "sha256"
Record = Mapping[str, Any]


def record_originals(
    folder: Path, contents: FolderContents, left_out: Iterable[str] = ()
) -> list[Record]:
    """Return a record of each file in `folder` that gave a document, or none; files `left_out`
    never give one.
    """
    return [
        *({PATH: item.id, ORIGINAL: item.path, DIGEST: item.converted.digest}
          for item in contents.documents),
        *({ORIGINAL: item.path, DIGEST: _digest(folder / item.path)}
          for item in contents.skipped if item.kind != "other"),
        *({ORIGINAL: name} for name in left_out),
    ]  # fmt: skip


def render_records(records: Iterable[Record]) -> str:
    """Return records as JSON Lines, in order of their files."""
    return render_rows(sorted(records, key=lambda record: str(record[ORIGINAL])))


def copy_changes(
    card: NativeCard, root: Path, problems: Problems, *, dry_run: bool = False
) -> list[Path]:
    """Convert the originals that are new or changed, and copy their text into the collection.

    Their number is said, and each file that gives no text. The records are written last: until
    they are, the next call finds the same changes. A `dry_run` says the number alone.

    Args:
        card: A collection whose documents were made of files; of another nothing is copied.
        root: Where its data lies.
        problems: Where what is wrong is reported, and progress is shown.
        dry_run: Convert and write nothing.

    Returns:
        The files that were written.

    Raises:
        AssayError: A changed file needs what is not installed, or the card may not name its files.
    """
    folder = root / (card.originals or "")
    if card.originals is None or card.conversions is None or not folder.is_dir():
        return []  # a checkout without the files
    folder = Path(os.path.normpath(folder))
    if card.path:
        check_places([folder], root, card.path)
        check_values(card.path, card.model_dump(include={"converter"}, exclude_none=True))
    rows = read_jsonl(root / card.conversions, problems)
    known = {row.string(ORIGINAL): row.values for row in rows}
    used = card.converter or MARKITDOWN
    suffixes = list_formats(used)
    names = [n for n in list_files(folder) if n in known or Path(n).suffix.lower() in suffixes]
    if not names:
        problems.progress.say(f"{folder}: holds none of the files that the documents were made of")
        return []
    changed = [name for name in names if _has_changed(folder / name, known.get(name))]
    gone = [name for name in known if name not in set(names) and PATH in known[name]]
    if not changed and not gone:
        return []
    new = sum(name not in known for name in changed)
    problems.progress.say(
        f"{folder}: {len(changed) - new} changed, {new} new, {len(gone)} gone since their text was "
        "copied"
    )
    if dry_run:
        return []
    unchanged = [item for name, item in known.items() if name not in changed and name not in gone]
    resources = Resources(Cache(default_root()), problems.progress)
    taken = {str(item[PATH]) for item in unchanged if PATH in item}
    try:
        contents = read_files(folder, changed, resources, used, taken=taken)
    except AssayError as error:
        raise AssayError(
            f"{folder / changed[0]}: has changed since it was converted: {error}"
        ) from None
    for item in contents.skipped:
        if item.kind != "other":
            told = f"{folder / item.path}: {item.reason}; it gives no document"
            problems.progress.say(f"warning: {told}")
    lost = {str(known[name][PATH]) for name in (*changed, *gone) if PATH in known.get(name, {})}
    records = [*unchanged, *record_originals(folder, contents)]
    return _write(card, root, contents, lost, records, problems)


def _write(
    card: NativeCard,
    root: Path,
    contents: FolderContents,
    lost: set[str],
    records: Sequence[Record],
    problems: Problems,
) -> list[Path]:
    """Write the texts that were read, their pages, and the records; return the files.

    `lost` are the ids of documents whose text is not that of their file now.
    """
    folder, texts = root / card.documents, {item.id: item for item in contents.documents}
    for name in lost - texts.keys():
        (folder / name).unlink(missing_ok=True)
    files = {folder / name: item.converted.text for name, item in texts.items()}
    if card.pages:
        rows = [dict(row.values) for row in read_jsonl(root / card.pages, problems)]
        rows = [row for row in rows if row["path"] not in lost]
        rows += [
            describe_pages(name, item.converted.text, item.converted.pages)
            for name, item in texts.items()
            if item.converted.pages
        ]
        files[root / card.pages] = render_rows(sorted(rows, key=lambda row: row["path"]))
    files[root / str(card.conversions)] = render_records(records)
    for path, text in files.items():
        write_atomically(path, text.encode())
    return list(files)


def describe_pages(name: str, text: str, pages: Sequence[int]) -> dict[str, Any]:
    """Return the row that says where the pages of a document begin."""
    return {"path": name, "characters": len(text), "pages": [*pages]}


def _has_changed(path: Path, known: Record | None) -> bool:
    return known is None or (DIGEST in known and known[DIGEST] != _digest(path))


def _digest(path: Path) -> str:
    try:
        return digest_file(path)
    except OSError:
        return ""
