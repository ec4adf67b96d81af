"""Counting tokens as the default models do, and finding where they lie."""

from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from assay.retrievers.base import AssayError, cut
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.model_files.pins import DEFAULT_TOKENIZER, list_pinned, pinned_names
from assay.retrievers.model_files.wheels import fetch
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest_file
from assay.retrievers.store.paths import parse_path


class Tokenizer:
    """A tokenizer, without truncation and special tokens. Safe to call from threads."""

    def __init__(self, name: str, resources: Resources) -> None:
        """Find the tokenizer of the pinned model `name`, fetched if it is not in the cache, or
        that of a model in the folder `name`. It is loaded when a text needs it.
        """
        self._folder, self.identity = _locate(name, resources)

    @classmethod
    def default(cls, resources: Resources) -> "Tokenizer":
        """Return the tokenizer the default encoder and cross-encoder share (0.7 MB)."""
        return cls(DEFAULT_TOKENIZER, resources)

    @cached_property
    def _reader(self) -> Any:
        return _read(self._folder / "tokenizer.json", self.identity)

    @cached_property
    def splits_at_blanks(self) -> bool:
        """True if texts are first split at blanks, as BERT's tokenizer does."""
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
        return len(encode(self._reader, text, add_special_tokens=False).ids)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the start and end of each token, in code points of `text`."""
        return list(encode(self._reader, text, add_special_tokens=False).offsets)


def encode(reader: Any, *texts: str | None, **options: bool) -> Any:
    """Return the encoding of a text or pair. Raises AssayError if a pattern gives up on it."""
    try:
        return reader.encode(*texts, **options)
    except BaseException as error:  # the library has no exception of its own for a panic
        if type(error).__name__ != "PanicException":
            raise
        raise AssayError(f"the tokenizer cannot read {cut(repr(texts[0]))}: {error}") from None


def read_tokenizer(path: Path) -> Any:
    """Return the tokenizer in a file. Raises AssayError if it is damaged."""
    from tokenizers import Tokenizer as Reader

    try:
        return Reader.from_file(str(path))
    except Exception as error:  # the library has no exception of its own for this
        raise AssayError(
            f"{path}: cannot be loaded: {error}; if it is damaged, copy it again, or delete "
            f"{path.parent} where that lies in the cache: it is fetched anew"
        ) from None


def read_whole_tokenizer(path: Path) -> Any:
    """Return the tokenizer in a file, without truncation or padding."""
    reader = read_tokenizer(path)
    reader.no_truncation()
    reader.no_padding()
    return reader


@lru_cache(maxsize=4)
def _read(path: Path, _identity: str) -> Any:
    """Return the reader that the file of this path and digest describes, for all to share."""
    return read_whole_tokenizer(path)


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
