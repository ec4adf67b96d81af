"""The history of a collection: `versions.jsonl` beside its card, one version a line.

A line says what changed since the version's parent, with the digest of every item that is new or
changed, so that the file alone says what each version held. Lines are only ever added. Git puts
together the lines of two branches (`merge=union` in the folder's .gitattributes).
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.eval.collections.card import SHA256, Card
from assay.eval.collections.collection import Collection
from assay.eval.collections.history.contents import EMPTY, Changes, Contents, compare_contents
from assay.retrievers.base import AssayError
from assay.retrievers.settings import explain_error
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing

FILE = "versions.jsonl"
ATTRIBUTES = ".gitattributes"
MERGED = f"{FILE} merge=union"
SHOWN = 12  # digits of a version's digest in what people read


class Version(BaseModel):
    """A version: the digest of the collection, which runs name too, and what changed, why.

    `parent` is the digest of the version it was made from, "" of the first. `date` is in UTC, to
    the second.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    digest: str = Field(pattern=SHA256)
    parent: str = Field(pattern=f"^$|{SHA256}")
    date: str
    why: str
    changes: Changes

    @property
    def short(self) -> str:
        """The digits of the digest that are shown."""
        return self.digest[:SHOWN]


def record_version(collection: Collection, why: str | Callable[[Changes], str]) -> Version:
    """Add what a collection holds now to its history, unless its last version is that already.

    Args:
        collection: As it was loaded from the files that are there now, with the card's first
            judgments.
        why: What it was changed for, in a few words, or what says so of the changes.

    Returns:
        The version that the history ends with.

    Raises:
        AssayError: The collection has no card file, or the history cannot be read or written.
    """
    card = collection.card
    path = locate_history(card)
    with changing(path):
        history = read_history(card)
        if history and history[-1].digest == collection.digest:
            return history[-1]
        before = find_contents(history, len(history) - 1) if history else EMPTY
        changes = compare_contents(before, Contents.of(collection))
        reason = why if isinstance(why, str) else why(changes)
        version = Version(
            digest=collection.digest,
            parent=history[-1].digest if history else "",
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            why=" ".join(reason.split()),
            changes=changes,
        )
        lines = [*map(render_version, history), render_version(version)]
        write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
        _let_git_merge(card.folder / ATTRIBUTES)
    return version


def read_history(card: Card) -> tuple[Version, ...]:
    """Return the versions of a collection, the oldest first; none where none was recorded.

    Raises AssayError, naming the line, where the file cannot be read.
    """
    if card.path is None:
        return ()
    path = locate_history(card)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"{path}: cannot be read: {error}") from None
    versions = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            versions.append(Version.model_validate_json(line))
        except ValidationError as error:
            reason = explain_error(error)
            if line.startswith(("<<<<<<<", "=======", ">>>>>>>")):
                reason = "a merge conflict's mark; delete the marks and keep the lines of both"
            raise AssayError(f"{path}:{number}: {reason}") from None
    return tuple(versions)


def locate_history(card: Card) -> Path:
    """Return the file of a collection's history. Raises AssayError where it has no card file."""
    if card.path is None:
        raise AssayError(f"{card.name}: has no card file, beside which its history would be kept")
    return card.folder / FILE


def find_contents(history: tuple[Version, ...], position: int) -> Contents:
    """Return what the version at a position of the history held.

    Raises AssayError where a version that it was made from is missing from the file.
    """
    chain = []
    while True:
        version = history[position]
        chain.append(version)
        if not version.parent:
            break
        # The nearest above: a collection may come back to what it was.
        earlier = (i for i in range(position - 1, -1, -1) if history[i].digest == version.parent)
        found = next(earlier, None)
        if found is None:
            raise AssayError(
                f"{FILE}: the version {version.parent[:SHOWN]}, from which {version.short} was "
                "made, is not above it; take the file back from git"
            )
        position = found
    contents = EMPTY
    for version in reversed(chain):
        contents = contents.apply(version.changes)
    return contents


def render_version(version: Version) -> str:
    """Return the line of a version, without its end."""
    values = {**version.model_dump(exclude={"changes"}), "changes": version.changes.as_json()}
    return json.dumps(values, ensure_ascii=False)


def _let_git_merge(path: Path) -> None:
    """Say in the folder's .gitattributes that lines of two branches are both kept."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if MERGED not in text.splitlines():
        gap = "" if not text or text.endswith("\n") else "\n"
        write_atomically(path, f"{text}{gap}{MERGED}\n".encode())
