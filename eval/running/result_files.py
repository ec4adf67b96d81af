"""Files of configs that a command found: an existing file is never replaced silently.

The first line of such a file names the command and the date, and holds two digests: of the
question, and of the lines below it. From these a later command recognises an earlier answer to the
same question that has not been changed since.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from assay.retrievers.base import AssayError
from assay.retrievers.settings.files import read_mapping
from assay.retrievers.store.digest import digest
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing

HEAD = re.compile(
    r"# assay (?P<command>\w+), (?P<date>[\d-]+); (?P<asked>\w{16})-(?P<made>\w{16})\n"
)


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The text of a config, and the digest of the question that it answers."""

    command: str
    asked: str
    text: str

    def render(self) -> bytes:
        """Return the file."""
        date = datetime.now(UTC).date()
        made = digest(self.text)[:16]
        return f"# assay {self.command}, {date}; {self.asked[:16]}-{made}\n{self.text}".encode()


@dataclass(frozen=True, slots=True)
class Earlier:
    """The file at `path`: `asked` is the digest of its question, "" if that is not known.

    It is not known for a file that no command made, or that was changed since.
    """

    path: Path
    what: str
    asked: str = ""
    text: str = ""


def read_earlier(path: Path, beside: tuple[str, ...] = ()) -> Earlier | None:
    """Return the file at `path`, or one with its name and another of the given suffixes."""
    if not path.exists():
        others = (path.with_suffix(suffix) for suffix in beside)
        found = next((other for other in others if other.exists()), None)
        return Earlier(found, f"{found} is there already") if found else None
    text = path.read_text("utf-8", "replace")
    head = HEAD.match(text)
    if head is None:
        return Earlier(path, f"{path} was made by hand", text=text)
    body = text[head.end() :]
    if digest(body)[:16] != head["made"]:
        return Earlier(path, f"{path} was made by assay {head['command']} and changed since")
    try:
        described = str(read_mapping(path).get("description", ""))
    except AssayError:
        described = ""
    what = f"{path} is of {head['date']}: {described.partition(', by: ')[0]}".rstrip(": ")
    return Earlier(path, what, head["asked"], body)


def check_place(path: Path, asked: str, beside: tuple[str, ...] = ()) -> None:
    """Raise AssayError if `path`, which the user named, holds anything but an earlier answer."""
    earlier = read_earlier(path, beside)
    if earlier and earlier.asked != asked[:16]:
        raise AssayError(f"--output: {earlier.what}; --force replaces it, or give another name")


def write_result(
    path: Path, result: StoredResult, beside: tuple[str, ...] = (), *, named: bool, force: bool
) -> tuple[Path, str]:
    """Write `result` to `path`; return the path of the file, and a note on it, "" for none.

    An earlier answer to the same question is replaced, and with `force` any file. Otherwise a path
    that the user `named` is refused, as by `check_place`; another path gets a number. One process
    at a time finds its path and writes.
    """
    with changing(path):
        if named and not force:
            check_place(path, result.asked, beside)
        place, said, written = _find_place(path, result, force)
        if not written:
            write_atomically(place, result.render())
    return place, said


def _find_place(path: Path, result: StoredResult, force: bool) -> tuple[Path, str, bool]:
    """Return the path of a result, a note on it, and True if it is there already."""
    kept = ""
    for number in count(1):
        place = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        earlier = read_earlier(place)
        if earlier is None:
            return place, kept and f"{kept}; this result is {place}", False
        if earlier.text == result.text:
            return place, "", True
        if force or earlier.asked == result.asked[:16]:
            return place, f"replaced: {earlier.what}", False
        kept = kept or f"kept: {earlier.what}"
    raise AssertionError("unreachable")
