"""Numbers in words and Roman numerals, and ranges such as 4–6 or 42-516 to 42-518."""

import re

LONGEST = 50  # numbers of a range; what reaches further is a number that a dash is part of

_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_TENS = ("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx", "xc")
ROMAN = {ten + one: 10 * i + j for i, ten in enumerate(_TENS) for j, one in enumerate(_ONES)}
ARABIC = {number: roman for roman, number in ROMAN.items() if number}

WORDS = {
    word: number
    for number, word in enumerate(
        re.findall(
            r"\w+",
            "one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
            "fifteen sixteen seventeen eighteen nineteen twenty",
        ),
        start=1,
    )
}
WORD = rf"(?:{'|'.join(WORDS)})\b"

_LAST = re.compile(r"((?:.*\D)?)(\d+)")
_DIGITS = 18  # of the longest number that counts


def read_number(text: str) -> int:
    """Return the number that `text` writes in digits; 0 for none, and for one beyond all use."""
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else 0


def write_digits(number: str) -> str:
    """Return `number` in digits if it is one of `WORDS`, as in Section Two, else as it is."""
    return str(WORDS.get(number.lower(), number))


def count_on(first: str, last: str) -> list[str]:
    """Return the numbers after `first` up to `last` if they count on from it; else none.

    Only the last part of a number counts: 42-516 to 42-518 is 42-517 and 42-518.
    """
    one, other = _LAST.fullmatch(first), _LAST.fullmatch(last)
    if one and other and one[1] == other[1]:
        begin, end = read_number(one[2]), read_number(other[2])
        if 0 < end - begin <= LONGEST and len(one[2]) <= _DIGITS:
            width = len(one[2])  # 4.05 to 4.07 goes by 4.06
            return [f"{one[1]}{number:0{width}}" for number in range(begin + 1, end + 1)]
    begin, end = ROMAN.get(first.lower(), 0), ROMAN.get(last.lower(), 0)
    if begin and 0 < end - begin <= LONGEST:
        return [ARABIC[number] for number in range(begin + 1, end + 1)]
    return []
