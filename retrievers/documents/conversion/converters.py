"""Converters of files into Markdown: markitdown, or a command of the user's own."""

import contextlib
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import hint_extra
from assay.retrievers.documents.conversion import converter
from assay.retrievers.settings import Settings
from assay.retrievers.settings.trust import CODE
from assay.retrievers.store.digest import digest, digest_file

PACKAGES = (
    "beautifulsoup4", "docutils", "mammoth", "markdownify", "markitdown", "openpyxl",
    "pdfminer.six", "pdfplumber", "python-pptx",
)  # fmt: skip
FILE = "{file}"
SUFFIX = re.compile(r"\.[^./\\\s]+")
KEY = "documents.converter.command"


def _check_suffix(suffix: str) -> str:
    if not SUFFIX.fullmatch(suffix):
        raise ValueError(f"{suffix!r} is no suffix; allowed: a dot and letters, as .adoc")
    return suffix.lower()


class MarkitdownSettings(Settings):
    """markitdown; headings of a PDF by their fonts, web pages without navigation and footer."""

    type: Literal["markitdown"]


class CommandSettings(Settings):
    """A command of yours that reads a file and writes Markdown, in UTF-8, to standard output."""

    type: Annotated[Literal["command"], CODE]
    command: Annotated[list[str], CODE] = Field(
        min_length=1,
        description="the program and its arguments; `{file}` among them stands for the file's "
        "path, which else comes last",
    )
    suffixes: list[Annotated[str, AfterValidator(_check_suffix)]] = Field(
        sorted((*converter.MARKITDOWN, *converter.HTML, *converter.WORKBOOKS)),
        min_length=1,
        description="the files it reads, such as .adoc; the others are read as without it",
    )
    version: str = Field(
        "",
        description="what it gave before is converted anew where this differs; a change to a file "
        "that the command names is noticed without it",
    )

    def convert(self, suffix: str, data: bytes, seconds: float) -> dict[str, Any]:
        """Return the `text` that the command makes of a file and its `seconds`, or a `reason`
        why there is none.

        Raises AssayError if there is no such program.
        """
        with tempfile.TemporaryDirectory(prefix="assay-convert-") as folder:
            file = Path(folder) / f"file{suffix}"
            file.write_bytes(data)
            arguments = [part.replace(FILE, str(file)) for part in self.command]
            arguments += [] if arguments != self.command else [str(file)]
            begin = time.perf_counter()
            try:
                done = subprocess.run(
                    arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds
                )
            except subprocess.TimeoutExpired:
                return {"reason": f"takes more than {seconds:g} s to convert"}
            except OSError as error:
                raise AssayError(f"{KEY}: {self.command[0]}: {error.strerror}") from None
            taken = time.perf_counter() - begin
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
            reason = (
                f"its converter ended with {done.returncode}: {said[:200] or 'no reason given'}"
            )
            return {"reason": reason}
        text = converter.tidy(done.stdout.decode("utf-8", "replace"))
        return {"text": text, "title": "", "seconds": taken}


def _expand_name(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


AnyConverter = Annotated[
    Annotated[MarkitdownSettings | CommandSettings, Field(discriminator="type")],
    BeforeValidator(
        _expand_name,
        json_schema_input_type=MarkitdownSettings | CommandSettings | Literal["markitdown"],
    ),
]
MARKITDOWN = MarkitdownSettings(type="markitdown")


def identify(settings: AnyConverter) -> str:
    """Return the digest of all that determines the output of a converter for a file.

    Raises AssayError if there is no such program, or markitdown is not installed.
    """
    if isinstance(settings, MarkitdownSettings):
        return _identify_markitdown()
    if shutil.which(settings.command[0]) is None:
        raise AssayError(f"{KEY}: there is no program {settings.command[0]}")
    others = _identify_markitdown() if find_spec("markitdown") else ""
    return digest(settings, _digest_files(tuple(settings.command)), others)


@cache
def _identify_markitdown() -> str:
    if find_spec("markitdown") is None:
        raise AssayError(f"converting files to Markdown {hint_extra('documents')}")
    return digest(converter.REVISION, [version(name) for name in PACKAGES])


@cache
def _digest_files(command: tuple[str, ...]) -> Mapping[str, str]:
    """Return the digests of the files that a command names, its program among them."""
    found = {}
    for part in command:
        with contextlib.suppress(OSError):
            found[part] = digest_file(Path(shutil.which(part) or part))
    return found
