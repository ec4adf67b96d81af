"""The YAML block at the head of a document, as typed fields."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from assay.retrievers.base import AssayError

# A blank line below the first `---` makes it a rule, as Pandoc has it.
BLOCK = re.compile(
    r"\ufeff?---[ \t]*\r?\n(?![ \t]*\r?\n)(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S | re.M
)
UNCLOSED = re.compile(r"\ufeff?---[ \t]*\r?\n[\w-]+:[ \t]")
DATES = ("date", "created", "modified", "updated")


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The frontmatter of a document. `end` is where the block ends, 0 without one.

    `dates` holds date, created, modified and updated, where given, as ISO 8601 where YAML knows
    them for dates; `language` is the tag of one (`en`, `de-CH`) as written in `lang`, or else in
    `language`; `metadata` every field, as JSON values. `note` says why a text that looks like a
    block is not one.
    """

    end: int = 0
    title: str = ""
    description: str = ""
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    author: str = ""
    category: str = ""
    language: str = ""
    dates: Mapping[str, str] = field(default_factory=dict)
    related: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def text(self) -> str:
        """The fields that say what the document is about, a line each, for indexing."""
        lists = (", ".join(values) for values in (self.keywords, self.tags, self.aliases))
        lines = (self.title, self.description, *lists, self.author, self.category)
        return "\n".join(line for line in lines if line)


def frontmatter_end(text: str) -> int:
    """Return the offset at which a YAML mapping at the head of `text` ends; 0 without one."""
    block = BLOCK.match(text)
    return block.end() if block and _load(block[1])[0] is not None else 0


def read_frontmatter(text: str) -> Frontmatter:
    """Return the frontmatter of `text`: a YAML mapping right below a first line of `---`.

    A broken block, or anything else, is text, with a note if a block may have been meant.
    """
    block = BLOCK.match(text)
    if block is None:
        unclosed = "frontmatter is opened by --- and not closed; it is read as text"
        return Frontmatter(note=unclosed if UNCLOSED.match(text) else "")
    values, note = _load(block[1])
    if values is None:
        return Frontmatter(note=note and f"{note}; it is read as text")
    return Frontmatter(
        end=block.end(),
        title=_one(values.get("title")),
        description=_one(values.get("description") or values.get("summary")),
        keywords=_many(values.get("keywords")),
        tags=_many(values.get("tags")),
        aliases=_many(values.get("aliases")),
        author=", ".join(_many(values.get("author") or values.get("authors"))),
        category=_one(values.get("category") or values.get("type")),
        language=_name_language(values.get("lang", values.get("language"))),
        dates={name: _one(values[name]) for name in DATES if values.get(name) is not None},
        related=_many(values.get("related")),
        # Dates and other values that JSON lacks become strings.
        metadata=json.loads(json.dumps(values, default=str)),
    )


@lru_cache(maxsize=2**10)  # a document's is read where it is loaded, and where it is cut
def _load(block: str) -> tuple[dict[str, Any] | None, str]:
    """Return the fields of a block and "", or None and the reason, "" if it is prose."""
    from assay.retrievers.base.yaml_text import parse_yaml

    if not block:
        return {}, ""
    try:
        values = parse_yaml(block, "frontmatter", line=2)
    except AssayError as error:
        return None, str(error)
    if isinstance(values, dict):
        return values, ""
    is_prose = values is None or isinstance(values, str)
    return None, "" if is_prose else f"frontmatter is a {type(values).__name__}, not a mapping"


def _one(value: Any) -> str:
    if value is None or isinstance(value, (dict, list)):
        return ""
    return " ".join(str(value).split())


def _name_language(value: Any) -> str:
    """Return a language as written; YAML reads Norwegian's `no` as false."""
    return "no" if value is False else _one(value)


def _many(value: Any) -> tuple[str, ...]:
    """Return a list's scalars, or the parts of a comma-separated string.

    `[[name]]`, which YAML reads as a list in a list, gives `name`.
    """
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list):
        parts = [parts]
    flat = [item for part in parts for item in (part if isinstance(part, list) else [part])]
    return tuple(
        text for item in flat if (text := _one(item).removeprefix("[[").removesuffix("]]"))
    )
