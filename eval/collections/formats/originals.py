"""The files that documents were made of, and their changes since."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.eval.collections.formats.rows import render_rows
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError
from assay.retrievers.documents.conversion.conversion import list_formats
from assay.retrievers.documents.conversion.converters import MARKITDOWN, AnyConverter
from assay.retrievers.documents.conversion.folder import (
    FolderContents,
    SkippedFile,
    list_files,
    read_files,
)
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root
from assay.retrievers.store.digest import digest_file

ORIGINAL, PATH, DIGEST = "original", "path", "sha256"
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of originals since the documents were made of them.

    `texts` and `pages` are those of documents of new or changed files, by id; `gone` the ids of
    documents without a file that gives them text. `records` describe all files as they are now.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    records: Sequence[Record] = ()

    def __bool__(self) -> bool:
        return bool(self.records)


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


def find_changes(
    folder: Path,
    known: Mapping[str, Record],
    converter: AnyConverter | None,
    problems: Problems,
) -> Changes:
    """Compare the files in `folder` with the records `known` of them, and convert changed ones.

    Reports their number. A file that gives no text is reported. Raises AssayError if a changed file
    needs a package that is not installed.
    """
    used = converter or MARKITDOWN
    read = list_formats(used)
    names = [n for n in list_files(folder) if n in known or Path(n).suffix.lower() in read]
    if not names:
        problems.warn(folder, 0, "holds none of the files that the documents were made of")
        return Changes()
    changed = [name for name in names if _has_changed(folder / name, known.get(name))]
    gone = [name for name in known if name not in set(names) and PATH in known[name]]
    if not changed and not gone:
        return Changes()
    stays = {str(item[PATH]) for name, item in known.items()
             if PATH in item and name not in changed and name not in gone}  # fmt: skip
    resources = Resources(Cache(default_root()), problems.progress)
    try:
        contents = read_files(folder, changed, resources, used, taken=stays)
    except AssayError as error:
        raise AssayError(
            f"{folder / changed[0]}: has changed since it was converted: {error}"
        ) from None
    for item in contents.skipped:
        _report(folder, item, problems)
    texts = {item.id: item.converted.text for item in contents.documents}
    lost = {str(known[name][PATH]) for name in (*changed, *gone) if PATH in known.get(name, {})}
    unchanged = [item for name, item in known.items() if name not in changed and name not in gone]
    new = sum(name not in known for name in changed)
    told = f"{len(changed) - new} changed, {new} new, {len(gone)} gone since their text was copied"
    problems.progress.say(f"{folder}: {told}; read as they are now")
    problems.warn(folder, 0, f"{told}; `assay dataset sync` copies their text again")
    return Changes(
        texts,
        {item.id: item.converted.pages for item in contents.documents},
        frozenset(lost - texts.keys()),
        [*unchanged, *record_originals(folder, contents)],
    )


def _has_changed(path: Path, known: Record | None) -> bool:
    return known is None or (DIGEST in known and known[DIGEST] != _digest(path))


def _digest(path: Path) -> str:
    try:
        return digest_file(path)
    except OSError:
        return ""


def _report(folder: Path, item: SkippedFile, problems: Problems) -> None:
    if item.kind == "other":
        return
    problems.warn(folder / item.path, 0, f"{item.reason}; it gives no document")
    problems.progress.say(f"warning: {folder / item.path}: {item.reason}; it gives no document")
