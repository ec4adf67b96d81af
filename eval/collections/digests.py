"""Sizes and digests: measuring them, and writing them into a card."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml

from assay.eval.collections.card import Card, Sizes
from assay.eval.collections.catalog import parse_card
from assay.eval.collections.collection import Collection, GoldItem
from assay.eval.collections.loading import load_card
from assay.eval.collections.location import find_data
from assay.eval.collections.problems import QUIET
from assay.retrievers.base import AssayError, Document, Progress
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing

BLOCKS = {"sizes", "digests"}
MAY_LACK = {"passages", "by_model"}  # sizes that are written only if there are any


def measure_sizes(documents: Iterable[Document], gold: Iterable[Sequence[GoldItem]]) -> Sizes:
    """Return the sizes of a collection; `gold` is the gold items of each judged query."""
    passages, judged = [len(document.passages) for document in documents], list(gold)
    return Sizes(
        documents=len(passages),
        passages=sum(passages),
        queries=len(judged),
        judgments=sum(map(len, judged)),
        by_model=sum(item.by_model for items in judged for item in items),
    )


def measure_digest(card: Card, name: str) -> str:
    """Return the SHA-256, in hex, of a file or folder the card names.

    That of a folder is taken over the paths and digests of the documents in it. Raises AssayError
    when it is missing.
    """
    path = find_data(card) / name
    if not path.is_dir():
        return _digest_file(path)
    content = hashlib.sha256()
    for file in card.list_files(path):
        content.update(f"{file.relative_to(path).as_posix()}\n{_digest_file(file)}\n".encode())
    return content.hexdigest()


def seal(card: Card, progress: Progress = QUIET, collection: Collection | None = None) -> Card:
    """Write the actual sizes and digests into the card's file and return the new card.

    `collection` is that of the card, where it has been loaded from the files that are there now.
    All else in the file stays as it is, comments included. Raises AssayError when the collection
    does not load, or has no card file.
    """
    if card.path is None:
        raise AssayError(f"{card.name}: has no card to write sizes and digests into")
    with changing(card.folder):
        collection = collection or load_card(card, card.variants[0], progress)
        sizes = measure_sizes(collection.documents, collection.gold.values()).model_dump()
        sizes = {key: size for key, size in sizes.items() if size or key not in MAY_LACK}
        digests = {name: measure_digest(card, name) for name in card.names()}
        text = replace_block(card.path.read_text(encoding="utf-8"), "sizes", sizes)
        text = replace_block(text, "digests", digests)
        sealed = parse_card(text, card.path)
        if sealed.model_dump(exclude=BLOCKS) != card.model_dump(exclude=BLOCKS):
            raise AssayError(f"{card.path}: cannot be sealed; write sizes and digests as blocks")
        write_atomically(card.path, text.encode())
        return sealed


def replace_block(text: str, key: str, values: dict[str, int] | dict[str, str]) -> str:
    """Return the YAML `text` with the top-level block `key` replaced, or put at the end."""
    block = yaml.safe_dump({key: values}, sort_keys=False, allow_unicode=True, width=1000)
    for key_node, value in _entries(text):
        if key_node.value == key:
            end = _last_mark(value)
            return text[: key_node.start_mark.index] + block.rstrip("\n") + text[end:]
    return f"{text.rstrip()}\n{block}" if values else text


def _digest_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise AssayError(f"{path}: cannot be read: {error.strerror}") from None


def _entries(text: str) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    node = yaml.compose(text)
    return node.value if isinstance(node, yaml.MappingNode) else []


def _last_mark(node: yaml.Node) -> int:
    """Return the index at which `node` ends.

    The parser puts the end of a block after the comments and blank lines that follow, so the end of
    its last entry is taken.
    """
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return _last_mark(node.value[-1][1])
    return node.end_mark.index
