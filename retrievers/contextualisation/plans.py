"""The questions to a language model about a collection's chunks, and their cost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.retrievers.base import Chunk, Document
from assay.retrievers.contextualisation.prompts import (
    PROMPT_VERSION,
    View,
    describe,
    find_view,
    in_order,
    make_prompt,
)
from assay.retrievers.language_models.answers import AnswerCache, KeptAnswer
from assay.retrievers.language_models.base import LanguageModel, Prompt
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.digest import digest

CACHE_KIND = "contexts"
SMALLEST_WINDOW = 250  # tokens; a prompt that does not fit in fewer never will


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """One question: about characters `span` of `text`, read through a window of tokens.

    `key` is the key of the kept answer, `group` a digest of the shown part of the document:
    requests of one group share the provider's cache. `chunk_id` names the chunk, or the first of
    several equal ones.
    """

    key: str
    group: str
    chunk_id: str
    text: str
    chunk: str
    span: tuple[int, int]
    window: int

    def prompt(self, *, shared: bool) -> Prompt:
        """Return the prompt."""
        view = find_view(self.text, self.span, self.window)
        return make_prompt(view.of(self.text), self.chunk, shared=shared, key=self.key)

    def narrow(self) -> "ContextRequest | None":
        """Return the request with half the window, or None when that is too little."""
        window = self.window // 2
        return replace(self, window=window) if window >= SMALLEST_WINDOW else None


@dataclass(frozen=True, slots=True)
class ContextPlan:
    """The answers known already, by key, and the requests to make; `keys` by chunk in order.

    `windowed` documents are longer than the window of `window` tokens; `alone` is the number of
    chunks that are the whole of their document.
    """

    keys: Mapping[str, str]
    known: Mapping[str, KeptAnswer]
    requests: tuple[ContextRequest, ...]
    window: int
    windowed: tuple[str, ...]
    alone: int

    @property
    def shared(self) -> frozenset[str]:
        """The groups of several requests."""
        groups = Counter(request.group for request in self.requests)
        return frozenset(group for group, count in groups.items() if count > 1)


def make_plan(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    model: LanguageModel,
    window: int | None,
    cache: Cache,
) -> ContextPlan:
    """Return the known answers and the requests to make about `chunks`; `window` in tokens."""
    window = window or model.window
    texts = {document.id: describe(document) for document in documents}
    lengths = {document.id: len(document.text) for document in documents}
    groups: dict[tuple[str, View], str] = {}
    keys: dict[str, str] = {}
    requests: dict[str, ContextRequest] = {}
    windowed: dict[str, None] = {}
    alone = 0
    for chunk in in_order(documents, chunks):
        text = texts[chunk.doc_id]
        above = len(text) - lengths[chunk.doc_id]  # the title
        span = (chunk.start + above, chunk.end + above)
        view = find_view(text, span, window)
        if (chunk.doc_id, view) not in groups:
            groups[chunk.doc_id, view] = digest(view.of(text))
        group = groups[chunk.doc_id, view]
        if not view.is_whole(text):
            windowed[chunk.doc_id] = None
        alone += chunk.end - chunk.start == lengths[chunk.doc_id]
        words = f"{chunk.title}\n{chunk.text}" if chunk.title else chunk.text
        key = digest("context", PROMPT_VERSION, model.identity, group, words)
        keys[chunk.id] = key
        requests.setdefault(key, ContextRequest(key, group, chunk.id, text, words, span, window))
    known = AnswerCache(cache, model, CACHE_KIND).find(requests)
    pending = tuple(request for key, request in requests.items() if key not in known)
    return ContextPlan(keys, known, pending, window, tuple(windowed), alone)
