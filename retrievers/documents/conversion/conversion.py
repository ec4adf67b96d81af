"""Files to text: Markdown and plain text as they are, other formats by a converter.

markitdown, which is the default, finds no headings in a PDF: they are found by their fonts.
Navigation and footers of HTML pages are left out.
"""

import contextlib
import hashlib
import io
import json
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.retrievers.base import bounds
from assay.retrievers.documents.conversion import converter
from assay.retrievers.documents.conversion.converters import (
    MARKITDOWN,
    AnyConverter,
    CommandSettings,
    identify,
)
from assay.retrievers.documents.conversion.encodings import NotTextError, decode
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.digest import digest

TEXTS = (".md", ".markdown", ".txt")
ARCHIVES = (".docx", ".epub", ".pptx", ".xlsx")
FORMATS = (*TEXTS, *converter.SUFFIXES)
KIND = "conversions"

SECONDS = 300.0
# Office encrypts a document into a container of its old binary format.
BINARY_OFFICE = bytes.fromhex("d0cf11e0a1b11ae1")
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
TOP_HEADING = re.compile(r"^# ", re.M)


class ConversionError(Exception):
    """A file gives no text. The message says why, as in `is protected by a password`."""


class BlankError(ConversionError):
    """A file is sound and holds no text."""


@dataclass(frozen=True, slots=True)
class ConvertedText:
    """The text of a file of `size` bytes and the encoding it was in, "" if it was converted.

    `seconds` are those of the work, also if its result came from the cache. `pages` are the offsets
    at which the pages of a PDF begin in the text; empty if not known. `notes` name the parts left
    out. `digest` is the SHA-256 of the file.
    """

    text: str
    size: int
    encoding: str = ""
    seconds: float = 0.0
    cached: bool = False
    pages: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    digest: str = ""


def list_formats(settings: AnyConverter) -> Sequence[str]:
    """Return the suffixes of the files that a converter reads, or that are read without it."""
    own = settings.suffixes if isinstance(settings, CommandSettings) else ()
    return tuple(dict.fromkeys((*FORMATS, *own)))


class Converter:
    """A converter of one file at a time, by `settings`; markitdown has a separate process.

    A file that takes longer than `seconds`, or too much memory, ends that process and nothing
    else. Results are kept in `cache` by the content of the file, whatever its name, and by the
    converter and its version. Raises AssayError if there is no such converter.
    """

    def __init__(
        self, store: Cache, settings: AnyConverter = MARKITDOWN, seconds: float = SECONDS
    ) -> None:
        self._store = store
        self._settings = settings
        if isinstance(settings, CommandSettings):
            identify(settings)  # says at once that there is no such program
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def convert(self, path: Path) -> ConvertedText:
        """Return the text of the file at `path`, whose suffix is one of `list_formats`.

        Raises ConversionError when it has none or cannot be read.
        """
        data = _read(path)
        suffix = path.suffix.lower()
        if suffix in TEXTS and self._choose_command(suffix) is None:
            found = _decode(data)
        else:
            _check(suffix, data)
            found = self._convert(suffix, data)
        if not found.text.strip("\ufeff \t\r\n\f\v"):
            scanned = "; a scanned PDF needs text recognition (OCR) first"
            raise BlankError(f"holds no text{scanned if suffix == '.pdf' else ''}")
        return replace(found, digest=hashlib.sha256(data).hexdigest())

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _convert(self, suffix: str, data: bytes) -> ConvertedText:
        key = digest(identify(self._settings), suffix, hashlib.sha256(data).hexdigest())
        stored = self._store.get_many(KIND, [key]).get(key)
        command = self._choose_command(suffix)
        if stored:
            answer = json.loads(stored)
        elif command:
            answer = command.convert(suffix, data, self._seconds)
        else:
            answer = self._ask(suffix, data)
        # A failure of a command may be its own fault, and fixed later.
        if stored is None and not (command and "reason" in answer):
            self._store.put_many(KIND, {key: json.dumps(answer).encode()})
        if "reason" in answer:
            raise ConversionError(answer["reason"])
        text = _with_title(answer["text"], answer["title"], suffix)
        if excess := bounds.check_text(len(text), len(data)):
            raise ConversionError(excess)
        shift = len(text) - len(answer["text"])
        return ConvertedText(
            text,
            len(data),
            seconds=answer["seconds"],
            cached=stored is not None,
            pages=tuple(start and start + shift for start in answer.get("pages", ())),
            notes=tuple(answer.get("notes", ())),
        )

    def _choose_command(self, suffix: str) -> CommandSettings | None:
        used = self._settings
        return used if isinstance(used, CommandSettings) and suffix in used.suffixes else None

    def _ask(self, suffix: str, data: bytes) -> dict[str, Any]:
        process = self._process = self._process or _start()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()
        limited = bounds.limit_conversion(suffix, len(data))

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._seconds, stop)
        timer.start()
        line = b""
        try:
            with contextlib.suppress(OSError):  # it died while it was written to
                request = json.dumps({"suffix": suffix, "size": len(data), "seconds": limited})
                process.stdin.write(f"{request}\n".encode() + data)
                process.stdin.flush()
                line = process.stdout.readline()
        finally:
            timer.cancel()
        if line.endswith(b"\n"):
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.close()
        if late.is_set() or process.returncode == -converter.TOO_LONG:
            limit = self._seconds if late.is_set() else limited
            raise ConversionError(f"takes more than {limit:g} s to convert")
        raise ConversionError(f"ended its converter (code {process.returncode})")


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > bounds.DOCUMENT:
            raise ConversionError(
                f"is too large: {size >> 20} MB; at most {bounds.DOCUMENT >> 20} MB are read"
            )
        data = path.read_bytes()
    except OSError as error:
        raise ConversionError(f"cannot be read: {error.strerror}") from None
    if not data:
        raise BlankError("is empty")
    return data


def _decode(data: bytes) -> ConvertedText:
    try:
        text, encoding = decode(data)
    except NotTextError as error:
        raise ConversionError(str(error)) from None
    return ConvertedText(text, len(data), encoding)


def _check(suffix: str, data: bytes) -> None:
    """Refuse files that are plainly broken, locked or out of proportion, before converting them."""
    name = suffix[1:].upper()
    if suffix == ".pdf" and b"%PDF-" not in data[:1024]:
        raise ConversionError("is broken, or not a PDF at all")
    if suffix in converter.HTML and (excess := bounds.check_page(data)):
        raise ConversionError(excess)
    if suffix not in ARCHIVES:
        return
    if data.startswith(BINARY_OFFICE):
        if ENCRYPTED in data:
            raise ConversionError("is protected by a password")
        raise ConversionError(f"is in Office's old binary format; save it as {name}")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            excess = bounds.check_archive(archive, len(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        raise ConversionError(f"is broken, or no {name} at all") from None
    if any(member.flag_bits & 1 for member in members):
        raise ConversionError("is protected by a password")
    if excess:
        raise ConversionError(excess)


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", converter.__name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _with_title(text: str, title: str, suffix: str) -> str:
    """Return `text` with its title as frontmatter, if no heading has the title.

    The first heading of a book is that of a chapter.
    """
    title = " ".join(title.split())
    if not text or not title or (suffix != ".epub" and TOP_HEADING.search(text)):
        return text
    return f"---\ntitle: {json.dumps(title, ensure_ascii=False)}\n---\n\n{text}"
