"""Digests that serve as keys of stored work."""

import hashlib
import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from assay.retrievers.store.lazy_sequence import LazySequence


def digest(*parts: Any) -> str:
    """Return the SHA-256, in hex, of `parts` as canonical JSON.

    Parts are JSON values or Pydantic models. Keys are sorted, so that equal settings give equal
    digests whatever order they were written in.
    """
    text = json.dumps(
        parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_as_json
    )
    return hashlib.sha256(text.encode()).hexdigest()


class Texts(LazySequence[str]):
    """Texts made again at each access; their digest is computed once."""

    @cached_property
    def digest(self) -> str:
        """The digest that `digest_texts` returns."""
        return _digest_each(self)


def digest_texts(texts: Iterable[str]) -> str:
    """Return the same as `digest` for a list of `texts`, holding one text at a time."""
    return texts.digest if isinstance(texts, Texts) else _digest_each(texts)


def _digest_each(texts: Iterable[str]) -> str:
    encode = json.JSONEncoder(ensure_ascii=False).encode
    content, before = hashlib.sha256(b"[["), ""
    for text in texts:
        content.update(f"{before}{encode(text)}".encode())
        before = ","
    content.update(b"]]")
    return content.hexdigest()


def digest_file(path: Path) -> str:
    """Return the SHA-256, in hex, of the file at `path`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _as_json(part: Any) -> Any:
    if isinstance(part, BaseModel):
        return part.model_dump(mode="json")
    raise TypeError(f"cannot digest a {type(part).__name__}")
