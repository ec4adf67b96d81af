"""The context: as many of the best hits as a prompt has room for, and how they read there."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from assay.retrievers.base import Chunk, Hit
from assay.retrievers.base.markdown import tokenize
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.chunkers.base import ID_DIGITS
from assay.retrievers.documents.structure.sentences import sentence_ends
from assay.retrievers.model_files.pins import DEFAULT_TOKENIZER
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import Stage, StageResult, StageSettings
from assay.retrievers.store.digest import digest

if TYPE_CHECKING:
    from assay.retrievers.models.tokens import Tokenizer

REVISION = 1  # raise it when the same tokenizer comes to count otherwise
CACHE_KIND = "tokens"
SEPARATOR = "\n\n---\n\n"
# What CommonMark ends a block of HTML at, where that is not a blank line.
HTML_ENDS = ("-->", "</pre>", "?>", "]]>", ">")
_WORD = re.compile(r"\S+")
_FENCE = re.compile("`{3,}|~{3,}")
_BLOCK = re.compile("`{3}|~{3}|<(?:[!?]|script|pre|style|textarea)", re.I)


class ContextSettings(StageSettings):
    """Keeps the best hits that fit a prompt, headings and separators counted."""

    type: Literal["context"]
    max_tokens: int = Field(4500, ge=1, description="the most tokens of the assembled context")
    on_overflow: Literal["cut", "stop", "skip"] = Field(
        "cut",
        description="of the first hit that does not fit keep the sentences that do, and leave out "
        "all from there on (cut); leave it out too (stop); or leave out that one alone (skip). The "
        "best hit is never left out: where it alone does not fit it is cut",
    )
    tokenizer: str = Field(
        DEFAULT_TOKENIZER,
        min_length=1,
        description="whose tokens are counted: a pinned tokenizer or encoder, or a folder that "
        "holds tokenizer.json; best that of the model which reads the context",
    )

    def build(self, resources: Resources) -> Stage:
        """Return the stage, its tokenizer loaded."""
        from assay.retrievers.models.tokens import Tokenizer

        return Context(self, Tokenizer(self.tokenizer, resources), resources)


class Context(Stage):
    """Takes hits in the order of their ranks while `assemble` of them stays within the budget.

    There are hits as long as the budget has room for the headline of the best and a letter.
    """

    def __init__(
        self, settings: ContextSettings, tokenizer: "Tokenizer", resources: Resources
    ) -> None:
        self._settings = settings
        self._tokenizer = tokenizer
        self._resources = resources
        self._sizes: dict[str, int] = {}

    def index(self, corpus: Corpus, top: float) -> None:
        """Count the tokens of every chunk."""
        texts = {chunk.text for chunk in corpus.chunks}
        counts = _count_tokens(texts, self._tokenizer, self._resources)
        self._sizes = {chunk.id: counts[chunk.text] for chunk in corpus.chunks}

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return the hits that fit, the last of them cut where settings or need say so."""
        kept = self._fit(hits)
        tokens = self._tokenizer.count(assemble(kept))
        # The tokens of a whole need not be the sum of its parts'.
        while tokens > self._settings.max_tokens:
            kept.pop()
            tokens = self._tokenizer.count(assemble(kept))
        cut = False
        if len(kept) < len(hits) and (self._settings.on_overflow == "cut" or not kept):
            part = self._cut(hits[len(kept)], tokens)
            longer = assemble([*kept, part] if part else kept)
            size = self._tokenizer.count(longer)
            if part and size <= self._settings.max_tokens and longer != assemble(kept):
                kept.append(part)
                tokens, cut = size, True
        dropped = len(hits) - len(kept)
        counts = {"tokens": tokens, "chunks": len(kept), "dropped": dropped, "cut": int(cut)}
        notes = ["cut the last hit to fit"] if cut else []
        if dropped:
            notes.append(f"left out {dropped} hits that exceed {self._settings.max_tokens}")
        return StageResult(
            kept,
            f"{tokens} tokens; {', '.join(notes)}" if notes else "",
            {"in": len(hits), "out": len(kept), **counts},
        )

    def metadata(self) -> Mapping[str, Any]:
        """Return the digest of the tokenizer."""
        return {"tokenizer": self._tokenizer.identity}

    def _fit(self, hits: Sequence[Hit]) -> list[Hit]:
        count = cache(self._tokenizer.count)
        kept: list[Hit] = []
        for hit in hits:
            stretches = list(_gather([*kept, hit]))
            total = count(SEPARATOR) * (len(stretches) - 1)
            total += sum(count(item.headline) + self._size(item, count) for item in stretches)
            if total <= self._settings.max_tokens:
                kept.append(hit)
            elif self._settings.on_overflow != "skip":
                break
        return kept

    def _cut(self, hit: Hit, used: int) -> Hit | None:
        """Return as much of `hit` as fits after `used` tokens: whole sentences, or for the best hit
        also words or letters if need be; None if nothing fits.
        """
        count = self._tokenizer.count
        room = self._settings.max_tokens - used - (count(SEPARATOR) if used else 0)
        text = hit.chunk.text
        levels: list[Sequence[int]] = [list(sentence_ends(text, 0, len(text)))]
        if not used:
            levels += [[match.end() for match in _WORD.finditer(text)], range(1, len(text))]
        for ends in levels:
            fitting = bisect_right(ends, room, key=lambda end: count(assemble([_take(hit, end)])))
            if fitting and text[: ends[fitting - 1]].strip():
                return _take(hit, ends[fitting - 1])
        return None

    def _size(self, stretch: "Stretch", count: Callable[[str], int]) -> int:
        if len(stretch.chunks) != 1:
            return sum(map(count, stretch.text.splitlines(keepends=True)))
        (chunk,) = stretch.chunks
        # A stage before may have put a parent in the place of an indexed chunk.
        return self._sizes[chunk.id] if chunk.id in self._sizes else count(chunk.text)


def _take(hit: Hit, length: int) -> Hit:
    """Return `hit` with the first `length` characters of its chunk, and with a new id because the
    text differs; without definitions, and without anchors, which may be in the rest.
    """
    chunk = hit.chunk
    text = chunk.text[:length]
    id_ = digest(chunk.id, "cut", text)[:ID_DIGITS]
    part = replace(chunk, id=id_, text=text, end=chunk.start + length, anchors=())
    return replace(hit, chunk=part, definitions=())


def _count_tokens(
    texts: Collection[str], tokenizer: "Tokenizer", resources: Resources
) -> Mapping[str, int]:
    keys = {text: digest(REVISION, tokenizer.identity, text) for text in texts}
    known = resources.cache.get_many(CACHE_KIND, keys.values())
    missing = [text for text, key in keys.items() if key not in known]
    if missing:
        tracked = resources.progress.track(missing, "counting tokens", len(missing))
        fresh = {keys[text]: str(tokenizer.count(text)).encode() for text in tracked}
        resources.cache.put_many(CACHE_KIND, fresh)
        known |= fresh
    return {text: int(known[key]) for text, key in keys.items()}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A continuous piece of a context, and its source chunks: none for definitions.

    `headline` is the line above it; empty if the section is that of the stretch before.
    """

    headline: str
    text: str
    chunks: tuple[Chunk, ...]


def assemble(hits: Sequence[Hit]) -> str:
    """Return `hits` as the Markdown that a prompt gets.

    Documents are in the order of their best hits, the passages of each in the order of its
    text, under a heading that names the path to them. Passages of a section that touch or overlap
    are joined; others are separated by a rule. Definitions that hits carry come last.
    """
    return SEPARATOR.join(map(_write, _gather(hits)))


def assemble_marked(hits: Sequence[Hit]) -> tuple[str, list[tuple[Chunk, ...]]]:
    """Return `hits` as `assemble` does, with a number before each passage, and their chunks.

    The chunks of number 1 come first. Definitions have no number.
    """
    parts, chunks = [], []
    for stretch in _gather(hits):
        if stretch.chunks:
            chunks.append(stretch.chunks)
        parts.append(f"[{len(chunks)}]\n{_write(stretch)}" if stretch.chunks else _write(stretch))
    return SEPARATOR.join(parts), chunks


def _write(stretch: Stretch) -> str:
    return (stretch.headline + close(stretch.text.strip("\r\n").rstrip())).rstrip()


def _gather(hits: Sequence[Hit]) -> Iterator[Stretch]:
    by_document: dict[str, list[Chunk]] = {}
    for hit in hits:
        by_document.setdefault(hit.chunk.doc_id, []).append(hit.chunk)
    for chunks in by_document.values():
        above = ""
        for stretch in _join(chunks):
            yield replace(stretch, headline="") if stretch.headline == above else stretch
            above = stretch.headline
    if lines := list(dict.fromkeys(_list_definitions(hits))):
        yield Stretch("## Definitions\n\n", "\n".join(lines), ())


def _list_definitions(hits: Sequence[Hit]) -> Iterator[str]:
    """Yield a line for each definition that hits carry and that none of them holds."""
    for definition in (definition for hit in hits for definition in hit.definitions):
        if not any(
            chunk.doc_id == definition.doc_id
            and chunk.start <= definition.start
            and definition.end <= chunk.end
            for chunk in (hit.chunk for hit in hits)
        ):
            yield f"- **{definition.term}**: {' '.join(definition.text.split())}"


def _join(chunks: Sequence[Chunk]) -> list[Stretch]:
    """Return the stretches of one document in order, nothing twice."""
    found: list[Stretch] = []
    end = -1
    for chunk in sorted(chunks, key=lambda chunk: (chunk.start, -chunk.end)):
        if chunk.end <= end:
            continue
        path = " > ".join(filter(None, (*chunk.headings, chunk.title))) or chunk.doc_id
        headline = f"## {' '.join(path.split())}\n\n"
        if found and headline == found[-1].headline and chunk.start <= end:
            before = found.pop()
            text = before.text + chunk.text[end - chunk.start :]
            found.append(Stretch(headline, text, (*before.chunks, chunk)))
        else:
            found.append(Stretch(headline, chunk.text, (chunk,)))
        end = chunk.end
    return found


def close(text: str) -> str:
    """Return `text` with the code or HTML block closed that would swallow what comes after it.

    A passage may have been cut from the middle of one.
    """
    if not _BLOCK.search(text):
        return text
    fences = sorted(set(_FENCE.findall(text)), key=len, reverse=True)
    for end in ("", *fences, *HTML_ENDS):
        closed = f"{text}\n{end}" if end else text
        if tokenize(f"{closed}{SEPARATOR}")[-1].type == "hr":
            return closed
    return text
