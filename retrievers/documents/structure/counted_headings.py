"""Headings that a bare number opens: `3 Mounting`, `(3) Duties`, `IV Results`, `IV. Results`.

One alone may say anything: 3 ways to fail, 2024 Results, I was late. They number sections where
headings of their level count on: from 1 (or 0) two or more, from elsewhere three or more, as in a
manual that is cut into files. What counts the same thing (1 Year, 2 Years) is no numbering, nor
are numbers before words in lower case, as the units of measures are (3 mm).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from assay.retrievers.documents.structure.identifiers import COUNTED, NAMES, identify, join_id
from assay.retrievers.documents.structure.numerals import ROMAN

LEAST = 3  # headings of a count that does not begin at its beginning


@dataclass(frozen=True, slots=True)
class _Mark:
    """Heading number `place`, below heading `above`; its `number`, and the words after that."""

    place: int
    above: int
    number: int
    words: str


def identify_headings(headings: Sequence[tuple[int, str]]) -> list[str]:
    """Return the ids of the sections under `headings`, pairs of a level and a title, in order."""
    ids = [identify(title) for _, title in headings]
    for mark in _find_counted(headings):
        match = COUNTED.match(headings[mark.place][1])
        if match is None:
            continue
        # (3) under Article 12 is Article 12(3).
        within = ids[mark.above] if match["open"] and mark.above >= 0 else ""
        named = within.partition("_")[0] in ("sec", *NAMES)
        ids[mark.place] = join_id(within if named else "sec", match["number"])
    return ids


def _find_counted(headings: Sequence[tuple[int, str]]) -> list[_Mark]:
    """Return the headings whose numbers count on, in order."""
    counts: dict[tuple[int, str], list[list[_Mark]]] = defaultdict(list)
    path: list[tuple[int, int]] = []  # the levels and places of the headings above
    for place, (level, title) in enumerate(headings):
        path = [item for item in path if item[0] < level]
        above = path[-1][1] if path else -1
        path.append((level, place))
        match = COUNTED.match(title)
        if match is None:
            continue
        number = match["number"].lower()
        value = int(number) if number.isdigit() else ROMAN.get(number, -1)
        mark = _Mark(place, above, value, match["rest"])
        style = f"{'digits' if number.isdigit() else 'Roman'}{match['open'] or ''}"
        runs = counts[level, style]
        for run in reversed(runs):
            if value == run[-1].number + 1 and (above == run[-1].above or len(run) > 1):
                run.append(mark)
                break
        else:
            runs.append([mark])
    runs = [run for of_level in counts.values() for run in of_level if _are_numbers(run)]
    return sorted((mark for run in runs for mark in run), key=lambda mark: mark.place)


def _are_numbers(run: Sequence[_Mark]) -> bool:
    """Say whether numbers that count on are those of headings, and do not count things."""
    if len(run) < (2 if run[0].number in (0, 1) else LEAST):
        return False
    words = [mark.words.lstrip("\"“'*_`([ ") for mark in run]
    small = sum(text[:1].islower() for text in words)
    firsts = {text.split()[0].lower().rstrip("s.,:;") for text in words if text}
    return 2 * small < len(run) and len(firsts) > 1
