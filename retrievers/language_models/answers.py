"""Answers as they are kept, so that nobody pays for one twice."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from retrievers.language_models.base import Answer, Ending, LanguageModel, Prompt
from retrievers.store.cache import Cache
from retrievers.store.digest import digest

CACHE_KIND = "answers"


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer without what it used: its text, and why the model stopped (see Answer)."""

    text: str
    ending: Ending
    note: str = ""


class AnswerCache:
    """The kept answers of one model, in entries of `kind`."""

    def __init__(self, cache: Cache, model: LanguageModel, kind: str = CACHE_KIND) -> None:
        self._cache = cache
        self._model = model
        self._kind = kind

    def key(self, prompt: Prompt) -> str:
        """Return what the answer to `prompt` is kept under, unless the asker says otherwise."""
        return digest("answer", self._model.identity, prompt.text)

    def find(self, keys: Iterable[str]) -> dict[str, KeptAnswer]:
        """Return the kept answers of those `keys` that have one."""
        found = self._cache.get_many(self._kind, keys)
        return {key: KeptAnswer(**json.loads(value)) for key, value in found.items()}

    def keep(self, key: str, answer: Answer) -> KeptAnswer:
        """Keep an answer, and return it as it is kept."""
        kept = KeptAnswer(answer.text, answer.ending, answer.note)
        value = json.dumps(asdict(kept), ensure_ascii=False).encode()
        self._cache.put_many(self._kind, {key: value})
        return kept
