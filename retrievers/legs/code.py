"""The code leg: BM25 over the code in the chunks, names found whole first."""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from assay.retrievers.base import IndexReport
from assay.retrievers.base.stopwatch import Stopwatch
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.code import CodeSpan, find_code, name_language
from assay.retrievers.fusion.ranking import Scored, best_matches
from assay.retrievers.legs import bm25
from assay.retrievers.legs.base import Kind, LegResult, LegSettings, ScoringLeg
from assay.retrievers.legs.bm25 import Formula, TableScorer
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest
from assay.retrievers.text.code import CodeAnalyzer
from assay.retrievers.text.term_counts import count_terms, load_counts

REVISION = 1  # raise it when other code comes to be found, or its index differs
LANGUAGE = re.compile(r"(?<!\S)lang:(\S+)")


class CodeLegSettings(LegSettings):
    """BM25 over fenced and inline code alone; a name found whole outranks its parts."""

    kind: ClassVar[Kind] = "keyword"
    type: Literal["code"]
    languages: list[str] = Field(
        default_factory=list,
        description="search only fenced blocks in these languages; empty: all code. A query may "
        "itself say lang:python",
    )
    queries: Literal["all", "names"] = Field(
        "all",
        description="which queries are answered; names: only those with code in them, that is a "
        "name of several parts, an operator, backticks, or lang:",
    )
    k1: float = Field(bm25.K1, gt=0, description="how fast repetitions of a term saturate")
    b: float = Field(bm25.B, ge=0, le=1, description="how much long blocks are discounted")

    def build(self, resources: Resources) -> "CodeLeg":
        """Return the leg, which has indexed nothing yet."""
        return CodeLeg(self, resources)


@dataclass(frozen=True, slots=True)
class Entry:
    """A unit that is scored: a fenced block, or all inline code of a chunk."""

    position: int
    language: str
    text: str


class CodeLeg(ScoringLeg):
    """Finds chunks by their code; a chunk has the score of its best block.

    A block's score is Lucene's BM25 and, for each name of several parts that the query has whole
    and the block too, one more than the best BM25 of any block.
    """

    def __init__(self, settings: CodeLegSettings, resources: Resources) -> None:
        self._settings = settings
        self._resources = resources
        self._analyzer = CodeAnalyzer()
        self._scorer = TableScorer(Formula("lucene", settings.k1, settings.b, 0.0))
        self._chunks = 0
        self._positions: NDArray[np.int64] = np.empty(0, np.int64)
        self._languages: NDArray[np.str_] = np.empty(0, np.str_)
        self._names: Mapping[str, Sequence[int]] = {}

    def index(self, corpus: Corpus) -> IndexReport:
        """Find the code of the chunks and tabulate its scores, or find this done in the cache."""

        def make(folder: Path) -> None:
            wanted = {name_language(name) for name in self._settings.languages}
            analysed = [
                (entry, terms)
                for entry in read_entries(corpus)
                if (not wanted or entry.language in wanted)
                and (terms := self._analyzer.analyze(entry.text))
            ]
            if analysed:
                counts = count_terms([terms for _, terms in analysed])
                counts.save(folder)
                self._scorer.build(counts, folder)
            entries = [entry for entry, _ in analysed]
            content = {
                "positions": [entry.position for entry in entries],
                "languages": [entry.language for entry in entries],
                "names": self._find_names(entries),
            }
            (folder / "entries.json").write_text(json.dumps(content, ensure_ascii=False))

        def read(folder: Path) -> None:
            content = json.loads((folder / "entries.json").read_text())
            self._positions = np.array(content["positions"], np.int64)
            self._languages = np.array(content["languages"], np.str_)
            self._names = content["names"]
            if len(self._positions):
                self._scorer.load(load_counts(folder), folder)

        folder, _ = self._resources.cache.load("code", self._key(corpus), make, read)
        self._chunks = len(corpus.chunks)
        return IndexReport(
            chunks=len(corpus.chunks),
            seconds={"code": folder.seconds},
            bytes=sum(file.stat().st_size for file in folder.path.iterdir()),
            cached=("code",) if folder.cached else (),
        )

    def search(self, query: str, depth: int) -> LegResult:
        """Return the chunks with the best blocks of a score above 0."""
        watch = Stopwatch()
        asked = [name_language(name) for name in LANGUAGE.findall(query)]
        text = LANGUAGE.sub(" ", query)
        terms, tokens = self._analyzer.analyze(text), self._analyzer.find_tokens(text)
        if self._settings.queries == "names" and not (asked or "`" in text or _hold_code(tokens)):
            terms = []
        watch.stop("analyse")
        candidates: Sequence[Scored] = []
        note = ""
        if terms and len(self._positions):
            scores = np.array(self._scorer.score(terms))
            whole = [name for name in tokens if name in self._names]
            lift = 1 + scores.max()
            for name in whole:
                scores[self._names[name]] += lift
            if asked:
                scores[~np.isin(self._languages, asked)] = 0
            chunks = np.zeros(self._chunks)
            np.maximum.at(chunks, self._positions, scores)
            candidates = best_matches(chunks, depth, self._allowed)
            note = f"names found whole: {', '.join(whole)}" if whole else ""
        watch.stop("search")
        return LegResult(candidates, watch.wall, note, cpu=watch.cpu)

    def _find_names(self, entries: Sequence[Entry]) -> dict[str, list[int]]:
        """Return, for each name of several parts, the numbers of the entries that have it."""
        found = [self._analyzer.find_tokens(entry.text) for entry in entries]
        names = {token for tokens in found for token, several in tokens.items() if several}
        where: dict[str, list[int]] = {}
        for number, tokens in enumerate(found):
            for token in tokens.keys() & names:
                where.setdefault(token, []).append(number)
        return where

    def _key(self, corpus: Corpus) -> str:
        return digest(
            REVISION,
            self._settings.model_dump(mode="json", exclude={"depth", "queries"}),
            [(chunk.doc_id, chunk.start, chunk.end) for chunk in corpus.chunks],
            {id_: document.text for id_, document in corpus.documents.items()},
        )


def _hold_code(tokens: Mapping[str, bool]) -> bool:
    """Return True if one of `tokens` is a name of several parts or no word: parse_json, ->, c++."""
    return any(several or not token.isalnum() for token, several in tokens.items())


def read_entries(corpus: Corpus) -> Iterator[Entry]:
    """Yield the code in each chunk, in order of the chunks."""
    spans = {id_: list(find_code(found)) for id_, found in corpus.structures.items()}
    for position, chunk in enumerate(corpus.chunks):
        inline = []
        for span in _within(spans.get(chunk.doc_id, []), chunk.start, chunk.end):
            text = chunk.text[max(span.start - chunk.start, 0) : span.end - chunk.start]
            if span.inline:
                inline.append(text)
            else:
                yield Entry(position, span.language, text)
        yield Entry(position, "", "\n".join(inline))


def _within(spans: Sequence[CodeSpan], start: int, end: int) -> Sequence[CodeSpan]:
    """Return those of `spans`, which are in order, that share characters with `start` to `end`."""
    first = bisect_right(spans, start, key=lambda span: span.end)
    return spans[first : bisect_left(spans, end, key=lambda span: span.start)]
