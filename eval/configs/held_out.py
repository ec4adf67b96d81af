"""The questions that a project holds out: only `assay compare --held-out` reads them."""

import shlex
from typing import TYPE_CHECKING

from assay.eval.configs.locations import find_project
from assay.retrievers.base import AssayError

if TYPE_CHECKING:
    from assay.eval.collections.card import Card


def check_open(reference: str) -> None:
    """Raise AssayError if a collection has questions that the project holds out."""
    project = find_project()
    if project is None or project.held_out is None:
        return
    from assay.eval.collections.catalog import find
    from assay.eval.collections.parts import DEVELOPMENT, HELD_OUT

    held, part = find(project.held_out)
    try:
        card, variant = find(reference)
    except AssayError:
        return  # reported where it is read
    same = (card.path, card.location) == (held.path, held.location)
    if same and _may_share(held, part, variant):
        own = part == HELD_OUT and part not in held.variants
        other = f"{project.held_out.removesuffix(part)}{DEVELOPMENT}"
        allowed = f"; allowed: {other}, as `collection` or by --dataset" if own else ""
        raise AssayError(
            f"dataset: {reference} has questions that {project.source} holds out, which only "
            f"`assay compare --held-out` reads{allowed}"
        )


def _may_share(card: "Card", part: str, variant: str) -> bool:
    """Return True if two sets of judgments of a collection may have a question in common."""
    from assay.eval.collections.card import FileCard
    from assay.eval.collections.parts import PARTS

    if part == variant:
        return True
    if isinstance(card, FileCard) and {part, variant} <= set(card.variants):
        return not set(card.judgment_files(part)).isdisjoint(card.judgment_files(variant))
    return {part, variant} != set(PARTS)


def suggest_look(incumbent: str, other: str) -> list[str]:
    """Return the call that looks at the held-out questions; none where a project has none."""
    project = find_project()
    if project is None or project.held_out is None:
        return []
    return [f"compare {shlex.join([incumbent, other])} --held-out"]
