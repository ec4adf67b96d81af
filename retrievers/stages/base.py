"""What a stage is: hits in, hits out."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retrievers.base import Hit


@dataclass(frozen=True, slots=True)
class StageResult:
    """The hits a stage puts out, best first, and in words what it did, if that is not plain."""

    hits: list[Hit]
    note: str = ""


class Stage(ABC):
    """One step after fusion. Stateless between queries but for caches."""

    @abstractmethod
    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return what becomes of `hits`, which are best first. Safe to call from threads."""

    def timed(self) -> "Stage":
        """The same stage with every per-query cache off."""
        return self

    def facts(self) -> Mapping[str, Any]:
        """What identifies this stage beyond its settings. JSON values."""
        return {}
