"""Words of a text, for query languages in which other characters are operators."""

import re

_WORD = re.compile(r"[^\W_]+")


def find_words(text: str) -> list[str]:
    """Return the words of a text, of letters and digits alone, each once, in lower case."""
    return list(dict.fromkeys(_WORD.findall(text.lower())))
