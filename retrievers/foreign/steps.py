"""Spans for the steps of a user's own pipeline, which `assay traces` reads as its stages.

They go to the provider of OpenTelemetry that the program has set, with the names of its GenAI
conventions and the kinds of OpenInference, so that Phoenix, Langfuse and MLflow show them too.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from assay.retrievers.base import AssayError, Hit
from assay.retrievers.base.installation import hint_extra

if TYPE_CHECKING:
    from opentelemetry.trace import Span

F = TypeVar("F", bound=Callable[..., Any])
Kind = Literal["query", "leg", "fusion", "stage"]
SPAN_KINDS = {"query": "CHAIN", "leg": "RETRIEVER", "fusion": "RETRIEVER", "stage": "RERANKER"}


def step(name: str, kind: Kind = "stage", query: str = "") -> "RecordedStep":
    """Record a step of a search: around a function, or as a context.

    What the function returns is its list; it is the parameter `query` of the function that was
    asked. In a `with` block call `record` with the list. The query and the texts stand in the
    span: whoever gets the spans can read them.

    Args:
        name: The name of the step in reports.
        kind: `query` (it changes the query), `leg` (a list), `fusion`, or `stage` (any step after).
        query: The query, for a `with` block.

    Returns:
        A decorator and context.

    Raises:
        AssayError: `kind` is none of these, or OpenTelemetry is not installed.

    Examples:
        >>> from assay import step
        >>> @step("rerank")
        ... def rerank(query, documents):
        ...     return sorted(documents, key=lambda document: -document["score"])
        >>> with step("bm25", kind="leg", query="may dogs travel") as recorded:
        ...     recorded.record([{"id": "dogs.md", "text": "Dogs travel on deck.", "score": 2.1}])

    """
    if kind not in get_args(Kind):
        raise AssayError(f"step {name}: kind {kind!r}; allowed: {', '.join(get_args(Kind))}")
    return RecordedStep(name, kind, query)


class RecordedStep(AbstractContextManager["RecordedStep"]):
    """A step whose span is open while its block, or the function it decorates, runs."""

    def __init__(self, name: str, kind: Kind, query: str) -> None:
        try:
            from opentelemetry import trace
        except ImportError:
            raise AssayError(f"step {name}: OpenTelemetry {hint_extra('otel')}") from None
        self._name, self._kind, self._query = name, kind, query
        self._tracer = trace.get_tracer("assay")
        self._open: list[tuple[AbstractContextManager[Span], Span]] = []

    def __enter__(self) -> "RecordedStep":
        """Open the span."""
        attributes = {
            "assay.step.kind": self._kind,
            "openinference.span.kind": SPAN_KINDS[self._kind],
        }
        if self._query:
            attributes |= {"gen_ai.retrieval.query.text": self._query, "input.value": self._query}
        context = self._tracer.start_as_current_span(self._name, attributes=attributes)
        self._open.append((context, context.__enter__()))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self._open.pop()[0].__exit__(kind, error, traceback)

    def record(self, documents: Iterable[Any]) -> None:
        """Record the list that the step returned, best first: ids, pairs, mappings, objects."""
        # One attribute: of more than 128 the SDK drops some.
        listed = json.dumps([_describe(item) for item in documents], default=str)
        self._open[-1][1].set_attribute("gen_ai.retrieval.documents", listed)

    def __call__(self, function: F) -> F:
        """Return `function` with a span around each call of it."""
        signature = inspect.signature(function)

        def begin(given: tuple[Any, ...], named: Mapping[str, Any]) -> RecordedStep:
            asked = signature.bind(*given, **named).arguments.get("query", self._query)
            query = asked if isinstance(asked, str) else ""
            return RecordedStep(self._name, self._kind, query)

        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def wait(*given: Any, **named: Any) -> Any:
                with begin(given, named) as recorded:
                    return recorded._tell(await function(*given, **named))

            return wait  # type: ignore[return-value]

        @wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            with begin(given, named) as recorded:
                return recorded._tell(function(*given, **named))

        return call  # type: ignore[return-value]

    def _tell(self, returned: Any) -> Any:
        if isinstance(returned, Sequence) and not isinstance(returned, str):
            self.record(returned)
        return returned


def _describe(item: Any) -> Any:
    """Return a document as JSON: of Assay, LangChain, LlamaIndex or Haystack, or as it is."""
    if isinstance(item, Hit):
        chunk = item.chunk
        place = {"doc_id": chunk.doc_id, "start": chunk.start}
        return {"id": chunk.id, "content": chunk.text, "score": item.score, "metadata": place}
    if isinstance(item, tuple) and len(item) == 2 and not isinstance(item[0], str):
        return [_describe(item[0]), item[1]]
    node = getattr(item, "node", item)
    texts = (getattr(node, name, None) for name in ("page_content", "content", "text"))
    text = next((text for text in texts if isinstance(text, str)), None)
    if text is None:
        return item
    ids = (getattr(node, name, None) for name in ("id", "node_id"))
    said = getattr(node, "metadata", None) or getattr(node, "meta", None) or {}
    start = getattr(node, "start_char_idx", None)
    return {
        "id": next(filter(None, ids), None),
        "content": text,
        "score": getattr(item, "score", None),
        "metadata": dict(said) | ({} if start is None else {"start_char_idx": start}),
    }
