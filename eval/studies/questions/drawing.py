"""Draw the passages to ask about, spread over documents and sections, by a seed."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import TypeAlias, TypeVar

from assay.eval.studies.questions.kinds import QuestionKind

Section: TypeAlias = tuple[str, tuple[str, ...]]  # a document, and the headings in it
N = TypeVar("N", str, Section)


@dataclass(frozen=True, slots=True)
class Passage:
    """Characters `start` to `end` of a document, under `headings`, the outermost first."""

    id: str
    doc_id: str
    start: int
    end: int
    text: str
    headings: tuple[str, ...] = ()

    @property
    def section(self) -> Section:
        """The section of the passage: its document and headings."""
        return self.doc_id, self.headings


@dataclass(frozen=True, slots=True)
class Draw:
    """The passages and the type of one question to ask for."""

    number: int
    kind: QuestionKind
    passages: tuple[Passage, ...]


def can_ask(kind: QuestionKind, passage: Passage, partners: Mapping[str, Collection[str]]) -> bool:
    """Return True if a question of `kind` can be asked about `passage`, alone or with a partner."""
    return kind.suits(passage.text) and (kind.passages == 1 or bool(partners.get(passage.id)))


def draw_all(
    passages: Iterable[Passage],
    partners: Mapping[str, Collection[str]],
    kinds: Sequence[QuestionKind],
    number: int,
    seed: int,
) -> list[Draw]:
    """Return at most `number` draws; fewer if there are too few passages.

    Types take turns, and so do documents, whatever their length, the sections of a document, and
    the passages of a section: the least drawn comes next, and a digest of `seed` and name breaks
    ties. The order of the input therefore does not matter, and the draws of a smaller number are
    the first of those of a larger one. No passage is drawn twice for one type. `partners` are the
    ids of the passages that can be compared with a passage, by its id.
    """
    by_id = {passage.id: passage for passage in passages}
    turns = _Turns(seed)
    sources = [_Stock(kind, by_id.values(), partners) for kind in kinds]
    return list(islice(_draw(sources, by_id, partners, turns), number))


def _draw(
    sources: "list[_Stock]",
    by_id: Mapping[str, Passage],
    partners: Mapping[str, Collection[str]],
    turns: "_Turns",
) -> Iterator[Draw]:
    number = 0
    for source in cycle(sources):
        if not any(one.documents for one in sources):
            return
        if not source.documents:
            continue
        first = by_id[source.take(turns)]
        chosen = [first]
        if source.kind.passages > 1:
            chosen.append(by_id[turns.choose("passage", partners[first.id])])
        yield Draw(number, source.kind, tuple(chosen))
        number += 1


class _Turns:
    """A chooser that takes turns: it chooses the name that was chosen least so far."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._chosen: Counter[tuple[str, object]] = Counter()
        self._orders: dict[tuple[str, object], bytes] = {}

    def choose(self, what: str, names: Iterable[N]) -> N:
        chosen = min(names, key=lambda name: (self._chosen[what, name], self._order(what, name)))
        self._chosen[what, chosen] += 1
        return chosen

    def _order(self, what: str, name: object) -> bytes:
        if (what, name) not in self._orders:
            text = f"{self._seed} {what} {name!r}".encode("utf-8", "backslashreplace")
            self._orders[what, name] = hashlib.sha256(text).digest()
        return self._orders[what, name]


class _Stock:
    """The passages still to be drawn for one type: by document, then by section."""

    def __init__(
        self,
        kind: QuestionKind,
        passages: Iterable[Passage],
        partners: Mapping[str, Collection[str]],
    ) -> None:
        self.kind = kind
        self.documents: dict[str, dict[Section, set[str]]] = {}
        for passage in passages:
            if can_ask(kind, passage, partners):
                sections = self.documents.setdefault(passage.doc_id, {})
                sections.setdefault(passage.section, set()).add(passage.id)

    def take(self, turns: _Turns) -> str:
        """Remove the next passage and return its id."""
        doc_id = turns.choose("document", self.documents)
        sections = self.documents[doc_id]
        section = turns.choose("section", sections)
        passage = turns.choose("passage", sections[section])
        sections[section].remove(passage)
        if not sections[section]:
            del sections[section]
        if not sections:
            del self.documents[doc_id]
        return passage
