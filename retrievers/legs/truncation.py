"""The windows of the legs' encoders: a longer chunk loses its end, or is read in parts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.retrievers.base import Quiet
from assay.retrievers.models.caching import CachingEncoder
from assay.retrievers.models.choice import PassageEncoderChoice, Reader
from assay.retrievers.models.tokens import Tokenizer
from assay.retrievers.settings import Resources, Settings

SPECIAL_TOKENS = 2  # an encoder puts one before the text and one after


def list_encoders(parts: Iterable[Settings], resources: Resources) -> list[Reader]:
    """Return the distinct encoders of `parts` of a pipeline, which keep silent."""
    silent = replace(resources, progress=Quiet())
    settings = (value for part in parts for _, value in part)
    built: list[Reader] = [
        item.build(silent) for item in settings if isinstance(item, PassageEncoderChoice)
    ]
    return list({encoder.identity: encoder for encoder in built}.values())


def find_window(encoders: Iterable[Reader]) -> int | None:
    """Return the number of tokens that every encoder reads of a text; None if none states it."""
    told = (encoder.metadata().get("max_tokens") for encoder in encoders)
    return min((size for size in told if size), default=None)


def find_bill(encoder: CachingEncoder, texts: Sequence[str]) -> Mapping[str, Any]:
    """Return as facts of an index what a service bills for the distinct `texts`, if it does."""
    bill = encoder.recall_bill(texts)
    return {"billed": bill} if bill else {}


def count_unread(texts: Sequence[str], window: int | None, tokenizer: Tokenizer) -> int:
    """Return how many of `texts` go on after `window` tokens, special ones among these."""
    if window is None:
        return 0
    room = window - SPECIAL_TOKENS
    # Nearly every token is a character or more: short texts need no counting.
    return sum(len(text) > room and tokenizer.count(text) > room for text in texts)


def split(text: str, window: int, tokenizer: Tokenizer) -> list[str]:
    """Return `text` in as few parts as fit into `window` tokens, all of about one length."""
    room = window - SPECIAL_TOKENS
    offsets = tokenizer.offsets(text) if len(text) > room else []
    if len(offsets) <= room:
        return [text]
    number = -(-len(offsets) // room)
    starts = [offsets[i * len(offsets) // number][0] for i in range(1, number)]
    ends = [*starts, len(text)]
    return [text[start:end] for start, end in zip([0, *starts], ends, strict=True)]
