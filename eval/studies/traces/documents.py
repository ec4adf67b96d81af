"""Read retrieved documents and queries from spans of different forms.

The forms are those of OpenInference (retrieval.documents.0.document.id …), of OpenTelemetry's GenAI
conventions (gen_ai.retrieval.documents), and the return values of LangChain, LlamaIndex, Haystack
and plain code, which MLflow and Langfuse record as JSON.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from assay.retrievers.base.json_text import parse_json

LARGEST = 1 << 20  # characters of a value; a longer one is left out
LISTS = (
    "documents", "docs", "nodes", "hits", "results", "chunks", "matches", "passages", "contexts",
    "source_documents", "retrieved_documents", "output", "data",
)  # fmt: skip
IDS = ("id", "id_", "_id", "chunk_id", "node_id", "doc_id", "document_id")
CONTENTS = ("content", "page_content", "text", "passage", "snippet", "body")
SCORES = ("score", "_score", "relevance_score", "similarity", "similarity_score")
NAMES = (
    "source", "path", "file_path", "file_name", "filename", "doc_uri", "document", "doc_id",
    "document_id", "title", "url",
)  # fmt: skip
OFFSETS = ("start_index", "start_char_idx", "split_idx_start", "start")
QUERIES = ("query", "question", "search_query", "query_str", "user_input", "input", "text", "q")
FLAT = re.compile(r"(\d+)\.(?:document|embedding)\.(\w+)")


class RecordedDocument(NamedTuple):
    """A document of a list in a span: `names` may name its file, `start` is its offset in it."""

    id: str
    content: str
    score: float | None
    names: tuple[str, ...]
    start: int | None

    @property
    def name(self) -> str:
        """The name of the document: its id, or its text if it has none."""
        return self.id or self.content


def find_list(attributes: Mapping[str, Any], name: str) -> list[RecordedDocument] | None:
    """Return the list that OpenInference calls `name`, flattened or not; None if there is none.

    An attribute of a span cannot hold a list of objects, so exporters flatten it.
    """
    if (given := look_up(attributes, name)) is not None:
        return read_documents(given)
    found: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        if key.startswith(name) and (part := FLAT.fullmatch(key[len(name) + 1 :])):
            found.setdefault(int(part[1]), {})[part[2]] = value
    return read_documents([found[i] for i in sorted(found)]) if found else None


def look_up(attributes: Mapping[str, Any], name: str) -> Any:
    """Return an attribute by its dotted name, from a flat or a nested mapping."""
    if name in attributes:
        return attributes[name]
    value: Any = attributes
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def read_documents(value: Any) -> list[RecordedDocument] | None:
    """Return the documents that a value lists, best first; None if it is no list of documents."""
    value = parse(value)
    for _ in range(2):  # {"output": {"documents": […]}}
        if isinstance(value, Mapping):
            lists = (parse(value[name]) for name in LISTS if name in value)
            value = next((i for i in lists if isinstance(i, list | Mapping)), None)
    if not isinstance(value, list):
        return None
    read = [found for item in value if (found := _read_document(item))]
    return None if value and not read else read


def unique(documents: Iterable[RecordedDocument]) -> list[RecordedDocument]:
    """Return each document once, at its first place, compared by id and text if both have one.

    Parts of one file may share its id.
    """
    found: dict[tuple[str, str], RecordedDocument] = {}
    ids: set[str] = set()
    for document in documents:
        id_, text = document.id, document.content
        if id_ in ids and (not text or (id_, "") in found):
            continue
        found.setdefault((id_, text), document)
        ids |= {id_} - {""}
    return list(found.values())


def read_query(value: Any) -> str:
    """Return the query in the input of a span; "" if it has none."""
    value = parse(value)
    if isinstance(value, str):
        return clean(value).strip()
    if isinstance(value, list):  # of messages, or of arguments
        said = [item for item in value if isinstance(item, Mapping)]
        asked = [i for i in said if str(i.get("role", i.get("type"))) in ("user", "human")]
        if asked:
            return read_query(asked[-1].get("content"))
        return next((read_query(item) for item in value if isinstance(item, str)), "")
    if not isinstance(value, Mapping):
        return ""
    if isinstance(value.get("kwargs"), Mapping):
        asked_in = read_query(value["kwargs"]) or read_query(value.get("args"))
        if asked_in:
            return asked_in
    if isinstance(value.get("messages"), list):
        return read_query(value["messages"])
    asked_by = (read_query(value[name]) for name in QUERIES if name in value)
    return next(filter(None, asked_by), "")


def parse(value: Any) -> Any:
    """Parse a string that holds JSON; return any other value unchanged."""
    if isinstance(value, str) and value[:1] in '{["' and value:
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def clean(value: Any) -> str:
    """Return a value as text that can be encoded; "" for None, a container or too long a text."""
    text = "" if value is None or isinstance(value, Mapping | list) else str(value)
    return text.encode("utf-8", "replace").decode() if len(text) <= LARGEST else ""


def _read_document(item: Any) -> RecordedDocument | None:
    score = None
    if isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 2:
        item, score = item  # LangChain's pairs of a document and its score
    if isinstance(item, str):  # a text, or an id where there are no blanks
        text = clean(item)
        named = not re.search(r"\s", text)
        return RecordedDocument(*((text, "") if named else ("", text)), _as_number(score), (), None)
    if not isinstance(item, Mapping):
        return None
    item = {str(key).removeprefix("document."): value for key, value in item.items()}
    for wrapper in ("document", "node", "chunk", "kwargs"):
        if isinstance(item.get(wrapper), Mapping):
            item = {**item, **item[wrapper]}
    said = parse(item.get("metadata", item.get("meta")))
    said = said if isinstance(said, Mapping) else {}
    number = _pick_number(item, SCORES) if score is None else _as_number(score)
    offset = _pick_number({**item, **said}, OFFSETS)
    found = RecordedDocument(
        next(filter(None, _pick_texts(item, IDS)), ""),
        next(filter(None, _pick_texts(item, CONTENTS)), ""),
        number,
        tuple(filter(None, (*_pick_texts(said, NAMES), *_pick_texts(item, NAMES)))),
        None if offset is None or offset < 0 else int(offset),
    )
    return found if found.name else None


def _pick_texts(item: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    found = map(item.get, names)
    return [clean(value) for value in found if value is not None and isinstance(value, (str, int))]


def _pick_number(item: Mapping[str, Any], names: Iterable[str]) -> float | None:
    return next((_as_number(item[name]) for name in names if item.get(name) is not None), None)


def _as_number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
