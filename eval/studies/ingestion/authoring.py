"""A judged collection made from a user's own files, which are converted first."""

from dataclasses import replace
from pathlib import Path

from assay.eval.collections.authoring.author import (
    AuthoredCollection,
    Origin,
    add,
    author,
    find_target,
)
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

    Return it, and the contents of the folder, read by `converter` or else by markitdown. The file
    of the questions is not a document. For `output` and errors see
    `assay.eval.collections.authoring.author`.
    """
    read = read_folder(folder, make_resources(), converter or MARKITDOWN)
    asked = questions.resolve() if questions else None
    own = [item for item in read.documents if (folder / item.path).resolve() == asked]
    read = replace(read, documents=tuple(item for item in read.documents if item not in own))
    left_out = [item.path for item in own]
    origin = Origin.from_folder(folder, read, converter, left_out)
    return author(origin, questions, name, output, force=force), read


def add_questions(
    folder: Path, questions: Path, name: str | None, output: Path | None
) -> AuthoredCollection:
    """Add `questions` to the collection that `author_folder` made of `folder`."""
    return add(questions, find_target(folder, name, output))
