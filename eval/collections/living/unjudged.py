"""Text that came after the judgments were made, which none of them has seen."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from assay.eval.collections.card import Card
from assay.eval.collections.history import read_history
from assay.eval.collections.history.contents import digest_document
from assay.eval.collections.history.versions import find_contents
from assay.eval.collections.living.selectors import digest_lines
from assay.retrievers.base import Document


@dataclass(frozen=True, slots=True)
class NewText:
    """Documents that are new or changed since the last version, or since a revision; and lines of
    20 characters or more that no document had at that revision, None where none is given.
    """

    documents: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    lines: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def measure_new_text(
    card: Card, documents: Mapping[str, Document], past: Mapping[str, Document]
) -> NewText:
    """Return what is new in `documents`, compared with `past` or, without it, the last version."""
    if past:
        known = {name: digest_document(document) for name, document in past.items()}
        seen = set().union(*(digest_lines(document.text) for document in past.values()))
        lines = sum(len(digest_lines(item.text) - seen) for item in documents.values())
    elif history := read_history(card):
        known, lines = dict(find_contents(history, len(history) - 1).documents), None
    else:
        return NewText()
    now = {name: digest_document(document) for name, document in documents.items()}
    changed = (name for name in now if name in known and now[name] != known[name])
    texts = set(known.values())  # a document that was renamed is not new
    new = (name for name in now if name not in known and now[name] not in texts)
    return NewText(tuple(new), tuple(changed), lines)
