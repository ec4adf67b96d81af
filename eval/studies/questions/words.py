"""Checks on the words of questions and passages: copied sequences, identifiers, and leaks."""

import re
from collections.abc import Iterable, Sequence

from assay.eval.collections.traits import SHORT, share_words, split_words

# Of people's questions 95 % share fewer words with their answer: .86 on Cranfield, .89 on SciFact.
MOST_SHARED = 0.9
FEWEST_WORDS = 4  # of those that count; a question of fewer may share all by chance
RUN = 3  # length of the word sequences that are compared
IDENTIFIER = re.compile(
    r"""
    §§?\s?\d[\w.()-]*\w\)?            # § 4.2(a)
    | \b(?=[\w./-]{0,60}\d)(?=[\w./-]{0,60}[A-Za-z])\w+(?:[./-]\w+)*   # E17, GV-400, ISO-9001
    | \b\d+(?:[.-]\d+)+\b             # 4.2.1
    | \b\w+_\w+                       # max_tokens
    | \b[a-z]+[A-Z]\w*                # getUser
    """,
    re.VERBOSE,
)
# Phrases that refer to the passage, which a person who asks has not seen, by language.
LEAKS = {
    "any": r"<passage|\[(?:passage|source|excerpt) ?\d*\]",
    "en": r"according to (?:the|this|these) (?:given |provided |above )?"
    r"(?:passages?|texts?|excerpts?|documents?|paragraphs?|snippets?|contexts?|articles?)\b"
    r"|(?:in|from|by|of) (?:the|this|that|these) (?:\w+ )?"
    r"(?:passages?|excerpts?|paragraphs?|snippets?)\b"
    r"|(?:in|from|by|of) (?:the (?:given |provided )?texts?|this (?:text|document|context))\b"
    r"|(?:passages?|texts?|excerpts?|documents?|paragraphs?) (?:above|below|provided|says?"
    r"|states?|mentions?|describes?)\b"
    r"|(?:mentioned|described|stated|listed|given|provided) "
    r"(?:above|in (?:the|this) (?:text|document|section|article|context))\b",
    "de": r"laut (?:(?:dem|diesem|der) )?(?:text|abschnitt|auszug|dokument|passage|textstelle)\b"
    r"|(?:in|aus) (?:dem|diesem|dieser|der) "
    r"(?:text|abschnitt|auszug|dokument|passage|textstelle)\b|im (?:text|abschnitt|auszug)\b"
    r"|oben (?:genannt|erwähnt|beschrieben)",
    "fr": r"(?:selon|d['’]après|dans) (?:le|la|ce|cet|cette) "
    r"(?:texte|passage|extrait|document|paragraphe)|mentionnée?s? (?:ci-dessus|dans le)",
    "es": r"(?:según|de acuerdo con|en) (?:el|la|este|esta) "
    r"(?:texto|pasaje|fragmento|documento|párrafo)|mencionad[oa]s? (?:arriba|en el)",
    "it": r"(?:secondo|in) (?:il|la|questo|questa) (?:testo|brano|passaggio|documento|paragrafo)"
    r"|nel (?:testo|brano|documento)\b",
    "pt": r"(?:segundo|de acordo com|n)[oa]? ?(?:o|a|este|esta)? "
    r"(?:texto|trecho|documento|parágrafo)\b",
    "nl": r"(?:volgens|in|uit) (?:de|het|deze|dit) (?:tekst|passage|fragment|document|alinea)\b",
    "zh": r"根据(?:上述|以上|这段|本)?(?:文本|文章|段落|文档|文件|内容)|(?:文中|上文|本段|该段落)",
    "ja": r"(?:本文|文章|文書|上記|この(?:段落|文章|文書))(?:によ(?:ると|れば)|では|の中)",
    "ko": r"(?:본문|지문|위 글|이 (?:문서|글|단락))(?:에 따르면|에서)",
}
_LEAK = re.compile("|".join(f"(?:{pattern})" for pattern in LEAKS.values()), re.IGNORECASE)


def measure_overlap(question: str, passage: str) -> float:
    """Return the share of the question's three-word sequences that are in the passage, 0 to 1.

    A question of fewer words is one sequence. The share is 0 for a question without words.
    """
    asked, shown = split_words(question), split_words(passage)
    size = min(RUN, len(asked))
    if not size:
        return 0.0
    known = set(_list_runs(shown, size))
    runs = _list_runs(asked, size)
    return sum(run in known for run in runs) / len(runs)


def find_shared(question: str, passages: Iterable[str]) -> float:
    """Return the share of the question's words that passages hold, 0 to 1; 0 for few words."""
    if sum(len(word) >= SHORT for word in set(split_words(question))) < FEWEST_WORDS:
        return 0.0
    return share_words(question, " ".join(passages)) or 0.0


def find_identifiers(text: str) -> set[str]:
    """Return the identifiers in `text`: numbers of sections, codes, names of functions."""
    return {found.group().strip() for found in IDENTIFIER.finditer(text)}


def find_leak(question: str) -> str:
    """Return the phrase of `question` that refers to its passage; "" if there is none."""
    found = _LEAK.search(question)
    return found.group() if found else ""


def _list_runs(words: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]
