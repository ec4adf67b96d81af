"""The names that bodies of law give their numbered places, from `jurisdictions.yaml`.

Tests read every example of that file, so that it is not checked here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.retrievers.base.yaml_text import parse_yaml

FILE = Path(__file__).with_name("jurisdictions.yaml")


@dataclass(frozen=True)
class Form:
    """A word before a number: of a `section`, or of a `division`, which holds sections.

    `short` are its abbreviations. `examples` name one place, whose id is given; `others` name none.
    A `common` word has other meanings too: it opens no line of plain text, and texts refer by it
    only to places in their own document.
    """

    word: str
    kind: str
    examples: Mapping[str, str]
    others: Sequence[str]
    short: Sequence[str] = ()
    common: bool = False


@dataclass(frozen=True)
class Forms:
    """The forms of all jurisdictions together, in the order of the file.

    `codes` are bodies of law, `suffixes` the endings of numbers of places inserted later.
    """

    forms: list[Form] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    suffixes: list[str] = field(default_factory=list)

    def list_words(self, kind: str) -> dict[str, tuple[str, ...]]:
        """Return the words of a kind, with their abbreviations."""
        return {form.word: tuple(form.short) for form in self.forms if form.kind == kind}


def read_forms() -> Forms:
    """Return the forms of all jurisdictions in the file."""
    found = Forms()
    for jurisdiction in parse_yaml(FILE.read_text("utf-8"), str(FILE)).values():
        found.forms.extend(Form(**form) for form in jurisdiction.get("forms", ()))
        found.codes.extend(jurisdiction.get("codes", ()))
        found.suffixes.extend(jurisdiction.get("suffixes", ()))
    return found


FORMS = read_forms()
