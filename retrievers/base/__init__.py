"""The contract of a retriever: documents in, rankings of passages out.

This package, with the store and the base of settings, is all that the judge (`eval`) knows of
retrieval. This module of it has no dependency but the standard library, so that a retriever
written elsewhere can keep the contract cheaply; beside it stand the readers of Markdown and
frontmatter, so that what is judged and what is retrieved are sections of one reading.
"""

import errno
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

T = TypeVar("T")


class AssayError(Exception):
    """Something the user can mend. Its message is one line: what, where, and what is allowed.

    `status` is the exit code of a command that it ends.
    """

    status = 2


class LeakError(AssayError):
    """A retriever gave a query what its principal may not read, or what its filter leaves out."""

    status = 1


def cut(text: str, most: int = 100) -> str:
    """Return `text`, or its first `most` characters: what is quoted in a message has no bounds."""
    return text if len(text) <= most else f"{text[:most]}…"


def explain_os_error(error: OSError, path: object = None) -> str:
    """Return in one line what a file, or `path` where it is not named, has against it."""
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
    """A text with what its collection knows of it.

    `passages` are given units of retrieval (BEIR and TREC collections have them); without any,
    a chunker chooses. `contexts` come with the collection. Offsets count code points of `text`.
    `origin` is the path of the file that the text was made of, "" where it is not known, `pages`
    the offsets at which its pages begin, if it has pages and they are known.
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
    passage it was cut from, where there is one.
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
        """Go by the id, which differs where chunks do: all fields take ten times as long."""
        return hash(self.id)

    @property
    def searchable(self) -> str:
        r"""What every leg indexes: `{context}\n\n{title}\n{text}`, empty parts left out."""
        body = f"{self.title}\n{self.text}" if self.title else self.text
        return f"{self.context}\n\n{body}" if self.context else body


# These and hits are not frozen, which takes four times as long to make; there are millions.
@dataclass(slots=True, unsafe_hash=True)
class LegRank:
    """Where a leg placed a chunk: its rank (from 1) and its score in that leg's own unit."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Definition:
    """What a document says that a term means: `text` is characters `start` to `end` of it.

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
    """A retrieved chunk, its final score, and where each leg that found it had placed it.

    `definitions` are of terms that the chunk uses and does not define, where the pipeline tells.
    `pinned` tells stages that a boost has put it before all that other legs can find, so that a
    reranker leaves it there. Stored runs do not hold it.
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
    """What one stage did to one query.

    `kind` is one of `STEP_KINDS`; `candidates` are the (chunk id, score) pairs
    the stage put out, best first. `note` says in words what it changed, where that is not plain,
    `counts` in numbers by name. `waited` is the milliseconds lost to calls that failed and were
    made again, which `milliseconds` leaves out, as does whoever times a search. `cpu_milliseconds`
    is this process's CPU time meanwhile, in all its threads; None where it is not known.
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
    """What indexing took. `seconds` per stage are those of the work itself, also when its
    result came from the cache (`cached` names such stages): a stage of which that is not known is
    not among them. `bytes` is the size of the indexes.
    `facts` is what was found of the chunks, as JSON values; reports know of `tokens`, pairs of a
    size and the number of chunks of that size, `limit`, `oversize` and `integrity_failures`; and
    `unread`, the chunks of which encoders do not read what follows on the first `window` tokens.
    """

    chunks: int
    seconds: Mapping[str, float] = field(default_factory=dict)
    bytes: int = 0
    cached: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class MetadataFilter(Protocol):
    """Which documents may be found: `assay.retrievers.settings.filters` has the filters of files.

    Its `repr` tells it from others.
    """

    def matches(self, metadata: Mapping[str, Any], /) -> bool:
        """Say whether a document of this metadata may be found."""
        ...

    def as_json(self) -> Mapping[str, Any]:
        """Return it as JSON values, as a service elsewhere may be given it."""
        ...


class Retriever(ABC):
    """A configured retriever. `index` is called once, before any `search`.

    A run that was cut off is resumed, and a finished one stands for a new one, where settings,
    facts, this project's code and the file of the class are the same. A retriever that may answer
    differently all the same says that it is `nondeterministic`: each run of it is made anew.
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
            score that rises is reported. There are none where nothing matches.
        """

    def search_plain(self, query: str, k: int) -> Ranking:
        """Return what `search` returns, where only the chunks and their order are needed.

        Args:
            query: The text of the query.
            k: The most hits to return, 1 or more.

        Returns:
            The same hits. Their trace, their ranks in the legs and `others` may be left out.
        """
        return self.search(query, k)

    def restrict(self, allowed: MetadataFilter) -> "Retriever":
        """The same retriever, on the same indexes, that finds what `allowed` lets be found.

        Args:
            allowed: What the metadata of a chunk's document must meet.

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
        """The same retriever with every per-query cache off: what latency is measured on."""
        return self

    def list_chunks(self) -> Sequence[Chunk]:
        """Every indexed chunk, or none where the retriever does not tell; known after `index`."""
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
        """What identifies this retriever beyond its settings. JSON values; known after `index`.

        Digests of models, versions of engines and services, choices resolved from the documents.
        """
        return {}

    @property
    def asks_server(self) -> bool:
        """Whether searches ask a server."""
        return False

    def list_foreign(self) -> Collection[str] | None:
        """Names of the entries of its traces that may quote documents unasked; None: any may.

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
    """How long work reports itself: a bar on a terminal, plain lines in a log."""

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
