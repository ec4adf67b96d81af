"""Kept answers, so that nobody pays for one twice."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from assay.retrievers.language_models.base import Answer, Ending, LanguageModel, Prompt
from assay.retrievers.services.prices import Usage
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.digest import digest

CACHE_KIND = "answers"


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer in the form that is kept (see Answer); `usage` is None in an example."""

    text: str
    ending: Ending
    note: str = ""
    usage: Usage | None = field(default=None, compare=False)


class AnswerCache:
    """The kept answers of one model, in entries of `kind`."""

    def __init__(self, cache: Cache, model: LanguageModel, kind: str = CACHE_KIND) -> None:
        self._cache = cache
        self._model = model
        self._kind = kind

    def key(self, prompt: Prompt) -> str:
        """Return the key of the answer to `prompt`: the prompt's own key, or else its words."""
        return prompt.key or digest("answer", self._model.identity, prompt.text)

    def find(self, keys: Iterable[str]) -> dict[str, KeptAnswer]:
        """Return the kept answers of those `keys` that have one."""
        found = self._cache.get_many(self._kind, keys)
        return {key: _read(json.loads(value)) for key, value in found.items()}

    def keep(self, key: str, answer: Answer) -> KeptAnswer:
        """Keep an answer, and return it as it is kept."""
        kept = KeptAnswer(answer.text, answer.ending, answer.note, answer.usage)
        value = json.dumps(asdict(kept), ensure_ascii=False).encode()
        self._cache.put_many(self._kind, {key: value})
        return kept


def _read(row: dict[str, Any]) -> KeptAnswer:
    return KeptAnswer(**row | {"usage": Usage(**row["usage"])})
