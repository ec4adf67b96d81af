"""Files of a user's project: collections, rows of JSON, and stored runs as of committed code."""

import json


def write_rows(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def read_rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_native(folder, documents, queries=(), judgments=(), card=""):
    """Write a collection: texts by path, rows of queries and of judgments; return its folder."""
    for name, text in documents.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    write_rows(folder / "queries.jsonl", queries)
    write_rows(folder / "judgments.jsonl", judgments)
    named = f"name: {folder.name}\ntitle: {folder.name.title()}\nformat: native\n"
    (folder / "dataset.yaml").write_text(named + card)
    return folder


def declare_committed(folder):
    """Let every run below a folder be of committed code, as a baseline must be."""
    for path in folder.rglob("manifest.json"):
        manifest = json.loads(path.read_bytes())
        manifest["environment"]["git"] = {"commit": "a" * 40, "dirty": False}
        path.write_text(json.dumps(manifest))
