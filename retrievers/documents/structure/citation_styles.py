"""What bodies of law call their numbered places, as `jurisdictions.yaml` has it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from assay.retrievers.base import AssayError
from assay.retrievers.settings import Settings
from assay.retrievers.settings.errors import validate
from assay.retrievers.settings.files import read_mapping

FILE = Path(__file__).with_name("jurisdictions.yaml")

Word = Annotated[str, StringConstraints(pattern=r"^[a-z]+$")]


class Form(Settings):
    """A word before a number. `examples` name one place, whose id is given; `others` name none.

    A `common` word says other things too: it opens no line of plain text, and texts refer by it
    only to what their own document has.
    """

    word: Word
    kind: Literal["section", "division"]
    short: list[Word] = Field(default_factory=list)
    common: bool = False
    examples: dict[str, str] = Field(min_length=1)
    others: list[str] = Field(min_length=1)


class Jurisdiction(Settings):
    """The forms, codes of law and suffixes of numbers that one body of law adds."""

    forms: list[Form] = Field(default_factory=list)
    codes: list[Annotated[str, StringConstraints(pattern=r"^(?:[A-Z]\.)+$")]] = Field(
        default_factory=list
    )
    suffixes: list[Word] = Field(default_factory=list)


@dataclass(frozen=True)
class Forms:
    """What all jurisdictions have together, in the order of the file."""

    forms: tuple[Form, ...]
    codes: tuple[str, ...]
    suffixes: tuple[str, ...]

    @property
    def sections(self) -> dict[str, tuple[str, ...]]:
        """The words of what is numbered like a section, with their abbreviations."""
        return {form.word: tuple(form.short) for form in self.forms if form.kind == "section"}

    @property
    def divisions(self) -> dict[str, tuple[str, ...]]:
        """The words of what holds sections, with their abbreviations."""
        return {form.word: tuple(form.short) for form in self.forms if form.kind == "division"}


def read_forms(path: Path = FILE) -> Forms:
    """Return what the jurisdictions in the file at `path` have together.

    Raises AssayError: the file and entry, what is wrong with it and what is allowed.
    """
    jurisdictions = [
        validate(Jurisdiction, values, f"{path}: {name}")
        for name, values in read_mapping(path).items()
    ]
    forms = tuple(form for item in jurisdictions for form in item.forms)
    seen: set[str] = set()
    for word in _list_words(forms):
        if word in seen:
            raise AssayError(
                f"{path}: {word}: stands twice; each word and abbreviation stands once"
            )
        seen.add(word)
    return Forms(
        forms,
        tuple(code for item in jurisdictions for code in item.codes),
        tuple(suffix for item in jurisdictions for suffix in item.suffixes),
    )


def _list_words(forms: tuple[Form, ...]) -> Iterator[str]:
    for form in forms:
        yield form.word
        yield from form.short


FORMS = read_forms()
