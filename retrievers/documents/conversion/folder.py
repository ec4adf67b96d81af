"""A folder of files of many formats to documents; files that give none are reported."""

import queue
from collections.abc import Collection, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.retrievers.base import AssayError
from assay.retrievers.base.threads import ThreadPool
from assay.retrievers.documents.conversion.conversion import (
    TEXTS,
    BlankError,
    ConversionError,
    ConvertedText,
    Converter,
    list_formats,
)
from assay.retrievers.documents.conversion.converters import MARKITDOWN, AnyConverter
from assay.retrievers.settings import Resources


@dataclass(frozen=True, slots=True)
class FolderDocument:
    """The text of one file.

    `path` is relative to the folder, with `/`. `id` is the path, with `.md` after it when the
    text was converted to Markdown.
    """

    id: str
    path: str
    converted: ConvertedText

    @property
    def untouched(self) -> bool:
        """True if the text is that of the file itself, in UTF-8."""
        return self.converted.encoding == "utf-8"


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that gives no document, and why: `blank` has no text, `other` has a format that is
    not read.
    """

    path: str
    reason: str
    kind: Literal["broken", "blank", "other"] = "broken"

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True, slots=True)
class FolderContents:
    """The contents of a folder, in order of paths."""

    documents: tuple[FolderDocument, ...]
    skipped: tuple[SkippedFile, ...]

    @property
    def untouched(self) -> bool:
        """True if it has only text files to read, and each is sound and in UTF-8."""
        broken = (item for item in self.skipped if item.kind == "broken" and _is_text(item.path))
        return all(item.untouched for item in self.documents) and not any(broken)


def read_folder(
    folder: Path, resources: Resources, converter: AnyConverter = MARKITDOWN
) -> FolderContents:
    """Return the documents below `folder`; hidden files and Office's lock files are skipped.

    Raises AssayError when there is no such folder, or no document in it.
    """
    if not folder.is_dir():
        wrong = "is no folder" if folder.exists() else "there is no such folder"
        raise AssayError(f"{folder}: {wrong}")
    return _read(folder, list_files(folder), folder, resources, converter)


def read_place(
    place: Path, resources: Resources, converter: AnyConverter = MARKITDOWN
) -> FolderContents:
    """Return the documents of a folder, as `read_folder` does, or that of one file.

    Raises AssayError when there is neither, or no document in it.
    """
    if place.is_file():
        return _read(place.parent, [place.name], place, resources, converter)
    return read_folder(place, resources, converter)


def _read(
    folder: Path, files: Sequence[str], place: Path, resources: Resources, settings: AnyConverter
) -> FolderContents:
    """Return the documents of `files` below `folder`; `place` is what the user named."""
    contents = read_files(folder, files, resources, settings)
    if contents.documents:
        return contents
    # One file of each other format says enough of a folder of something else.
    others = {item.reason: item for item in reversed(contents.skipped) if item.kind == "other"}
    for item in contents.skipped:
        if item.kind != "other" or item is others[item.reason]:
            resources.progress.say(str(item))
    allowed = ", ".join(list_formats(settings))
    raise AssayError(f"{place}: holds no documents; allowed: {allowed}")


def read_files(
    folder: Path,
    files: Sequence[str],
    resources: Resources,
    settings: AnyConverter,
    taken: Collection[str] = (),
) -> FolderContents:
    """Return the documents of `files` below `folder`; they get none of the ids in `taken`."""
    results = _convert_all(folder, files, resources, settings)
    documents: dict[str, FolderDocument] = {}
    skipped = []
    # A text keeps its name, so it comes before a converted file that would take the same.
    for name, result in sorted(results, key=lambda pair: (not _is_text(pair[0]), pair[0])):
        if isinstance(result, SkippedFile):
            skipped.append(result)
            continue
        identifier = name if _is_text(name) else f"{name}.md"
        if identifier in documents or identifier in taken:
            skipped.append(SkippedFile(name, f"its document would be {identifier}, which is there"))
            continue
        for note in result.notes:
            resources.progress.say(f"{name}: {note}")
        documents[identifier] = FolderDocument(identifier, name, result)
    skipped.sort(key=lambda item: item.path)
    ordered = sorted(documents.values(), key=lambda item: item.path)
    return FolderContents(tuple(ordered), tuple(skipped))


def list_files(folder: Path) -> list[str]:
    """Return the paths of the files, relative to `folder`, with `/`."""
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith((".", "~$")) for part in path.relative_to(folder).parts)
    )


def _convert_all(
    folder: Path, names: Sequence[str], resources: Resources, settings: AnyConverter
) -> list[tuple[str, ConvertedText | SkippedFile]]:
    """Convert the files below `folder`, as many at a time as the resources have threads."""
    free: queue.SimpleQueue[Converter] = queue.SimpleQueue()
    formats = list_formats(settings)

    def convert(name: str) -> ConvertedText | SkippedFile:
        path = folder / name
        try:
            name.encode()
        except UnicodeEncodeError:
            readable = name.encode("utf-8", "backslashreplace").decode()
            return SkippedFile(readable, "its name is not in UTF-8; rename it")
        if path.suffix.lower() not in formats:
            kind = f"format {path.suffix}" if path.suffix else "a file without a suffix"
            return SkippedFile(name, f"{kind} is not read", "other")
        converter = free.get()
        try:
            return converter.convert(path)
        except BlankError as error:
            return SkippedFile(name, str(error), "blank")
        except ConversionError as error:
            return SkippedFile(name, str(error))
        finally:
            free.put(converter)

    with ExitStack() as stack:
        for _ in range(resources.threads):
            free.put(stack.enter_context(closing(Converter(resources.cache, settings))))
        pool = stack.enter_context(ThreadPool(resources.threads))
        results = resources.progress.track(pool.map(convert, names), "converting", len(names))
        return list(zip(names, results, strict=True))


def _is_text(name: str) -> bool:
    return name.lower().endswith(TEXTS)
