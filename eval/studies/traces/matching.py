"""Match the documents in spans with those of a collection or folder."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from assay.eval.studies.traces.documents import RecordedDocument
from assay.eval.studies.traces.traces import Trace
from assay.retrievers.base import AssayError, Chunk, Document
from assay.retrievers.base.answers import NamedChunks

Row = dict[str, Any]
SAME_NAME = (
    "document of the id of one above it in its list, and of another text (left out of the run, "
    "which has ids alone; --dataset finds texts)"
)
SAME_PLACE = "document at the place of one above it in its list (left out of the run)"
NAMELESS = "document without id and name (left out of the run; --dataset finds texts)"


class DocumentMatcher:
    """A matcher of recorded documents, by text in the named file or any file, or by id or path.

    `matched` and `missing` count distinct documents; `some` are a few missing ones.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self._chunks = NamedChunks(documents)
        self._found: dict[RecordedDocument, Chunk | None] = {}
        self.some: list[str] = []

    @property
    def matched(self) -> int:
        """The number of documents found."""
        return len(self._found) - self.missing

    @property
    def missing(self) -> int:
        """The number of documents not found."""
        return sum(chunk is None for chunk in self._found.values())

    def find(self, document: RecordedDocument) -> Chunk | None:
        """Return the chunk of a document of a span; None if it is not found."""
        document = document._replace(score=None)
        if document not in self._found:
            found = self._found[document] = self._look_for(document)
            if found is None and len(self.some) < 3:
                self.some.append(document.name)
        return self._found[document]

    def _look_for(self, document: RecordedDocument) -> Chunk | None:
        names = [name for name in (*document.names, document.id) if name]
        if document.content.strip():
            try:
                return self._chunks.find_text(document.content, names, document.start)
            except AssayError:
                pass  # edited since, or in several places: its id may still identify it
        for name in (document.id, *document.names):
            try:
                return self._chunks.find(name)
            except AssayError:
                known = self._chunks.find_documents(name) if name else ()
                if len(known) == 1 and not document.content.strip():
                    return self._chunks.find(known[0])
        return None


def render_run(
    trace: Trace,
    query_id: str,
    system: str,
    faults: Counter[str],
    matcher: DocumentMatcher | None = None,
) -> Row:
    """Return the row of a run file: the ranking of a search, and that of every step.

    Without a matcher documents keep their names in the spans. With one, a document that is not
    found is left out, and those below it move up. Other omissions from lists are counted in
    `faults`.
    """

    def rank(documents: Sequence[RecordedDocument]) -> list[Row]:
        hits: dict[tuple[Any, ...], Row] = {}
        for document in documents:
            place: Row
            if matcher is None:
                name = document.id or next(iter(document.names), "")
                place = {"id": name} if name else {}
                if not name:
                    faults[NAMELESS] += 1
            else:
                chunk = matcher.find(document)
                place = (
                    {"doc_id": chunk.doc_id, "start": chunk.start, "end": chunk.end}
                    if chunk
                    else {}
                )
            key = tuple(place.values())
            if key in hits:
                faults[SAME_PLACE if matcher else SAME_NAME] += 1
            elif place:
                score = {} if document.score is None else {"score": document.score}
                hits[key] = place | score
        return list(hits.values())

    steps = [
        {
            "name": f"{step.name} (inferred)" if step.inferred else step.name,
            "kind": step.kind,
            "milliseconds": step.milliseconds,
            "ranking": rank(step.documents or ()),
        }
        for step in trace.steps
    ]
    final = max(i for i, step in enumerate(trace.steps) if step.documents is not None)
    return {
        "query_id": query_id,
        "system": system,
        "ranking": steps[final]["ranking"],
        "steps": steps,
    }
