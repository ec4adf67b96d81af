"""Folders of small collections, native and in BEIR's layout."""

import json

import yaml


def write_rows(path, rows):
    """Write rows of JSON lines; a row that is a text stands as it is."""
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_native(folder, documents, queries, judgments, /, **card):
    """Write a native collection: texts by path, and rows of queries and judgments."""
    for name, text in documents.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    write_rows(folder / "queries.jsonl", queries)
    write_rows(folder / "judgments.jsonl", judgments)
    values = {"name": folder.name, "title": folder.name.title(), "format": "native", **card}
    (folder / "dataset.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    return folder


def write_beir(folder, documents, queries, judgments):
    """Write texts by id, and by query the grades of documents."""
    for name, texts in (("corpus", documents), ("queries", queries)):
        rows = ({"_id": id_, "text": text} for id_, text in texts.items())
        write_rows(folder / f"{name}.jsonl", rows)
    (folder / "qrels").mkdir(exist_ok=True)
    rows = [f"{q}\t{d}\t{grade}" for q, grades in judgments.items() for d, grade in grades.items()]
    write_rows(folder / "qrels" / "test.tsv", ["query-id\tcorpus-id\tscore", *rows])
    return folder
