"""Scripts that do not separate words by spaces, and their share of a text."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Literal

from assay.retrievers.base.patterns import compile_late

Unspaced = Literal["chinese", "japanese", "korean", "thai"]

CODES: Mapping[Unspaced, str] = {"chinese": "zh", "japanese": "ja", "korean": "ko", "thai": "th"}

# Classes of characters for use within brackets: ideographs and their iteration marks, kana with the
# long vowel, syllables, and the letters of Thai without its signs.
HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d"
HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
THAI = "\u0e01-\u0e2e\u0e30\u0e32\u0e33\u0e40-\u0e45"

LETTER = compile_late(r"[^\W\d_]")
NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
SCRIPTS = [compile_late(f"[{letters}]") for letters in (HAN, KANA, HANGUL, THAI)]
TEXTS, CHARACTERS = 1000, 1000  # examined: the number of texts, and of characters of each
MUCH = 0.1  # of all letters
# Japanese has more kana than ideographs, Chinese hardly any.
JAPANESE = 0.1


def find_unspaced(texts: Iterable[str]) -> Mapping[Unspaced, float]:
    """Return the languages without spaces that have a tenth of the letters or more, by share.

    The beginnings of the first thousand texts are examined. A text counts as Japanese if one in ten
    or more of its ideographs and kana are kana, else as Chinese. Korean has spaces, but between
    them is a word together with its particles.
    """
    letters = 0
    counts: Counter[Unspaced] = Counter()
    for text in islice(texts, TEXTS):
        start = text[:CHARACTERS]
        if start.isascii():
            letters += len(start.encode().translate(None, NO_LETTERS))
        else:
            found = LETTER.findall(start)
            letters += len(found)
            joined = "".join(found)
            han, kana, korean, thai = (len(script.findall(joined)) for script in SCRIPTS)
            east: Unspaced = "japanese" if kana > JAPANESE * (han + kana) else "chinese"
            counts.update({east: han + kana, "korean": korean, "thai": thai})
    return {name: n / letters for name, n in counts.most_common() if n > MUCH * letters}


def describe_unspaced(shares: Mapping[Unspaced, float]) -> str:
    """Return the shares in words: 97% are Chinese."""
    return ", ".join(f"{share:.0%} are {name.capitalize()}" for name, share in shares.items())
