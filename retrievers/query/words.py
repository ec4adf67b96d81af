"""Words of texts, as query steps handle them: stop words apart, compared by their stems."""

import re

from assay.retrievers.text.languages import STOP_WORDS, Language, LanguageAnalyzerSettings
from assay.retrievers.text.tokens import fold

# A name may have hyphens and underscores in it, and digits after its first letter.
TERM = re.compile(r"(?<![\w-])[^\W\d_][\w-]*\w(?![\w-])")


class Words:
    """Finds the words of texts in one language. Safe to call from several threads."""

    def __init__(self, language: Language) -> None:
        settings = LanguageAnalyzerSettings(
            language=language, stop_words=language in STOP_WORDS, identifiers=False
        )
        self._analyzer = settings.build()

    def find_terms(self, text: str) -> list[str]:
        """Return the folded words of three characters or more that are no stop words."""
        found = TERM.findall(fold(text))
        return [term for term in found if len(term) > 2 and self.stem(term)]

    def stem(self, term: str) -> str:
        """Return the key by which words count as equal, the stem; empty for stop words."""
        return " ".join(self._analyzer.analyze(term))

    def find_stems(self, text: str) -> set[str]:
        """Return the stems of all words of `text`, of joined names and their parts alike."""
        return {self.stem(term) for term in TERM.findall(fold(text))} | set(
            self._analyzer.analyze(text)
        )
