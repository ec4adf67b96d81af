"""Places in documents: what a row of spans, sections, anchors or documents means."""

from collections.abc import Mapping

from assay.eval.collections.collection import GoldItem, Span
from assay.eval.collections.formats.rows import Row, RowError, describe_unknown, read_grade
from assay.retrievers.base import Document
from assay.retrievers.base.folding import fold_name
from assay.retrievers.base.markdown import is_plain, read_headings


def resolve_judgment(row: Row, documents: Mapping[str, Document], judged_by: str = "") -> GoldItem:
    """Return the gold item of a row with `start` and `end`, with `section`, or with neither.

    A span is taken without the white space at its ends. `judged_by` is whose grade it is where the
    row names nobody. Raises RowError.
    """
    document = find_document(row, documents)
    query_id, grade = row.string("query_id"), read_grade(row)
    judge = row.string("judged_by", "") or judged_by
    if row.has("start") or row.has("end"):
        span = read_span(row, document)
    elif row.has("section"):
        span = find_section(row.string("section"), document)
    else:
        span = (0, len(document.text))
        return GoldItem(query_id, document.id, document.id, *span, grade, judged_by=judge)
    return make_span_item(query_id, document.id, span, grade, judge)


def resolve_anchor(row: Row, places: Mapping[str, Span]) -> GoldItem:
    """Return the gold item of a row that names one of `places`. Raises RowError."""
    target = row.string("target")
    if target not in places:
        raise RowError(describe_unknown("anchor or document", target, places))
    document_id, start, end = places[target]
    query_id, grade = row.string("query_id"), row.integer("grade")
    if target == document_id:
        return GoldItem(query_id, document_id, document_id, start, end, grade)
    return make_span_item(query_id, document_id, (start, end), grade)


def make_span_item(
    query_id: str, document_id: str, span: tuple[int, int], grade: int, judge: str = ""
) -> GoldItem:
    """Return the gold item of a judged span."""
    start, end = span
    id_ = f"{document_id}[{start}:{end}]"
    return GoldItem(query_id, id_, document_id, start, end, grade, judged_by=judge)


def find_document(row: Row, documents: Mapping[str, Document]) -> Document:
    """Return the document at the `path` of a row. Raises RowError."""
    path = row.string("path")
    if path not in documents:
        raise RowError(describe_unknown("document", path, documents))
    return documents[path]


def read_span(row: Row, document: Document) -> tuple[int, int]:
    """Return `start` and `end` of a row without the white space at their ends. Raises RowError."""
    start, end = row.integer("start"), row.integer("end")
    if not 0 <= start < end <= len(document.text):
        raise RowError(
            f'span {start} to {end} is not within "{document.id}"; '
            f"allowed: 0 <= start < end <= {len(document.text)}"
        )
    if row.has("text"):
        piece, told = document.text[start:end], row.string("text")
        if told.strip() != piece.strip():
            raise RowError(
                f'"{document.id}" reads {_shorten(piece)} from {start} to {end}, '
                f"the row says {_shorten(told)}"
            )
    return _trim(document.text, start, end)


def find_section(heading: str, document: Document) -> tuple[int, int]:
    """Return start and end of the one section with this heading. Raises RowError."""
    if is_plain(document.id):
        raise RowError(f'"{document.id}" is plain text and has no sections; give start and end')
    wanted = _fold(heading)
    found = [item for item in read_headings(document.text) if _fold(item.title) == wanted]
    if len(found) == 1:
        return _trim(document.text, found[0].start, found[0].end)
    if found:
        lines = [document.text.count("\n", 0, item.start) + 1 for item in found]
        places = ", ".join(map(str, lines))
        raise RowError(
            f'"{document.id}" has the heading "{heading}" at lines {places}; give start and end'
        )
    titles = ", ".join(f'"{item.title}"' for item in read_headings(document.text)[:5])
    raise RowError(f'"{document.id}" has no heading "{heading}"; it has: {titles or "none"}')


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    if not (text[start].isspace() or text[end - 1].isspace()):
        return start, end
    piece = text[start:end]
    if piece.isspace():
        raise RowError(f"span {start} to {end} holds nothing but white space")
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())


def _fold(heading: str) -> str:
    return " ".join(fold_name(heading.lstrip("#")).split())


def _shorten(text: str) -> str:
    one_line = " ".join(text.split())
    return repr(one_line if len(one_line) <= 40 else f"{one_line[:37]}...")
