"""Whether the keyword list of an engine finds words that no blanks set apart, as it is set up."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from assay.retrievers.base.scripts import Unspaced, describe_unspaced, find_unspaced

LANGUAGES: Sequence[Unspaced] = get_args(Unspaced)


class WordKey(NamedTuple):
    """The dotted key that decides how an engine takes texts apart, "" where there is none, and by
    language the values with which it finds words, the one to propose first.
    """

    key: str
    suited: Mapping[Unspaced, Sequence[str]]

    def suits(self, language: Unspaced, settings: Any) -> bool:
        """Say whether `settings` of an engine find the words of `language`."""
        value = settings
        for name in self.key.split(".") if self.key else ():
            value = getattr(value, name)
        return getattr(value, "language", value) in self.suited.get(language, ())

    def propose(self, language: Unspaced) -> str:
        """Return what finds the words of `language`, as a config says it."""
        values = self.suited.get(language)
        if not values:
            return f"a leg bm25 with analyzer: {language} beside it finds them"
        *folders, last = self.key.split(".")
        given = f"{last}: {values[0]}"
        for name in reversed(folders):
            given = f"{name}: {{{given}}}"
        return f"with engine: {{{given}}} they are found"


def doubt_words(engine: str, key: WordKey, settings: Any, texts: Iterable[str]) -> str:
    """Return why the keyword list does not suit the script of `texts`; "" where it does."""
    found = find_unspaced(texts)
    lost = {name: share for name, share in found.items() if not key.suits(name, settings)}
    if not lost:
        return ""
    return (
        f"the keyword list of {engine} looks for words between blanks, and of the letters"
        f" {describe_unspaced(lost)}: {key.propose(next(iter(lost)))}"
    )
