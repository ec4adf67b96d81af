"""The pairs that people have judged in a collection, so that a model can judge them too."""

import random
from collections.abc import Iterator

from assay.eval.collections.authoring.worksheet import Pair
from assay.eval.collections.collection import Collection, GoldItem, Query
from assay.eval.studies.judging.model_grades import find_place
from assay.retrievers.base import AssayError, Document
from assay.retrievers.base.markdown import is_plain, read_headings


def list_judged(collection: Collection, queries: int | None, seed: int) -> list[Pair]:
    """Return the pairs with a person's judgment: of all queries, or of so many drawn by `seed`.

    Raises AssayError where no person has judged any.
    """
    judged = [
        query
        for query in collection.queries
        if any(not item.by_model for item in collection.gold[query.id])
    ]
    if not judged:
        raise AssayError(f"{collection.name}: no person has judged anything; give a pool instead")
    if queries is not None and queries < len(judged):
        judged = random.Random(seed).sample(judged, queries)
    documents = collection.by_id
    pairs: dict[str, Pair] = {}
    for query in judged:
        for item in collection.gold[query.id]:
            if not item.by_model and item.doc_id in documents:
                pair = _make_pair(query, item, collection, documents[item.doc_id])
                pairs.setdefault(pair.digest, pair)
    return list(pairs.values())


def _make_pair(query: Query, item: GoldItem, collection: Collection, document: Document) -> Pair:
    doc_id, start, end = find_place(item, collection)
    return Pair(
        query_id=query.id,
        query=query.text,
        type=query.type,
        doc_id=doc_id,
        title=" > ".join(filter(None, _name_place(item, document))),
        start=start,
        end=end,
        text=document.text[start:end],
    )


def _name_place(item: GoldItem, document: Document) -> Iterator[str]:
    """Yield the titles above a gold item: of the document, and of the sections around it."""
    title = document.title
    if item.passage_id:
        given = {passage.id: passage.title for passage in document.passages}
        title = given.get(item.passage_id) or title
    yield title
    if not item.passage_id and not is_plain(document.id):
        for heading in read_headings(document.text):
            if heading.start < item.start and item.end <= heading.end and heading.title != title:
                yield heading.title
