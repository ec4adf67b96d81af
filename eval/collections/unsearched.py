"""What of documents no retriever searches by default, so that nothing judged may lie there."""

from collections.abc import Iterable, Mapping

from assay.retrievers.base import Document
from assay.retrievers.base.frontmatter import read_frontmatter
from assay.retrievers.base.markdown import is_plain


def find_unsearched(document: Document) -> int:
    """Return where the frontmatter of a document ends, 0 where it has none or that is searched."""
    if is_plain(document.id) or not document.text.startswith(("---", "\ufeff---")):
        return 0
    about = read_frontmatter(document.text)
    alone = about.text and not document.text[about.end :].strip()
    return 0 if alone or not about.metadata else about.end


def is_unsearched(document: Document, start: int, end: int) -> bool:
    """Say whether more than half of a span lies in frontmatter that is not searched."""
    return 2 * (find_unsearched(document) - start) > end - start


def describe_unsearched(documents: Iterable[Document]) -> str:
    """Return in words whose frontmatter is not searched, "" where none has such."""
    names = [document.id for document in documents if find_unsearched(document)]
    if not names:
        return ""
    whose = "one document" if len(names) == 1 else f"{len(names):,} documents"
    return (
        f'the frontmatter of {whose} is not searched (first: "{names[0]}"), unless a pipeline sets '
        "documents.frontmatter to text or chunk"
    )


def describe_frontmatter(documents: Mapping[str, Document]) -> tuple[str, ...]:
    """Return in words what of the documents' frontmatter is not searched, or is read as text."""
    broken = [
        f"{name}: {note}"
        for name, document in documents.items()
        if not is_plain(name) and (note := read_frontmatter(document.text).note)
    ]
    return (*broken, *filter(None, [describe_unsearched(documents.values())]))
