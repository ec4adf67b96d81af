"""The files of judgments of a native collection, line by line, as a sync reads and writes them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.eval.collections.formats.native import TABLE, NativeCard
from assay.eval.collections.formats.reading import GZIP, find_suffix, read_jsonl
from assay.eval.collections.formats.rows import Row, render_rows
from assay.eval.collections.living.findings import Finding
from assay.eval.collections.living.selectors import (
    SELECTOR,
    STATUS,
    Anchor,
    flatten,
    list_headings,
    make_selectors,
    read_anchor,
    sketch,
    without_anchor,
)
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError
from assay.retrievers.store.digest import digest

METADATA = "metadata"  # the key of a file of anchors below which their places are


@dataclass(slots=True)
class Record:
    """A line of a file of judgments or anchors; `values` is what it says, which a sync changes."""

    file: Path
    line: int
    values: dict[str, Any]
    anchor: Anchor

    @property
    def status(self) -> str:
        """The reason why a sync set it aside; "" if it counts."""
        return str(self.values.get(STATUS, ""))

    @property
    def query_id(self) -> str:
        """The query judged; of an anchor its own id."""
        return str(self.values.get("query_id") or self.values.get("_id", ""))

    @property
    def key(self) -> str:
        """The id of a judgment while it waits for a person's decision."""
        item = self.anchor
        return digest(self.query_id, item.path, item.start, item.section, item.exact)[:16]

    def put(self, finding: Finding, text: str, copies: int) -> None:
        """Write where the judgment stands now, in a document's `text`."""
        found, old = finding.place, self.anchor
        assert found is not None
        values: dict[str, Any] = {"path": found.doc_id}
        if old.is_document:
            values["lines"] = sketch(text)
        else:
            values[SELECTOR] = make_selectors(text, found.start, found.end)
            if headings := list_headings(found.doc_id, text, found.start):
                values["headings"] = headings
            if copies > 1:
                values["copies"] = copies
        rest = without_anchor(self.values)
        if old.section and found.doc_id != old.path:
            del rest["section"]  # it may be called otherwise there; its text is known
        self.values = _arrange(rest | values)

    def set_aside(self, status: str) -> None:
        """Record the reason why the judgment no longer counts."""
        self.values = _arrange(self.values | {STATUS: status})


def list_files(card: NativeCard, root: Path) -> tuple[list[Path], Path | None]:
    """Return the files of judgments that are JSON Lines, and that of anchors.

    Raises AssayError where judgments are in a file that a sync cannot write.
    """
    names = dict.fromkeys(i for name in card.variants for i in card.judgment_files(name))
    anchors = root / card.anchors if card.anchors else None
    files = []
    for path in (root / name for name in names):
        if find_suffix(path) != TABLE:
            files.append(path)
        elif anchors is None:
            raise AssayError(
                f"{path}: a table of whole documents keeps nothing to know them by; write the "
                'judgments as JSON Lines: {"query_id": "q1", "path": "guide.md", "grade": 1}'
            )
    for path in [*files, *filter(None, [anchors])]:
        if path.suffix == GZIP:
            raise AssayError(f"{path}: a packed file is not changed; unpack it")
    return files, anchors


def read_records(path: Path, problems: Problems, *, of_anchors: bool) -> list[Record]:
    """Return the lines of a file. Raises AssayError, naming the line, where one is broken."""
    records = []
    for row in read_jsonl(path, problems):
        with problems.of(row):
            values = row.mapping(METADATA) if of_anchors else dict(row.values)
            anchor = read_anchor(flatten(Row(path, row.line, values)))
            if of_anchors:
                values = {"_id": row.string("_id"), **values}
            else:
                row.string("query_id")
            records.append(Record(path, row.line, values, anchor))
    return records


def render_records(records: Iterable[Record], *, of_anchors: bool) -> bytes:
    """Return the content of a file: sorted, so that lines of two branches merge."""
    values = (record.values for record in sorted(records, key=_order))
    return render_rows(map(_nest, values) if of_anchors else values).encode()


def _order(record: Record) -> tuple[str, str, int, str]:
    flat = flatten(Row(record.file, record.line, record.values)).values
    where = str(flat["path"]), int(flat.get("start", -1))
    return record.query_id, *where, str(flat.get("text", ""))


def _nest(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"_id": values["_id"], METADATA: {k: v for k, v in values.items() if k != "_id"}}


def _arrange(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values in the order in which a line has them."""
    first = ("_id", "query_id", "path", "section", "grade", STATUS, SELECTOR, "headings", "copies")
    return {key: values[key] for key in first if key in values} | dict(values)
