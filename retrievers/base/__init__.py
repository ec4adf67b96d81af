"""The contract of a retriever: documents in, rankings of passages out.

This package, with the store and the base of settings, is all that the judge (`eval`) knows of
retrieval. This module depends on the standard library alone, so that a retriever written elsewhere
can keep the contract cheaply. The package also has the readers of Markdown and frontmatter, so that
judged and retrieved sections come from one reading.
"""

import errno
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

T = TypeVar("T")


class AssayError(Exception):
    """An error that the user can fix. Its message is one line: what, where, and what is allowed.

    `status` is the exit code of a command that it ends.
    """

    status = 2


class LeakError(AssayError):
    """A query got texts that its principal may not read, or that its filter leaves out."""

    status = 1


def cut(text: str, most: int = 100) -> str:
    """Return `text`, or its first `most` characters, since quoted texts may be of any length."""
    return text if len(text) <= most else f"{text[:most]}…"


def explain_os_error(error: OSError, path: object = None) -> str:
    """Return the error of a file in one line; `path` is named if the error names none."""
    reason = error.strerror or " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, FileExistsError | NotADirectoryError):
        reason = "a file stands where a folder is needed"
    elif error.errno == errno.ENOLCK:
        reason = (
            "the file system has no locks, without which two processes could undo each other's "
            "changes; set ASSAY_CACHE and ASSAY_REPORTS to folders on a local disk"
        )
    where = error.filename or path
    return f"{where}: {reason}" if where else reason


@dataclass(frozen=True, slots=True)
class Passage:
    """A unit the collection itself prescribes: characters `start` to `end` of its document."""

    id: str
    start: int
    end: int
    title: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """A sentence or two that situate characters `start` to `end` within their document."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A text with the facts that its collection knows of it.

    `passages` are given units of retrieval (BEIR and TREC collections have them); without any,
    a chunker chooses. `contexts` come with the collection. Offsets count code points of `text`.
    `origin` is the path of the file that the text was made from, "" if not known, `pages` the
    offsets at which its pages begin, if it has pages and they are known.
    """

    id: str
    text: str
    title: str = ""
    passages: tuple[Passage, ...] = ()
    contexts: tuple[Context, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ""
    pages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage as a pipeline cuts it: `text` is characters `start` to `end` of its document.

    `title` is part of the passage (BEIR's title field); `headings` is the path of headings
    above it; `context` situates it and is empty unless the pipeline is contextual. `kind` is
    content, definition, requirement, reference, header or frontmatter. `section_id` names the
    section it belongs to, `level` is that of its heading (1 to 6; 0 without one), `anchors` are
    all sections and numbered paragraphs that begin in it. `parent` is the span of the larger
    passage it was cut from, if there is one.
    """

    id: str
    doc_id: str
    start: int
    end: int
    text: str
    title: str = ""
    headings: tuple[str, ...] = ()
    context: str = ""
    kind: str = "content"
    section_id: str = ""
    anchors: tuple[str, ...] = ()
    parent: tuple[int, int] | None = None
    level: int = 0

    def __hash__(self) -> int:
        """Hash the id, which differs if chunks do: all fields would take ten times as long."""
        return hash(self.id)

    @property
    def searchable(self) -> str:
        r"""The text that every leg indexes: `{context}\n\n{title}\n{text}`, without empty parts."""
        body = f"{self.title}\n{self.text}" if self.title else self.text
        return f"{self.context}\n\n{body}" if self.context else body


# These and hits are not frozen, which takes four times as long to make; there are millions.
@dataclass(slots=True, unsafe_hash=True)
class LegRank:
    """The rank (from 1) that a leg gave a chunk, and its score in that leg's own unit."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Definition:
    """The meaning of a term by a document: `text` is characters `start` to `end` of it.

    `exceptions` are the clauses that take something out of the meaning, as written.
    """

    term: str
    text: str
    exceptions: tuple[str, ...]
    doc_id: str
    start: int
    end: int


@dataclass(slots=True, unsafe_hash=True)
class Hit:
    """A retrieved chunk, its final score, and its rank in each leg that found it.

    `definitions` are of terms that the chunk uses and does not define, if the pipeline finds them.
    `pinned` tells stages that a boost has put it before all that other legs can find, so that a
    reranker leaves it there. Stored runs do not keep it.
    """

    chunk: Chunk
    score: float
    legs: Mapping[str, LegRank] = field(default_factory=dict)
    definitions: tuple[Definition, ...] = ()
    pinned: bool = field(default=False, compare=False)


STEP_KINDS = ("query", "leg", "fusion", "stage")
CUT = "cut"  # among the counts of a step: texts that a model did not read to their end


@dataclass(frozen=True, slots=True)
class StageTrace:
    """The trace of one stage for one query.

    Attributes:
        name: The stage.
        kind: One of `STEP_KINDS`.
        milliseconds: The time it took, without `waited`.
        candidates: The (chunk id, score) pairs that the stage returned, best first.
        note: What it changed, in words, if that is not obvious.
        counts: What it changed, in numbers by name.
        waited: Milliseconds lost to failed calls that were repeated; the time of a search leaves
            them out too.
        cpu_milliseconds: CPU time of all threads of this process meanwhile; None if not known.
    """

    name: str
    kind: str
    milliseconds: float
    candidates: tuple[tuple[str, float], ...] = ()
    note: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    waited: float = 0.0
    cpu_milliseconds: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to one query, best first, with no chunk twice.

    `others` are the further chunks that the trace names, so that every candidate can be judged.
    `degraded` holds one line for each part of the pipeline that could not do its work.
    """

    hits: tuple[Hit, ...]
    trace: tuple[StageTrace, ...] = ()
    others: tuple[Chunk, ...] = ()
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The cost and the facts of indexing.

    `seconds` per stage are those of the work itself, also when its result came from the cache
    (`cached` names these stages); a stage whose time is not known is left out. `bytes` is the size
    of the indexes.
    `facts` describe the chunks, as JSON values. Reports use `tokens`, pairs of a size and the
    number of chunks of that size, `limit`, `oversize` and `integrity_failures`; and `unread`, the
    number of chunks longer than the first `window` tokens, which is all that encoders read.
    """

    chunks: int
    seconds: Mapping[str, float] = field(default_factory=dict)
    bytes: int = 0
    cached: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class MetadataFilter(Protocol):
    """A filter of documents; `assay.retrievers.settings.filters` has the filters of files.

    Its `repr` identifies it.
    """

    def matches(self, metadata: Mapping[str, Any], /) -> bool:
        """Return True if a document of this metadata may be found."""
        ...

    def as_json(self) -> Mapping[str, Any]:
        """Return it as JSON values, as a service elsewhere may be given it."""
        ...


class Retriever(ABC):
    """A configured retriever. `index` is called once, before any `search`.

    An interrupted run is resumed, and a finished one is reused, if settings, facts, this project's
    code and the file of the class are the same. A retriever that may still answer differently
    declares itself `nondeterministic`: its runs are never reused.
    """

    nondeterministic: bool = False

    @abstractmethod
    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Make `documents` searchable, in place of any indexed before.

        Args:
            documents: All documents; no two have the same id.

        Returns:
            How much was indexed, and the seconds of each step.

        Raises:
            AssayError: The documents cannot be indexed.
        """

    @abstractmethod
    def search(self, query: str, k: int) -> Ranking:
        """Return at most `k` hits, best first.

        The same call returns the same ranking. It may come from several threads at once.

        Args:
            query: The text of the query. An empty one matches nothing.
            k: The most hits to return, 1 or more.

        Returns:
            The hits and a trace of the stages. Their order is the ranking, whatever their scores; a
            score that rises is reported. There are none if nothing matches.
        """

    def search_plain(self, query: str, k: int) -> Ranking:
        """Return the answer of `search` when only the chunks and their order are needed.

        Args:
            query: The text of the query.
            k: The most hits to return, 1 or more.

        Returns:
            The same hits. Their trace, their ranks in the legs and `others` may be left out.
        """
        return self.search(query, k)

    def restrict(self, allowed: MetadataFilter) -> "Retriever":
        """Return this retriever, on the same indexes, restricted to what `allowed` matches.

        Args:
            allowed: A filter of the metadata of a chunk's document.

        Returns:
            A retriever that is asked once or often. Making it is part of a timed search.

        Raises:
            AssayError: The retriever cannot.
        """
        raise AssayError(
            f"{type(self).__name__} has no restrict(), and the collection's queries have filters "
            "or principals; write it (see assay.retrievers.base.Retriever), or take queries "
            "without them"
        )

    def without_query_cache(self) -> "Retriever":
        """Return this retriever with every per-query cache off, to measure latency."""
        return self

    def list_chunks(self) -> Sequence[Chunk]:
        """Return every indexed chunk, or none if the retriever cannot; known after `index`."""
        return ()

    def probe(self, query: str, depth: int) -> Mapping[str, Sequence[str]]:
        """Return the chunk ids that each leg finds down to `depth`, beyond those it hands on.

        It is never part of a timed search.

        Args:
            query: The text of the query.
            depth: The number of chunks that are asked of each leg.

        Returns:
            Chunk ids, best first, by the name of the leg; empty where there are no legs.
        """
        return {}

    def metadata(self) -> Mapping[str, Any]:
        """Return the identity of this retriever beyond its settings, as JSON; known after `index`.

        Digests of models, versions of engines and services, choices resolved from the documents.
        """
        return {}

    @property
    def asks_server(self) -> bool:
        """True if searches ask a server."""
        return False

    def list_foreign(self) -> Collection[str] | None:
        """Return the names of trace entries that may quote documents unasked; None: any may.

        What these say to a query that may not read every document is searched for words of others.
        """
        return None

    def close(self) -> None:
        """Release files, processes and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Progress(Protocol):
    """The progress of long work: a bar on a terminal, plain lines in a log."""

    def track(self, items: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield `items` unchanged while showing how many of `total` are done."""
        ...

    def say(self, line: str) -> None:
        """Show one line."""
        ...


class Quiet:
    """A `Progress` that shows nothing."""

    def track(self, items: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield `items`."""
        yield from items

    def say(self, line: str) -> None:
        """Drop `line`."""
