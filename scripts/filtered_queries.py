"""Makes `datasets/tarnwick_filters`: judged queries of tarnwick under filters and permissions.

`python scripts/filtered_queries.py` writes the same again.

Nothing is judged anew: a query keeps those judgments of tarnwick that are of documents its
principal may read. At least one passage that answers may be found.
"""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from assay.eval.collections.catalog import read_card
from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.digests import seal
from assay.eval.collections.formats.rows import render_rows
from assay.eval.collections.loading import load
from assay.retrievers.base import Document
from assay.retrievers.store.files import write_atomically

SEED, OF_EACH, ANSWERS = 38, 40, 2
FOLDER = Path("datasets/tarnwick_filters")
# Who may read which categories. A document without one is read by no principal.
PRINCIPALS = {
    "customer": ["guide", "tutorial", "concepts", "quick card"],
    "installer": ["guide", "quick card", "device manual", "reference"],
    "staff": ["operations", "policy", "research", "guide", "reference", "device manual"],
    "legal": ["statute", "policy", "results"],
}
Condition = dict[str, Any]


def list_filters(document: Document) -> list[Condition]:
    """Return filters that a document meets, and not every other."""
    said = document.metadata
    year = str(said["date"])[:4]
    return [
        {"field": "category", "equals": said["category"]},
        {"field": "keywords", "contains": [said["keywords"][0]]},
        {"field": "date", "range": {"ge": f"{year}-01-01", "lt": f"{int(year) + 1}-01-01"}},
        {"not": {"field": "date", "range": {"lt": str(said["date"])}}},
        {"and": [
            {"field": "category", "equals": said["category"]},
            {"field": "keywords", "in": said["keywords"][:2]},
        ]},
    ]  # fmt: skip


def restrict(collection: Collection, query: Query, kind: str, draw: random.Random) -> Condition:
    """Return the filter or principal, or both, of a query; empty where no answer can have it."""
    texts = collection.by_id
    gold = [texts[item.doc_id] for item in collection.gold[query.id] if item.grade >= ANSWERS]
    answers = [document for document in gold if document.metadata.get("category")]
    if not answers:
        return {}
    document = draw.choice(answers)
    readers = [name for name, may in PRINCIPALS.items() if document.metadata["category"] in may]
    found: Condition = {}
    if kind != "filter":
        if not readers:
            return {}
        found["principal"] = draw.choice(readers)
    if kind != "principal":
        found["filter"] = draw.choice(list_filters(document))
    return found


def main() -> None:
    """Write queries, judgments and card."""
    collection, draw = load("tarnwick:all"), random.Random(SEED)
    order = sorted(collection.queries, key=lambda query: query.id)
    draw.shuffle(order)
    rows: list[Mapping[str, Any]] = []
    judged: list[Mapping[str, Any]] = []
    kinds = [kind for kind in ("principal", "filter", "both") for _ in range(OF_EACH)]
    for query in order:
        if not kinds:
            break
        if not (limits := restrict(collection, query, kinds[-1], draw)):
            continue
        kinds.pop()
        name = f"f{len(rows) + 1:03}"
        row = {"_id": name, "text": query.text, "type": query.type}
        rows.append(row | limits | {"metadata": {"from": query.id}})
        allowed = make_reader(limits)
        judged += [
            {"query_id": name, "path": item.doc_id, "start": item.start, "end": item.end,
             "grade": item.grade}
            for item in collection.gold[query.id]
            if allowed(collection.by_id[item.doc_id])
        ]  # fmt: skip
    for file, items in (("queries.jsonl", rows), ("judgments.jsonl", judged)):
        write_atomically(FOLDER / file, render_rows(items).encode())
    seal(read_card(FOLDER / "dataset.yaml"))


def make_reader(limits: Condition) -> Callable[[Document], bool]:
    """Return what says whether a document may be read by the principal of a query."""
    if "principal" not in limits:
        return lambda _: True
    may = PRINCIPALS[limits["principal"]]
    return lambda document: document.metadata.get("category") in may


if __name__ == "__main__":
    main()
