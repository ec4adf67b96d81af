"""Mentions: the sections that a query names, in the spellings people type.

`§ 42–516(c)`, `sec. 42-516 (c)`, `subsection (c) of section 42-516`, `ch. 19`, `Part IV`,
`Art. 12(3)`, `Art. 6 para. 1`, `paragraph 4 of Schedule 2`, `sections 801–804`, `§ 12 to § 15`,
`42-3501.03(6)(A)`, `4.2 Refunds`, `sec_42_516_c`. A mention is found by its form alone: only the
sections of a collection can tell which of them name anything.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from assay.retrievers.documents.references.citation_units import (
    find_forms,
    list_labels,
    read_below,
)
from assay.retrievers.documents.references.patterns import PARAGRAPH, PARAGRAPHED
from assay.retrievers.documents.structure.identifiers import (
    ABBREVIATED,
    DASH,
    LABEL,
    LABELS,
    NAMES,
    NUMBER,
    SECTION_SHORTS,
    SECTION_WORDS,
    SIGNS,
    find_division,
    join_id,
    write_pattern,
)
from assay.retrievers.documents.structure.numerals import (
    ARABIC,
    ROMAN,
    WORD,
    WORDS,
    count_on,
    read_number,
    write_digits,
)

# How sure a form is: an id as such, a number with a sign or name before it, or a number alone.
Form = Literal["id", "signed", "named", "bare"]

# Repetitions have bounds: from each place where one may begin it is read to its end. Of white
# space a query holds single blanks.
_LEVEL = r"(?:(?:sub-?){0,9}(?:section|paragraph|clause|division)|subsec\.|(?:sub)?para\.?|cl\.)s?"
_LABELLED = rf"{_LEVEL}\s+(?:{LABEL}{LABELS}|[0-9A-Za-z]{{1,3}}\b)"
# subsection (c) of section 42-516; section 42-516, subsection (c)
_BEFORE = rf"(?P<before>(?:{_LABELLED} ?,? (?:of|in|under|to)\s(?:the\s)?){{1,9}})?"
_AFTER = rf"(?P<after>(?: ?,? ?{_LABELLED}){{1,9}})?"
# s. and ss. are too short to go without their stop.
_SIGN = (
    rf"(?:{SIGNS}|(?<![\w.])(?:{write_pattern(SECTION_WORDS, SECTION_SHORTS, '')}s?\.?|ss?\.))"
    r"\s*(?:nos?\.\s*)?"
)
_END = rf"(?![\w%]|\s%|[.:/]\d|{DASH}\d)"
_NAME = rf"{write_pattern(NAMES, ABBREVIATED, '')}(?:e?s)?\.?"
_DIVISION = rf"(?:{NUMBER}|(?<=[\s.])(?:{WORD}|[IVXLC]+(?:{DASH}?[A-Z])?|[A-Z]{DASH}?\d*))"
# Nothing follows that the words would belong to.
_CLOSED = r"\s*(?:[^\w\s]|of\b|\Z)"
# The last label of Rule 26 f.
_LOOSE = rf"(?P<loose>\s[a-z](?={_CLOSED}))?"

_ID = re.compile(rf"(?<![\w-])(?P<id>(?:sec|{'|'.join(NAMES)})(?:_[0-9a-z]+)+)(?!\w)", re.I)
_SIGNED = re.compile(
    rf"{_BEFORE}(?P<sign>{_SIGN})(?P<number>{NUMBER}|(?<=\s)(?:{WORD}|[IVXLC]+|[A-Z]))"
    rf"(?P<labels>{LABELS}){_LOOSE}{_END}{_AFTER}",
    re.I,
)
_NAMED = re.compile(
    rf"(?<![\w.])(?P<sign>{_NAME}\s*(?:nos?\.\s*)?)"
    rf"(?P<number>{_DIVISION})(?P<labels>{LABELS}){_LOOSE}{_END}",
    re.I,
)
_BARE = re.compile(
    rf"{_BEFORE}(?<![\w.,:/$€£#+])(?<!{DASH})(?P<number>{NUMBER})(?P<labels>{LABELS}){_END}{_AFTER}",
    re.I,
)
# §§ 801 and 804(a); sections 5, 6 through 8; § 12 to § 15.
_PLURAL = re.compile(r"§§|s\.?\s*(?:nos?\.\s*)?\Z", re.I)
_REACHES = rf"(?P<reaches>to|through|{DASH})"
_NEXT = re.compile(
    rf"\s*(?:,\s*(?:and|or)?|and/or|and|or|&|{_REACHES})\s*"
    rf"(?P<sign>{_SIGN}|(?<=\s){_NAME}\s*)?"
    rf"(?P<number>{NUMBER}|[IVXLC]+\b)(?P<labels>{LABELS}){_END}",
    re.I,
)
_ABOVE = re.compile(r" (?:of|in|under|to) (?:the )?", re.I)
_REST = 200  # characters after a number alone, of which the first word may be its title's
_ENDS = re.compile(_CLOSED, re.I)


@dataclass(frozen=True, slots=True)
class Mention:
    """A place that a query names.

    `name` is `sec`, or chapter and the like; `labels` lead below it.
    `text` is as typed, `rest` the beginning of what follows; `opens` is true if nothing precedes.
    `whole` is true if nothing above it can be meant instead: 401(k) and 5a may be many things;
    203(a)(1) may mean 203(a), if the documents have that.
    `plural` is true if several may be meant, and `between` if it is within a range but not one of
    its ends, so that it need not exist. `paragraph` is a paragraph named with its division, as in
    Article 6, paragraph 1; `inside` is true of a paragraph that means nothing elsewhere.
    """

    form: Form
    name: str
    number: str
    labels: tuple[str, ...]
    text: str
    rest: str = ""
    opens: bool = False
    whole: bool = False
    plural: bool = False
    between: bool = False
    paragraph: "Mention | None" = None
    inside: bool = False

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
        """The id of the named place, and those of places above it, nearest first."""
        labels = [f"({label})" for label in self.labels]
        least = min(len(labels), 1) if self.whole else 0
        lengths = range(len(labels), least - 1, -1)
        return [join_id(self.name, self.number, *labels[:length]) for length in lengths]

    def readings(self) -> Iterator[tuple["Mention", ...]]:
        """Yield the possible meanings, the likeliest first; a range means all from end to end.

        A paragraph of a division is one of its labels, or a section of its own in there.
        """
        if paragraph := self.paragraph:
            labels = (*self.labels, paragraph.number, *paragraph.labels)
            joined = replace(self, labels=labels, paragraph=None)
            yield (replace(joined, whole=True),)
            yield replace(self, paragraph=None), replace(paragraph, inside=True)
            yield from joined.readings()
            return
        yield (self,)
        ranges = list(self._read_range())
        yield from ranges if self.plural else ()
        head, *tail = re.split(rf"(?<!\s)\s+{DASH}\s*+|\s?{DASH}\s++", self.number)
        if tail:
            yield (replace(self, number=head),)
        if match := re.fullmatch(r"(.*\d)([A-Za-z]{1,2})", self.number):
            labels = (match[2], *self.labels)
            yield (replace(self, number=match[1], labels=labels, whole=True),)
        yield from () if self.plural else ranges
        if self.form in ("signed", "named"):
            number = self.number.lower()
            if other := ROMAN.get(number) or ARABIC.get(read_number(number)):
                yield (replace(self, number=str(other)),)

    def reach(self, last: "Mention") -> list["Mention"]:
        """Return the numbers after this one up to `last`, or `last` alone if it does not count on.

        The labels of `last` are its own.
        """
        found = [
            replace(self, number=number, labels=(), between=True)
            for number in count_on(spell(self.number), spell(last.number))[:-1]
        ]
        return [*found, last]

    def _read_range(self) -> Iterator[tuple["Mention", ...]]:
        """Yield 4–6 or 42-516–42-518 as a range: its numbers have equally many parts."""
        parts = re.split(DASH, self.number.replace(" ", ""))
        half = len(parts) // 2
        if self.form != "bare" and half and len(parts) == 2 * half:
            first = replace(self, number="-".join(parts[:half]), labels=())
            yield first, *first.reach(replace(self, number="-".join(parts[half:])))


def spell(number: str) -> str:
    """Return `number` with plain hyphens, without spaces, in lower case."""
    return re.sub(DASH, "-", number).replace(" ", "").lower()


def read_mentions(query: str) -> list[Mention]:
    """Return the mentions in `query`, in order and without overlaps."""
    text = re.sub(r"\s+", " ", unicodedata.normalize("NFKC", query)).strip()
    text = re.sub(rf"\(\s*(\w+(?:{DASH}\w+)?)\s*\)", r"(\1)", text)
    readers = {_ID: _read_id, _SIGNED: _read_signed, _NAMED: _read_named, _BARE: _read_bare}
    mentions: list[Mention] = []
    until = 0
    for match, read in find_forms(readers, text):
        start = match.start()
        if start >= until and (mention := read(match)):
            above = _ABOVE.fullmatch(text, until, start)
            listed, until = _read_list(match, mention)
            if not listed and mention.form == "named" and mention.name in PARAGRAPHED:
                if above and mentions and PARAGRAPH.match(mentions[-1].text):
                    paragraph = mentions.pop()
                    typed = f"{paragraph.text}{above[0]}{mention.text}"
                    mention = replace(mention, paragraph=paragraph, text=typed)
                else:
                    mention, until = _read_paragraph(text, mention, until)
            mentions += [mention, *listed]
    return mentions


def _read_paragraph(text: str, division: Mention, start: int) -> tuple[Mention, int]:
    """Return `division`, with a paragraph that `text` names at `start`, and the end of that."""
    labels, end = read_below(text, start)
    if not labels:
        return division, end
    paragraph = Mention("signed", "sec", labels[0], labels[1:], text[start:end])
    return replace(division, paragraph=paragraph, text=division.text + text[start:end]), end


def _read_id(match: re.Match[str]) -> Mention:
    name, _, number = match["id"].partition("_")
    return Mention("id", name, number, (), match[0])


def _read_signed(match: re.Match[str]) -> Mention | None:
    number, labels, plural = match["number"], _all_labels(match), _is_plural(match)
    known = number[0].isdigit() or number.lower() in {**WORDS, **ROMAN} or len(number) == 1
    if not known or _is_open(match, "[a-z]|one"):
        return None  # Section civil, section c code
    return Mention("signed", "sec", write_digits(number), labels, match[0], plural=plural)


def _read_named(match: re.Match[str]) -> Mention | None:
    if match["number"] != "A" and _is_open(match, "[ai]|one"):
        return None
    name = find_division(match["sign"])
    if not name:
        return None
    number, labels = write_digits(match["number"]), _own_labels(match)
    return Mention("named", name, number, labels, match[0], plural=_is_plural(match))


def _is_open(match: re.Match[str], numbers: str) -> bool:
    """Return True if one of `numbers` may be part of the following word, and no number.

    “part a plan”, “the part I wrote”, “the part one plays” and “section c code” name nothing.
    """
    alike = re.fullmatch(numbers, match["number"], re.I)
    return alike is not None and not _ENDS.match(match.string, match.end())


def _is_plural(match: re.Match[str]) -> bool:
    return bool(_PLURAL.search(match["sign"]))


def _read_bare(match: re.Match[str]) -> Mention:
    number, labels = match["number"], _all_labels(match)
    rest, opens = match.string[match.end() : match.end() + _REST], match.start() == 0
    return Mention("bare", "sec", number, labels, match[0], rest, opens, number.isdigit())


def _read_list(match: re.Match[str], first: Mention) -> tuple[list[Mention], int]:
    """Return the places that a sign lists after its `first` number, and the end of the list.

    A plural sign lists all kinds; the sign of one number only the end of a range: § 12 to § 15.
    """
    listed: list[Mention] = []
    last, end = first, match.end()
    while first.form in ("signed", "named") and (following := _NEXT.match(match.string, end)):
        again, reaches = following["sign"], following["reaches"]
        if not (first.plural or (again and reaches)) or (again and not _is_same(first, again)):
            break
        labels = list_labels(following["labels"])
        text = following[0][following.start("number") - following.start() :]
        one = Mention(first.form, first.name, following["number"], labels, text, plural=bool(again))
        listed += last.reach(one) if reaches else [one]
        last, end = one, following.end()
    return listed, end


def _is_same(first: Mention, sign: str) -> bool:
    """Return True if `sign` names the kind of the `first` of a list: Article 4 to Article 6."""
    signed = re.fullmatch(_SIGN, sign, re.I) is not None
    return first.form == "signed" if signed else first.name == find_division(sign)


def _own_labels(match: re.Match[str]) -> tuple[str, ...]:
    """Return the labels of a number, with the last one of Rule 26 f."""
    loose = match.groupdict().get("loose")
    return (*list_labels(match["labels"]), *([loose.strip()] if loose else []))


def _all_labels(match: re.Match[str]) -> tuple[str, ...]:
    """Return the labels of a number and of the levels named after and before it."""
    labels = [*_own_labels(match), *_level_labels(match["after"] or "")]
    for part in reversed(re.findall(_LABELLED, match["before"] or "", re.I)):
        labels += _level_labels(part)
    return tuple(labels)


def _level_labels(text: str) -> list[str]:
    """Return the labels of “subsection (c), paragraph 1”."""
    parts = re.findall(_LABELLED, text, re.I)
    return [label for part in parts for label in list_labels(part) or [part.split()[-1]]]
