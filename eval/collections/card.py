"""The card of a collection: `dataset.yaml`, what it is, where it lies, how to read it."""

from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PrivateAttr, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.settings import Settings
from assay.retrievers.settings.fields import DeclaredType, find_type
from assay.retrievers.settings.filters import read_filter
from assay.retrievers.settings.trust import NeedsNoTrust, check_places

FILE = "dataset.yaml"
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
SHA256 = r"^[0-9a-f]{64}$"
MODEL = "model "  # what the `judged_by` of a language model begins with
VariantName = Annotated[str, Field(pattern=NAME)]
OF_CARDS = NeedsNoTrust("`assay.eval.collections.location` checks what a card names")
Sha256 = Annotated[str, Field(pattern=SHA256)]


class Sizes(Settings):
    """The sizes that loading the first variant of the judgments must yield."""

    largest: ClassVar[float] = inf

    documents: int = Field(ge=0, description="documents, searched or not")
    passages: int = Field(0, ge=0, description="passages the collection prescribes")
    queries: int = Field(ge=0, description="judged queries")
    judgments: int = Field(ge=0, description="gold items, those of grade 0 included")
    by_model: int = Field(0, ge=0, description="those of them whose grade is a language model's")


class Card(Settings):
    """The part that all cards share; each format adds its files and what can be done with them.

    `has_folder` is false where the data are no files. `contexts_of` says what each context belongs
    to, a prescribed passage or a place in a document; empty where the format has none.
    `judges_spans` says whether any span may be judged, not only prescribed passages.
    """

    has_folder: ClassVar[bool] = True
    contexts_of: ClassVar[Literal["", "passage", "place"]] = ""
    judges_spans: ClassVar[bool] = False

    name: str = Field(pattern=NAME, description="the folder's name, by which it is found")
    title: str = Field(description="the name people use")
    description: str = Field("", description="what it is, and what it is good for")
    licence: str = Field("", description="under what terms it may be used")
    source: str = Field("", description="where it comes from")
    language: str = Field("en", description="ISO 639-1 code of the documents and queries")
    format: str = Field(description="how the data is read")
    location: Annotated[str, OF_CARDS] = Field(
        ".",
        description="where the data lies: a folder (relative to the card), `$VARIABLE/folder`, or "
        "`irds:ID`",
    )
    irds: Annotated[str, NeedsNoTrust("an id of ir_datasets, which is shown")] = Field(
        "",
        pattern=r"^$|^irds:\S+$",
        description="the same set in ir_datasets, as `irds:ID`; named where the data is not here",
    )
    drop_self_matches: bool = Field(
        False, description="leave a document with the query's own id out of every ranking"
    )
    min_grade: int = Field(
        1, ge=1, description="judgments below this grade count as grade 0, not relevant"
    )
    answering_grade: int | None = Field(
        None,
        ge=1,
        description="the grade from which a text answers its query, where that is above min_grade; "
        "a query without such a text is one that nothing answers",
    )
    judged_by: str = Field(
        "",
        pattern=r"^$|^(person|model) \S",
        description="who gave the grades of all judgments that name nobody: `person NAME`, or "
        "`model NAME` for a language model",
    )
    favours: str = Field(
        "",
        description="the kind of search that the questions favour, with the figures that show it; "
        "every comparison on the collection repeats it",
    )
    fields: dict[str, DeclaredType] = Field(
        default_factory=dict,
        description="what queries may filter by: fields of the documents' metadata, with the type "
        "of their values",
    )
    readers: str = Field(
        "",
        description="the field that names the groups who may read a document; one without it is "
        "read by no principal",
    )
    principals: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(
        default_factory=dict,
        description="the groups of each principal, by the name that queries give it",
    )
    groups: str = Field(
        "",
        description="the key of the queries' metadata that says which are not independent, such as "
        "conversation, template or author; by default those whose answers lie in one document",
    )
    documents_are: Literal["", "all", "sample"] = Field(
        "",
        description="`all` where these documents are those that will be searched, `sample` where "
        "they stand for others like them; decides what a verdict is on, by default the share of "
        "documents that questions are about",
    )
    unwanted: Annotated[list[str], Field(min_length=1)] | dict[str, Any] | None = Field(
        None,
        description="documents that must not be returned, such as deprecated pages: their ids, "
        "with * for any characters, or a filter of their metadata",
    )
    sizes: Sizes | None = Field(None, description="written by `assay dataset seal`")
    digests: dict[str, Sha256] = Field(
        default_factory=dict, description="SHA-256 by file; written by `assay dataset seal`"
    )
    _path: Path | None = PrivateAttr(None)
    _data: Path | None = PrivateAttr(None)  # where its data was found: see `location.find_data`

    @model_validator(mode="after")
    def _has_readers(self) -> "Card":
        declared = self.fields.get(self.readers, "")
        if self.readers and find_type(declared or "boolean") != "text":
            texts = [name for name, type_ in self.fields.items() if find_type(type_) == "text"]
            allowed = f"; allowed: {', '.join(texts) or 'a field of text, named in `fields`'}"
            raise ValueError(f"readers: {self.readers} is no field of text{allowed}")
        if self.principals and not self.readers:
            raise ValueError("principals: need `readers`, the field that names who may read")
        return self

    @model_validator(mode="after")
    def _has_filter(self) -> "Card":
        if isinstance(self.unwanted, dict):
            try:
                read_filter(self.unwanted, "unwanted", self.fields)
            except AssayError as error:
                raise ValueError(str(error)) from None
        return self

    @property
    def path(self) -> Path | None:
        """The file the card was read from; None for a collection without one."""
        return self._path

    @property
    def folder(self) -> Path:
        """The folder that a relative location starts from."""
        return self._path.parent if self._path else Path()

    @property
    def by_model(self) -> bool:
        """True if a language model gave the grades of judgments that name nobody."""
        return self.judged_by.startswith(MODEL)

    @property
    def answers_from(self) -> int:
        """The least grade of a text that answers its query."""
        return max(self.answering_grade or 1, self.min_grade)

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of the judgments there are; the first is the default."""
        return ("test",)

    @property
    def contexts_file(self) -> str | None:
        """The file of contexts the card names."""
        return None

    @property
    def known_copies(self) -> Mapping[str, str]:
        """The original of each document that the card says is a copy, by ids."""
        return {}

    def names(self) -> tuple[str, ...]:
        """The files and folders the card names, relative to where the data lies."""
        return ()

    def why_unusable(self) -> str:
        """Return what is missing here to read the format, "" if nothing."""
        return ""

    def list_files(self, path: Path) -> list[Path]:
        """Return `path`, or the documents below it by their paths, hidden ones left out.

        Raises AssayError where one is a link to what the card may not name.
        """
        if not path.is_dir():
            return [path]
        found = sorted(
            file
            for file in path.rglob("*")
            if file.is_file()
            and not any(part.startswith(".") for part in file.relative_to(path).parts)
        )
        if self._path:
            check_places(filter(Path.is_symlink, found), path, self._path)
        return found


class FileCard(Card):
    """A card of files."""

    queries: str = Field(
        "queries.jsonl",
        description="rows with _id, text and, if any, type, group, filter, principal",
    )
    judgments: dict[VariantName, str | list[str]] = Field(
        min_length=1, description="files of judgments by variant; the first variant is the default"
    )

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of the judgments there are; the first is the default."""
        return tuple(self.judgments)

    def judgment_files(self, variant: str) -> list[str]:
        """The files of one variant, in order of precedence; a part lies in those of the first."""
        named = self.judgments.get(variant, self.judgments[self.variants[0]])
        return [named] if isinstance(named, str) else named

    def names(self) -> tuple[str, ...]:
        """The files and folders the card names, relative to where the data lies."""
        judgments = [name for variant in self.variants for name in self.judgment_files(variant)]
        return tuple(dict.fromkeys([*self.document_names(), self.queries, *judgments]))

    def document_names(self) -> list[str]:
        """The files and folders that the documents are read from."""
        return []
