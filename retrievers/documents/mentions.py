"""Mentions: the sections that a query names, in the spellings people type.

`§ 42–516(c)`, `sec. 42-516 (c)`, `subsection (c) of section 42-516`, `ch. 19`, `Part IV`,
`sections 801–804`, `42-3501.03(6)(A)`, `4.2 Refunds`, `sec_42_516_c`. A mention is found by its
form alone: which of them name anything, only the sections of a collection can tell.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from retrievers.documents.identifiers import DASH, LABEL, LABELS, NAMES, NUMBER, join_id

# How sure a form is: an id as such, a number with a sign or name before it, or a number alone.
Form = Literal["id", "signed", "named", "bare"]

_ABBREVIATED = {
    "ch": "chapter", "chap": "chapter", "subch": "subchapter", "art": "article", "pt": "part",
    "tit": "title", "app": "appendix", "sched": "schedule", "exh": "exhibit",
}  # fmt: skip
_LEVEL = r"(?:(?:sub-?)*(?:section|paragraph|clause|division)|subsec\.|(?:sub)?para\.?|cl\.)s?"
_LABELLED = rf"{_LEVEL}\s+(?:{LABEL}{LABELS}|[0-9A-Za-z]{{1,3}}\b)"
# subsection (c) of section 42-516; section 42-516, subsection (c)
_BEFORE = rf"(?P<before>(?:{_LABELLED}\s*,?\s(?:of|in|under|to)\s(?:the\s)?)+)?"
_AFTER = rf"(?P<after>(?:\s*,?\s*{_LABELLED})+)?"
_SIGN = (
    r"(?:§+|(?<![\w.])(?:sections?|sect?s?\.?|ss?\.|clauses?|cls?\.|rules?|paragraphs?|paras?\.?))"
    r"\s*(?:nos?\.\s*)?"
)
_END = rf"(?![\w%]|\s%|[.:/]\d|{DASH}\d)"
_NAME = rf"(?:{'|'.join((*NAMES, *_ABBREVIATED))})(?:e?s)?\.?"
_DIVISION = rf"(?:{NUMBER}|(?<=[\s.])(?:[IVXLC]+(?:{DASH}?[A-Z])?|[A-Z]{DASH}?\d*))"

_ID = re.compile(rf"(?<![\w-])(?P<id>(?:sec|{'|'.join(NAMES)})(?:_[0-9a-z]+)+)(?!\w)", re.I)
_SIGNED = re.compile(
    rf"{_BEFORE}(?P<sign>{_SIGN})(?P<number>{NUMBER})(?P<labels>{LABELS}){_END}{_AFTER}", re.I
)
_NAMED = re.compile(
    rf"(?<![\w.])(?P<sign>{_NAME}\s*(?:nos?\.\s*)?)"
    rf"(?P<number>{_DIVISION})(?P<labels>{LABELS}){_END}",
    re.I,
)
_BARE = re.compile(
    rf"{_BEFORE}(?<![\w.,:/$€£#+])(?<!{DASH})(?P<number>{NUMBER})(?P<labels>{LABELS}){_END}{_AFTER}",
    re.I,
)
# §§ 801 and 804(a); sections 5, 6 through 8.
_PLURAL = re.compile(r"§§|s\.?\s*(?:nos?\.\s*)?\Z", re.I)
_NEXT = re.compile(
    rf"\s*(?:,\s*(?:and|or)?|and/or|and|or|&|to|through)\s*§*\s*"
    rf"(?P<number>{NUMBER}|[IVXLC]+\b)(?P<labels>{LABELS}){_END}",
    re.I,
)
# “part a plan”, “schedule a call”, “the part I wrote” name nothing.
_PRONOUN = re.compile(r"[ai]", re.I)
_CLOSED = re.compile(r"\s*(?:[^\w\s]|of\b|\Z)", re.I)

_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_TENS = ("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx", "xc")
_ROMAN = {ten + one: 10 * i + j for i, ten in enumerate(_TENS) for j, one in enumerate(_ONES)}
_ARABIC = {str(number): roman for roman, number in _ROMAN.items() if number}


@dataclass(frozen=True, slots=True)
class Mention:
    """What a query names: `name` is `sec`, or chapter and the like; `labels` lead below it.

    `text` is as typed and `rest` what follows it; `opens` says that nothing stands before it.
    `whole` says that no section above it can be meant instead: 401(k) and 5a may be many things;
    203(a)(1) may mean 203(a), where that is here.
    """

    form: Form
    name: str
    number: str
    labels: tuple[str, ...]
    text: str
    rest: str = ""
    opens: bool = False
    whole: bool = False

    @property
    def section(self) -> str:
        """The id without the labels."""
        return join_id(self.name, self.number)

    @property
    def spelled(self) -> str:
        """The number in one spelling."""
        return spell(self.number)

    @property
    def ids(self) -> list[str]:
        """The id of what is named, and those of what is above it, nearest first."""
        labels = [f"({label})" for label in self.labels]
        least = min(len(labels), 1) if self.whole else 0
        lengths = range(len(labels), least - 1, -1)
        return [join_id(self.name, self.number, *labels[:length]) for length in lengths]

    def readings(self) -> Iterator[tuple["Mention", ...]]:
        """Yield what may be meant, the likeliest first; a range means both its ends."""
        yield (self,)
        head, *tail = re.split(rf"\s+{DASH}\s*|\s*{DASH}\s+", self.number)
        if tail:
            yield (replace(self, number=head),)
        if match := re.fullmatch(r"(.*\d)([A-Za-z]{1,2})", self.number):
            labels = (match[2], *self.labels)
            yield (replace(self, number=match[1], labels=labels, whole=True),)
        parts = re.split(DASH, self.number.replace(" ", ""))
        half = len(parts) // 2
        if self.form != "bare" and half and len(parts) == 2 * half:
            first, last = "-".join(parts[:half]), "-".join(parts[half:])
            yield replace(self, number=first, labels=()), replace(self, number=last)
        if self.form == "named":
            number = self.number.lower()
            if other := _ROMAN.get(number) or _ARABIC.get(number):
                yield (replace(self, number=str(other)),)


def spell(number: str) -> str:
    """Return `number` with plain hyphens, without spaces, in lower case."""
    return re.sub(DASH, "-", number).replace(" ", "").lower()


def read_mentions(query: str) -> list[Mention]:
    """Return what `query` names, in order, no character of it read twice."""
    text = re.sub(r"\s+", " ", unicodedata.normalize("NFKC", query)).strip()
    text = re.sub(rf"\(\s*(\w+(?:{DASH}\w+)?)\s*\)", r"(\1)", text)
    readers = {_ID: _read_id, _SIGNED: _read_signed, _NAMED: _read_named, _BARE: _read_bare}
    matches = [
        (match.start(), rank, match, read)
        for rank, (pattern, read) in enumerate(readers.items())
        for match in pattern.finditer(text)
    ]
    mentions: list[Mention] = []
    until = 0
    for start, _, match, read in sorted(matches, key=lambda item: item[:2]):
        if start >= until and (mention := read(match)):
            listed, until = _read_list(match, mention)
            mentions += [mention, *listed]
    return mentions


def _read_id(match: re.Match[str]) -> Mention:
    name, _, number = match["id"].partition("_")
    return Mention("id", name, number, (), match[0])


def _read_signed(match: re.Match[str]) -> Mention:
    return Mention("signed", "sec", match["number"], _all_labels(match), match[0])


def _read_named(match: re.Match[str]) -> Mention | None:
    number = match["number"]
    if (
        _PRONOUN.fullmatch(number)
        and number != "A"
        and not _CLOSED.match(match.string, match.end())
    ):
        return None
    word = re.split(r"[\s.]", match["sign"].lower())[0]
    names = (word, word.removesuffix("s"), word.removesuffix("es"))
    name = next(name for name in names if name in NAMES or name in _ABBREVIATED)
    labels = _labels(match["labels"])
    return Mention("named", _ABBREVIATED.get(name, name), number, labels, match[0])


def _read_bare(match: re.Match[str]) -> Mention:
    number, labels = match["number"], _all_labels(match)
    rest, opens = match.string[match.end() :], match.start() == 0
    return Mention("bare", "sec", number, labels, match[0], rest, opens, number.isdigit())


def _read_list(match: re.Match[str], first: Mention) -> tuple[list[Mention], int]:
    """Return what a plural sign lists after its `first` number, and where the list ends."""
    listed: list[Mention] = []
    end = match.end()
    if first.form in ("signed", "named") and _PLURAL.search(match["sign"]):
        while following := _NEXT.match(match.string, end):
            labels = _labels(following["labels"])
            text = following[0][following.start("number") - following.start() :]
            listed.append(Mention(first.form, first.name, following["number"], labels, text))
            end = following.end()
    return listed, end


def _all_labels(match: re.Match[str]) -> tuple[str, ...]:
    """Return the labels of a number and of the levels named after and before it."""
    labels = [*_labels(match["labels"]), *_level_labels(match["after"] or "")]
    for part in reversed(re.findall(_LABELLED, match["before"] or "", re.I)):
        labels += _level_labels(part)
    return tuple(labels)


def _level_labels(text: str) -> list[str]:
    """Return the labels of “subsection (c), paragraph 1”."""
    parts = re.findall(_LABELLED, text, re.I)
    return [label for part in parts for label in _labels(part) or [part.split()[-1]]]


def _labels(text: str) -> tuple[str, ...]:
    return tuple(label[1:-1] for label in re.findall(LABEL, text))
