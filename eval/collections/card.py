"""The card of a collection: `dataset.yaml`, what it is, where it lies, how to read it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr

from retrievers.base import AssayError
from retrievers.settings import Settings, validate
from retrievers.settings.files import parse_mapping, read_text

FILE = "dataset.yaml"
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
SHA256 = r"^[0-9a-f]{64}$"
VariantName = Annotated[str, Field(pattern=NAME)]
Sha256 = Annotated[str, Field(pattern=SHA256)]


class Download(Settings):
    """An archive (.zip, .tar, .tar.gz, .tgz) on the network."""

    url: str = Field(pattern=r"^https?://", description="address of the archive")
    sha256: Sha256 = Field(description="digest of the archive")
    folder: str = Field(".", description="folder inside the archive that holds the files")
    max_bytes: int = Field(
        16 << 30, ge=1, description="the most that the archive, or its files, may take on disk"
    )


class Sizes(Settings):
    """What loading the first variant of the judgments must yield."""

    documents: int = Field(ge=0)
    passages: int = Field(0, ge=0, description="passages the collection prescribes")
    queries: int = Field(ge=0, description="judged queries")
    judgments: int = Field(ge=0, description="gold items, those of grade 0 included")


class Card(Settings):
    """What every card says; each format adds its files."""

    name: str = Field(pattern=NAME, description="the folder's name, by which it is found")
    title: str = Field(description="the name people use")
    description: str = Field("", description="what it is, and what it is good for")
    licence: str = Field("", description="under what terms it may be used")
    source: str = Field("", description="where it comes from")
    language: str = Field("en", description="ISO 639-1 code of the documents and queries")
    format: str
    location: str | Download = Field(
        ".",
        description="where the data lies: a folder (relative to the card), `$VARIABLE/folder`, "
        "`irds:ID`, or an archive with `url` and `sha256`",
    )
    drop_self_matches: bool = Field(
        False, description="leave a document with the query's own id out of every ranking"
    )
    min_grade: int = Field(
        1, ge=1, description="judgments below this grade count as grade 0, not relevant"
    )
    sizes: Sizes | None = Field(None, description="written by `assay dataset seal`")
    digests: dict[str, Sha256] = Field(
        default_factory=dict, description="SHA-256 by file; written by `assay dataset seal`"
    )
    _path: Path | None = PrivateAttr(None)

    @property
    def path(self) -> Path | None:
        """The file the card was read from; None for a collection without one."""
        return self._path

    @property
    def folder(self) -> Path:
        """The folder that a relative location starts from."""
        return self._path.parent if self._path else Path()

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of the judgments there are; the first is the default."""
        return ("test",)

    def names(self) -> tuple[str, ...]:
        """The files and folders the card names, relative to where the data lies."""
        return ()


class _FileCard(Card):
    """A card of files."""

    queries: str = "queries.jsonl"
    judgments: dict[VariantName, str | list[str]] = Field(
        min_length=1, description="files of judgments by variant; the first variant is the default"
    )

    @property
    def variants(self) -> tuple[str, ...]:
        return tuple(self.judgments)

    def judgment_files(self, variant: str) -> list[str]:
        """The files of one variant, in order of precedence."""
        named = self.judgments[variant]
        return [named] if isinstance(named, str) else named

    def names(self) -> tuple[str, ...]:
        judgments = [name for variant in self.variants for name in self.judgment_files(variant)]
        return tuple(dict.fromkeys([*self._document_names(), self.queries, *judgments]))

    def _document_names(self) -> list[str]:
        return []


class BeirCard(_FileCard):
    """A BEIR folder: rows of a corpus are the passages."""

    format: Literal["beir"]
    documents: str = Field("corpus.jsonl", description="rows with _id, title, text, metadata")
    whole_documents: str | None = Field(
        None,
        description="rows with _id, text: the documents the corpus rows (metadata.doc_id) are "
        "passages of",
    )
    contexts: str | None = Field(None, description="rows with _id, context: one a corpus row")
    judgments: dict[VariantName, str | list[str]] = Field({"test": "qrels/test.tsv"}, min_length=1)

    def _document_names(self) -> list[str]:
        return [name for name in (self.documents, self.whole_documents, self.contexts) if name]


class TrecCard(_FileCard):
    """TREC files: documents as trectext or JSON Lines, topics, qrels of four columns."""

    format: Literal["trec"]
    documents: str = Field(description="a file, or a folder of files: trectext, or .jsonl")
    queries: str = Field(description="topics as <top> records, or id, tab, text")
    topic_field: Literal["title", "desc", "narr"] = Field(
        "title", description="the field of a <top> record that is the query"
    )

    def _document_names(self) -> list[str]:
        return [self.documents]


class IrdsCard(Card):
    """A data set of ir_datasets; `location` is `irds:` and its id."""

    format: Literal["irds"]
    location: str = Field(pattern=r"^irds:.+")


class NativeCard(_FileCard):
    """Markdown and text documents with judged spans, sections or whole documents."""

    format: Literal["native"]
    documents: str = Field("docs", description="folder of .md, .markdown and .txt files")
    judgments: dict[VariantName, str | list[str]] = Field(
        {"test": "judgments.jsonl"},
        min_length=1,
        description="JSON Lines, or BEIR judgments (.tsv) of anchors or documents; of several "
        "files a later one adds the queries the earlier ones do not judge",
    )
    anchors: str | None = Field(
        None, description="rows with _id and metadata.path, .start, .end, that .tsv files name"
    )
    contexts: str | None = Field(None, description="rows with path, start, end, context")
    copies: dict[str, str] = Field(
        default_factory=dict,
        description="documents that are copies of another, each with the other's path; the check "
        "then says so only where they are not",
    )

    def _document_names(self) -> list[str]:
        return [name for name in (self.documents, self.anchors, self.contexts) if name]


FORMATS: Mapping[str, type[Card]] = {
    "beir": BeirCard,
    "trec": TrecCard,
    "irds": IrdsCard,
    "native": NativeCard,
}


def read_card(path: Path) -> Card:
    """Return the card in the file `path`. Raises AssayError, naming every key that is wrong."""
    return parse_card(read_text(path), path)


def parse_card(text: str, path: Path) -> Card:
    """Return the card that `text` holds; `path` is where it lies or will lie."""
    return make_card(parse_mapping(text, str(path)), path)


def make_card(values: Mapping[str, Any], path: Path | None) -> Card:
    """Return the card of `values`. Raises AssayError, naming every key that is wrong."""
    kind = FORMATS.get(str(values.get("format")))
    if kind is None:
        raise AssayError(f"{path}: format: must be one of {', '.join(FORMATS)}")
    card = validate(kind, values, str(path))
    card._path = path
    return card
