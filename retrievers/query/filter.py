"""Filters: the metadata of documents decides which may be found."""

import copy
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import translate
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.query.base import LegKinds, QueryStep, QueryStepSettings, StepResult
from assay.retrievers.settings import Resources
from assay.retrievers.settings.trust import NeedsNoTrust
from assay.retrievers.stages.scores import find_date
from assay.retrievers.text.tokens import fold

IN_QUERY = re.compile(
    r"(?<!\S)(category|author|tags?|language|after|before|path):(?:\"([^\"]*)\"|(\S+))",
    re.IGNORECASE,
)


def _make_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


OneOrMore = Annotated[
    list[str], BeforeValidator(_make_list, json_schema_input_type=str | list[str])
]


class FilterSettings(QueryStepSettings):
    """Finds only what is of some category, author, tag, language, time or folder.

    All but the folder is what the frontmatter says.
    """

    type: Literal["filter"]
    category: OneOrMore = Field(default_factory=list, description="one of these categories")
    author: OneOrMore = Field(
        default_factory=list, description="one of these authors; part of a name is enough"
    )
    tags: OneOrMore = Field(default_factory=list, description="one of these tags")
    language: OneOrMore = Field(
        default_factory=list, description="in one of these languages; en is en-GB too"
    )
    # Lax, so that a date written as text, as JSON has it, is one too.
    after: date | None = Field(
        None, strict=False, description="changed or made on this day or later"
    )
    before: date | None = Field(None, strict=False, description="changed or made by this day")
    path: Annotated[OneOrMore, NeedsNoTrust("compared with documents, not opened")] = Field(
        default_factory=list,
        description="document ids like one of these patterns, in which * stands for anything",
    )
    from_query: bool = Field(
        False,
        description=(
            "read category:policy author:kim tag:draft language:de after:2024-01-31 before:… "
            "path:guides/* in the query, and search for the rest of it"
        ),
    )

    def build(self, resources: Resources, legs: LegKinds) -> QueryStep:
        """Return the step."""
        return Filter(self)


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition on one key. `values` are alternatives."""

    key: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.key}: {' or '.join(self.values)}"


class Filter(QueryStep):
    """Allows the chunks of documents that meet every condition.

    Case and diacritics do not count. A document that does not say does not meet a condition, and
    a value that no document has allows nothing.
    """

    def __init__(self, settings: FilterSettings) -> None:
        self._from_query = settings.from_query
        values = settings.model_dump(mode="json", exclude={"type", "from_query"})
        self._conditions = [
            Condition(key, (value,) if isinstance(value, str) else tuple(value))
            for key, value in values.items()
            if value
        ]
        self._catalogue = Catalogue(Corpus(()))
        self._always: frozenset[int] | None = None

    def index(self, corpus: Corpus) -> None:
        """Read the metadata of the documents."""
        self._catalogue = Catalogue(corpus)
        self._always = self._catalogue.allow(self._conditions) if self._conditions else None

    def restrict(self, documents: Set[str]) -> QueryStep:
        """Return the same step, without the values that only other documents have."""
        other = copy.copy(self)
        other._catalogue = self._catalogue.restrict(documents)
        return other

    def apply(self, request: LegQuery) -> StepResult:
        """Return `request` for the allowed chunks, without the conditions in its text."""
        conditions = find_conditions(request.text) if self._from_query else []
        if conditions:
            texts = {name: strip_conditions(text) for name, text in request.texts.items()}
            request = replace(request, text=strip_conditions(request.text), texts=texts)
        demanded = [*self._conditions, *conditions]
        if not demanded:
            return StepResult(request)
        found = self._catalogue.allow(conditions) if conditions else None
        bounds = (bound for bound in (self._always, found, request.allowed) if bound is not None)
        allowed = frozenset.intersection(*bounds)
        note = "; ".join(map(str, demanded))
        if not allowed:
            lone = [one for one in demanded if not self._catalogue.allow([one])]
            note = "; ".join(map(self._catalogue.explain, lone)) or f"no document meets all: {note}"
        return StepResult(replace(request, allowed=allowed), note, {"allowed": len(allowed)})


class Catalogue:
    """The documents by their metadata."""

    def __init__(self, corpus: Corpus) -> None:
        self._positions = corpus.by_document
        self._ids = list(corpus.documents)
        having: dict[str, dict[str, set[str]]] = {
            key: defaultdict(set) for key in ("category", "author", "tags", "language")
        }
        self._having: Mapping[str, Mapping[str, Set[str]]] = having
        self._dates: dict[str, date] = {}
        for id_, said in corpus.frontmatter.items():
            authors = (author for author in said.author.split(",") if author.strip())
            named = {
                "category": [said.category],
                "author": authors,
                "tags": said.tags,
                "language": [said.language.replace("_", "-")],
            }
            for key, values in named.items():
                for value in filter(None, map(_normalise, values)):
                    having[key][value].add(id_)
            if (found := find_date(said)) is not None:
                self._dates[id_] = found

    def restrict(self, documents: Set[str]) -> "Catalogue":
        """Return the catalogue of these documents alone."""
        other = copy.copy(self)
        other._ids = [id_ for id_ in self._ids if id_ in documents]
        other._dates = {id_: day for id_, day in self._dates.items() if id_ in documents}
        other._having = {
            key: {value: held for value, ids in having.items() if (held := ids & documents)}
            for key, having in self._having.items()
        }
        return other

    def allow(self, conditions: Iterable[Condition]) -> frozenset[int]:
        """Return the positions of the chunks whose documents meet all of `conditions`."""
        documents = set.intersection(*map(self._meet, conditions))
        return frozenset(i for id_ in documents for i in self._positions.get(id_, ()))

    def explain(self, condition: Condition) -> str:
        """Say in words why no document meets `condition`."""
        if condition.key in ("after", "before") and _read_date(condition.values[0]) is None:
            return f"{condition}: no such date; write it as 2024-01-31"
        having = sorted(self._having.get(condition.key, ()))
        there = f"; there are: {', '.join(having[:10])}" if having else ""
        return f"{condition}: no document{there}"

    def _meet(self, condition: Condition) -> set[str]:
        if condition.key in ("after", "before"):
            return self._meet_date(condition.key == "after", condition.values[0])
        if condition.key == "path":
            pattern = re.compile("|".join(map(translate, condition.values)))
            return {id_ for id_ in self._ids if pattern.match(id_)}
        having = self._having[condition.key]
        wanted = [value for value in map(_normalise, condition.values) if value]
        if condition.key == "author":
            names = {name: set(name.split()) for name in having}
            wanted = [name for name in names if any(set(v.split()) <= names[name] for v in wanted)]
        if condition.key == "language":
            wanted = [tag for tag in having for v in wanted if f"{tag}-".startswith(f"{v}-")]
        return {id_ for value in wanted for id_ in having.get(value, ())}

    def _meet_date(self, after: bool, value: str) -> set[str]:
        bound = _read_date(value)
        if bound is None:
            return set()
        return {
            id_ for id_, day in self._dates.items() if (day >= bound if after else day <= bound)
        }


def find_conditions(text: str) -> list[Condition]:
    """Return the conditions written in a query.

    Several values of one key are alternatives, but each of several days is a bound.
    """
    found: dict[str, list[str]] = {}
    for name, quoted, bare in IN_QUERY.findall(text):
        key = name.lower()
        found.setdefault("tags" if key == "tag" else key, []).append(quoted or bare)
    return [
        Condition(key, part)
        for key, values in found.items()
        for part in ([(v,) for v in values] if key in ("after", "before") else [tuple(values)])
    ]


def strip_conditions(text: str) -> str:
    """Return a query without the conditions written in it."""
    return " ".join(IN_QUERY.sub(" ", text).split())


def _normalise(value: str) -> str:
    return " ".join(fold(value).split())


def _read_date(value: str) -> date | None:
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None
