"""A judged collection of somebody's own files, which are converted first."""

from pathlib import Path

from assay.eval.collections.authoring.author import (
    AuthoredCollection,
    Origin,
    add,
    author,
    find_target,
)
from assay.eval.configs.resources import make_resources
from assay.retrievers.documents.conversion.folder import FolderContents, read_folder


def author_folder(
    folder: Path, questions: Path | None, name: str | None, output: Path | None, *, force: bool
) -> tuple[AuthoredCollection, FolderContents]:
    """Make a collection of the documents below `folder` and of the file `questions`.

    Return it, and what was read: for `output` and errors see
    `assay.eval.collections.authoring.author`.
    """
    read = read_folder(folder, make_resources())
    texts = {item.id: item.converted.text for item in read.documents}
    pages = {item.id: item.converted.pages for item in read.documents}
    origin = Origin(folder, None if read.untouched else texts, pages=pages)
    return author(origin, questions, name, output, force=force), read


def add_questions(
    folder: Path, questions: Path, name: str | None, output: Path | None
) -> AuthoredCollection:
    """Add `questions` to the collection that `author_folder` made of `folder`."""
    return add(questions, find_target(folder, name, output))
