"""The contract of analyzers."""

from abc import ABC, abstractmethod


class Analyzer(ABC):
    """Turns a text into terms. Deterministic, and safe to call from several threads."""

    @abstractmethod
    def analyze(self, text: str) -> list[str]:
        """Return the terms of `text` in order of appearance, repeated as often as they occur."""
