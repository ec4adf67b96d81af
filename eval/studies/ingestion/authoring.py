"""A judged collection of somebody's own files, which are converted first."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.eval.collections.authoring.author import (
    AuthoredCollection,
    Origin,
    add,
    author,
    find_target,
)
from assay.eval.collections.formats.originals import record_originals
from assay.eval.configs.resources import make_resources
from assay.retrievers.documents.conversion.converters import MARKITDOWN, AnyConverter
from assay.retrievers.documents.conversion.folder import FolderContents, read_folder


def author_folder(
    folder: Path,
    questions: Path | None,
    name: str | None,
    output: Path | None,
    *,
    force: bool,
    converter: AnyConverter | None = None,
) -> tuple[AuthoredCollection, FolderContents]:
    """Make a collection of the documents below `folder` and of the file `questions`.

    Return it, and what was read, by `converter` or else by markitdown. The questions themselves
    are no document. For `output` and errors see `assay.eval.collections.authoring.author`.
    """
    read = read_folder(folder, make_resources(), converter or MARKITDOWN)
    asked = questions.resolve() if questions else None
    own = [item for item in read.documents if (folder / item.path).resolve() == asked]
    read = replace(read, documents=tuple(item for item in read.documents if item not in own))
    origin = describe_folder(folder, read, converter, [item.path for item in own])
    return author(origin, questions, name, output, force=force), read


def describe_folder(
    folder: Path,
    read: FolderContents,
    converter: AnyConverter | None = None,
    left_out: Sequence[str] = (),
) -> Origin:
    """Return the origin of the documents of a folder: copies where one is not what its file holds.

    Files `left_out` give no documents.
    """
    texts = {item.id: item.converted.text for item in read.documents}
    return Origin(
        folder,
        None if read.untouched else texts,
        pages={item.id: item.converted.pages for item in read.documents},
        records=() if read.untouched else record_originals(folder, read, left_out),
        converter=converter,
    )


def add_questions(
    folder: Path, questions: Path, name: str | None, output: Path | None
) -> AuthoredCollection:
    """Add `questions` to the collection that `author_folder` made of `folder`."""
    return add(questions, find_target(folder, name, output))
