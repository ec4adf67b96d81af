"""The definitions leg: finds the definitions of a term that a query asks for."""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from assay.retrievers.base import IndexReport
from assay.retrievers.base.stopwatch import Stopwatch
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.corpus.glossary import Entry, Glossary, read_words
from assay.retrievers.documents.structure.identifiers import identify
from assay.retrievers.fusion.fusion import RrfSettings
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.legs.base import Kind, Leg, LegResult, LegSettings
from assay.retrievers.settings import Resources
from assay.retrievers.text.tokens import fold

ALIKE = 0.5  # share of words that a context and a title have in common, from which they are one
LONGEST = 300  # characters of a query that can ask for a definition

_THE = r"(?:(?:the|an?) )?(?:(?:legal )?(?:terms?|words?|phrases?|expressions?) )?"
_POLITE = re.compile(
    r"\A(?:(?:please|tell me|explain|(?:can|could|would) you|do you know) )+(?=\S)"
)
# Questions, of single blanks, that can only be answered by a definition.
_SURE = tuple(
    re.compile(pattern, re.S)
    for pattern in (
        rf"what (?:does|do|did) {_THE}(?P<term>.+?) (?:mean|stand for|refer to)"
        r"(?: (?P<context>.+))?",
        rf"(?:how|where) (?:is|are) {_THE}(?P<term>.+?) defined(?: (?P<context>.+))?",
        rf"how (?:does|do) (?P<place>.+?) define {_THE}(?P<term>.+)",
        r"(?:what(?: is| are|'s) )?(?:the )?(?:legal )?(?:definitions?|meanings?) "
        rf"(?:of|for) {_THE}(?P<term>.+)",
        rf"(?:what is )?meant by {_THE}(?P<term>.+)",
        rf"what (?:counts as|qualifies as|is (?:considered|called)) {_THE}(?P<term>.+)",
        rf"define {_THE}(?P<term>.+)",
        rf"{_THE}(?P<term>.+?) (?:definitions?|meanings?|means?|defined)",
    )
)
# Questions that a definition may answer.
_LIKELY = re.compile(rf"(?:what|who)(?: is| are|'s|'re) {_THE}(?P<term>.+)")
_QUOTES = re.compile(r"[\"“”„«»`*]|(?<!\w)'|'(?!\w)")

_ARTICLE = re.compile(r"\A(?:an?|the) ")
# What leads from a term to the place it is used in.
_WHERE = re.compile(
    r" (?:as used in|for(?: (?:the )?purposes? of)?|in|under|within|per"
    r"|according to|pursuant to) (?:the )?"
)


class DefinitionsLegSettings(LegSettings):
    """The definition of a term, for queries that ask for one or are the term itself."""

    kind: ClassVar[Kind] = "exact"
    type: Literal["definitions"]
    depth: int = Field(
        20,
        ge=1,
        description="how many chunks enter fusion; give the leg a boost there to put them first",
    )

    def build(self, resources: Resources) -> Leg:
        """Return the leg, not yet indexed."""
        return DefinitionsLeg(resources)


class DefinitionsLeg(Leg):
    """Finds the chunks in which a term is defined, and nothing for other queries.

    Definitions under a title that the query names (“for purposes of Condominiums”) come first;
    then those in places of definitions, those elsewhere, and short names. The score is
    1 / rank.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._glossary = Glossary(Corpus(()), resources)

    def index(self, corpus: Corpus) -> IndexReport:
        """Find the definitions of the documents, or take them from the cache."""
        self._glossary = Glossary(corpus, self._resources)
        return IndexReport(
            len(corpus.chunks),
            {"definitions": self._glossary.seconds},
            cached=() if self._glossary.fresh else ("definitions",),
        )

    def search(self, query: str, depth: int) -> LegResult:
        """Return the chunks that define the term which `query` asks for."""
        return self.follow(query, depth, {})

    def follow(self, query: str, depth: int, found: Mapping[str, Sequence[Scored]]) -> LegResult:
        """Search as `search` does; order equally good definitions as the earlier legs do."""
        watch = Stopwatch()
        term, context = self._find_term(query)
        entries = self._glossary.entries.get(term, ())
        ranks = {position: rank for rank, (position, _) in enumerate(RrfSettings().fuse(found))}
        ordered = sorted(
            entries,
            key=lambda entry: (
                -_likeness(entry, context),
                entry.scope,
                ranks.get(entry.position, len(ranks)),
            ),
        )
        positions = dict.fromkeys(entry.position for entry in ordered)
        ranked = [(position, 1 / rank) for rank, position in enumerate(positions, start=1)]
        watch.stop("search")
        note = f"{len(entries)} definitions of “{term}”" if term else ""
        return LegResult(ranked[:depth], watch.wall, note, cpu=watch.cpu)

    def _find_term(self, query: str) -> tuple[str, str]:
        """Return the term that `query` asks for and the context it names; empty if there is none.

        If the question may have another answer, a context must be a title that the term is
        defined under.
        """
        if len(query) > LONGEST:
            return "", ""
        text, sure = _read(query)
        contexts = [
            (text, ""),
            *((text[: m.start()], text[m.end() :]) for m in _WHERE.finditer(text)),
        ]
        for before, context in sorted(contexts, key=lambda pair: -len(pair[0])):
            term = " ".join(read_words(_ARTICLE.sub("", before, 1)))
            entries = self._glossary.entries.get(term, ())
            if entries and (sure or not context or any(_likeness(e, context) for e in entries)):
                return term, context
        return "", ""


def _read(query: str) -> tuple[str, bool]:
    """Return the term `query` may ask for with its context, and whether it asks for a meaning."""
    text = " ".join(_QUOTES.sub("", fold(query)).split()).rstrip(" ?!.")
    text = _POLITE.sub("", text, 1)
    for pattern in _SURE:
        if match := pattern.fullmatch(text):
            groups = match.groupdict("")
            place = f" in {groups['place']}" if groups.get("place") else ""
            return f"{groups['term']} {groups.get('context', '')}".strip() + place, True
    match = _LIKELY.fullmatch(text)
    return match["term"] if match else text, False


def _likeness(entry: Entry, context: str) -> float:
    """Return how well the titles above a definition match `context`; 0 if they do not."""
    if not context:
        return 0.0
    if identify(context) in entry.ids:
        return 1.0
    wanted = set(read_words(context))
    shares = [len(wanted & words) / len(wanted | words) for words in entry.title_words if words]
    share = max(shares, default=0.0)
    return share if share >= ALIKE else 0.0
