"""A judged collection: documents, queries, and the pieces of text judged for each query."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from assay.eval.collections.card import MODEL, Card
from assay.eval.collections.formats import memo
from assay.eval.collections.unwanted import find_unwanted
from assay.eval.collections.word_readers import WordReaders
from assay.retrievers.base import Document, Progress, Quiet
from assay.retrievers.store.lazy_sequence import ById, IdSequence, PassageSequence

KIND = "collection_digests"  # of those that stay in their files
PERSON = "person"  # what the `judged_by` of a person begins with
SHOWN_FROM = 1 << 15  # documents whose digest takes about a second
Span = tuple[str, int, int]  # a document's id, start and end
_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
_quote = json.encoder.encode_basestring


@dataclass(frozen=True, slots=True)
class Query:
    """A question put to the collection; `type` sorts queries in reports.

    `filter` is a filter as it is written in JSON, `principal` the name of who asks, as the card has
    it. `group` names the group that the collection declares for the query, "" where it declares
    none: queries of one group are not independent (see `assay.eval.collections.groups`).
    """

    id: str
    text: str
    type: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    filter: Mapping[str, Any] = field(default_factory=dict)
    principal: str = ""
    group: str = ""


class Judgment:
    """A judgment of a text that ends at `end`, by the judge named."""

    __slots__ = ()
    end: int
    judged_by: str

    @property
    def absent(self) -> bool:
        """True if the collection lacks the document, so that nothing can find it."""
        return self.end == 0

    @property
    def by_model(self) -> bool:
        """True if a language model gave the grade."""
        return self.judged_by.startswith(MODEL)


# Not frozen, which takes four times as long to make; there are millions.
@dataclass(slots=True, unsafe_hash=True)
class GoldItem(Judgment):
    """A judged piece of text: characters `start` to `end` of a document.

    `id` is the passage's id for a judgment of a prescribed passage (`passage_id` is then set),
    the document's id for one of a whole document, `doc_id[start:end]` for one of a span. A grade
    of 0 or less says that the text was judged and is not relevant. A document that the collection
    lacks has no characters: `end` is 0. `judged_by` is that of Label, and is not compared.
    """

    query_id: str
    id: str
    doc_id: str
    start: int
    end: int
    grade: int
    passage_id: str = ""
    judged_by: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Label(Judgment):
    """A judgment somebody made, of `text`, which has no white space at its ends.

    `passage_id` is that of the prescribed passage, where the collection judges such. `judged_by`
    says whose grade it is (`person anna`, `model openai gpt-5, prompt 1a2b3c4d`), and `judged_on`
    the day, as YYYY-MM-DD; "" is unknown.
    """

    query_id: str
    doc_id: str
    start: int
    end: int
    grade: int
    text: str
    passage_id: str
    comment: str
    judged_by: str = ""
    judged_on: str = ""


@dataclass(frozen=True)
class Collection:
    """A collection to run on: `queries` are the judged ones, and `gold` has a key for each.

    The documents of a large collection are read from its files on access. Work on all texts of a
    large collection is shown in `progress`.

    `name` is the card's, with `:variant` if the judgments are not the card's first ones.
    """

    name: str
    title: str
    documents: Sequence[Document]
    queries: tuple[Query, ...]
    gold: Mapping[str, tuple[GoldItem, ...]]
    card: Card
    drop_self_matches: bool = False
    progress: Progress = field(default=Quiet(), compare=False, repr=False)

    @property
    def passages(self) -> int:
        """The number of passages the collection prescribes; 0 where a chunker chooses them."""
        if isinstance(self.documents, IdSequence):
            return len(self.prescribed)
        return sum(len(document.passages) for document in self.documents)

    @cached_property
    def prescribed(self) -> Set[str]:
        """The ids of the passages the collection prescribes."""
        if isinstance(self.documents, PassageSequence):
            return ById(self.documents, int).keys()
        return frozenset(passage.id for item in self.documents for passage in item.passages)

    @cached_property
    def unwanted(self) -> Set[str]:
        """The ids of the documents that must not be returned; none where the card names none.

        Raises AssayError for an id that no document has, or a filter that no document meets.
        """
        return find_unwanted(self.card, self.documents)

    @cached_property
    def by_id(self) -> Mapping[str, Document]:
        """The documents by id."""
        if isinstance(self.documents, IdSequence):
            return ById(self.documents, self.documents.__getitem__)
        return {document.id: document for document in self.documents}

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The texts of the documents by id."""
        documents = self.documents
        if isinstance(documents, IdSequence):
            return ById(documents, lambda i: documents[i].text)
        return {document.id: document.text for document in self.documents}

    @cached_property
    def word_readers(self) -> WordReaders:
        """The groups that may read each word of the documents."""
        return WordReaders(self.documents, self.card.readers)

    @property
    def judgments(self) -> int:
        """The number of gold items."""
        return sum(map(len, self.gold.values()))

    @cached_property
    def digest(self) -> str:
        """The SHA-256, in hex, of everything that decides a score or its weight.

        That is documents, queries with the groups that are declared, gold and options, and the
        grades that are a model's, unless the card says that all are. The location of the data and
        the card's descriptions are left out. For documents that stay in their files the digest is
        cached, by the content of these files.
        """
        rest = "".join(f"{line}\n" for line in self._encode_rest()).encode()
        files = self.documents.digest_content() if isinstance(self.documents, IdSequence) else ""
        of = f"{files} {hashlib.sha256(rest).hexdigest()}"
        if files and (known := memo.find(KIND, of)):
            return known.decode()
        content = hashlib.sha256()
        for part in self._list_documents():
            content.update(f"{_encode(part)}\n".encode())
        content.update(rest)
        if files:
            memo.keep(KIND, of, content.hexdigest().encode())
        return content.hexdigest()

    def _list_documents(self) -> Iterator[list[Any]]:
        number = len(self.documents)
        progress = self.progress if number >= SHOWN_FROM else Quiet()
        for item in progress.track(self.documents, "digest of documents", number):
            passages = [[i.id, i.start, i.end, i.title] for i in item.passages]
            contexts = [[i.start, i.end, i.text] for i in item.contexts]
            metadata = dict(item.metadata)
            yield ["document", item.id, item.title, item.text, passages, contexts, metadata]

    def _encode_rest(self) -> Iterator[str]:
        for query in self.queries:
            asked = [query.filter, query.principal] if query.filter or query.principal else []
            group = [{"group": query.group}] if query.group else []
            yield _encode(["query", query.id, query.text, query.type, *asked, *group])
        by_model = self.card.by_model
        for items in self.gold.values():
            for gold in items:
                model = gold.by_model
                judge = f', "{MODEL if model else PERSON}"' if model != by_model else ""
                yield (  # as _encode has it, which takes four times as long
                    f'["gold", {_quote(gold.query_id)}, {_quote(gold.id)}, {_quote(gold.doc_id)}, '
                    f"{gold.start}, {gold.end}, {gold.grade}, {_quote(gold.passage_id)}"
                    f"{judge}]"
                )
        declared = filter(None, [self.card.documents_are])
        yield _encode(["options", self.drop_self_matches, *declared])
        if self.card.unwanted:
            yield _encode(["unwanted", self.card.unwanted])
        if self.card.readers:
            yield _encode(["permissions", self.card.readers, self.card.principals])
