"""Counting tokens as the default models do, and finding where they lie."""

from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.model_files.pins import DEFAULT_TOKENIZER, list_pinned, pinned_names
from assay.retrievers.model_files.wheels import fetch
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest_file
from assay.retrievers.store.paths import parse_path


class Tokenizer:
    """A tokenizer, without truncation and special tokens. Safe to call from threads."""

    def __init__(self, name: str, resources: Resources) -> None:
        """Load the tokenizer of the pinned model `name`, fetched if it is not in the cache, or
        that of a model in the folder `name`.
        """
        folder, self.identity = _locate(name, resources)
        self._reader = _read(folder / "tokenizer.json", self.identity)

    @classmethod
    def default(cls, resources: Resources) -> "Tokenizer":
        """Return the tokenizer the default encoder and cross-encoder share (0.7 MB)."""
        return cls(DEFAULT_TOKENIZER, resources)

    @cached_property
    def splits_at_blanks(self) -> bool:
        """Whether words are parted at blanks before all else, as BERT's tokenizer does."""
        from tokenizers.normalizers import BertNormalizer
        from tokenizers.pre_tokenizers import BertPreTokenizer

        added = self._reader.get_added_tokens_decoder().values()
        return (
            isinstance(self._reader.normalizer, BertNormalizer)
            and isinstance(self._reader.pre_tokenizer, BertPreTokenizer)
            and not any(
                token.lstrip or token.rstrip or token.content.split() != [token.content]
                for token in added
            )
        )

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        return len(self._reader.encode(text, add_special_tokens=False).ids)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the start and end of each token, in code points of `text`."""
        return list(self._reader.encode(text, add_special_tokens=False).offsets)


@lru_cache(maxsize=4)
def _read(path: Path, _identity: str) -> Any:
    """Return the reader that the file of this path and digest describes, for all to share."""
    from tokenizers import Tokenizer as Reader

    reader = Reader.from_file(str(path))
    reader.no_truncation()
    reader.no_padding()
    return reader


def _locate(name: str, resources: Resources) -> tuple[Path, str]:
    """Return the folder of the tokenizer `name` and the digest of its file."""
    if pin := next((pin for pin in list_pinned() if pin.name == name), None):
        return fetch(pin, resources).path, pin.digests["tokenizer.json"]
    folder = parse_path(name, "tokenizer")
    if (folder / "tokenizer.json").is_file():
        return folder, digest_file(folder / "tokenizer.json")
    allowed = f"{pinned_names('tokenizer')}, {pinned_names('encoder')}"
    raise AssayError(
        f"tokenizer {name}: unknown; allowed: {allowed}, or a folder that holds tokenizer.json"
        f"{suggest(name, allowed.split(', '))}"
    )
