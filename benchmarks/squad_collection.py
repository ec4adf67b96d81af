"""`python -m benchmarks.squad_collection FILE FOLDER`: long documents of a set in SQuAD's form.

Each entry of the file's `data` becomes a document without headings: its paragraphs in their order,
each once. Questions are the file's, after the document's title where it has one; judgments are the
spans of the answers. `--documents` draws as many documents.
"""

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.eval.collections.formats.rows import render_rows
from assay.retrievers.base import AssayError
from assay.retrievers.store.files import write_atomically
from benchmarks.latency import ending_in_one_line, positive

CARD = "name: {name}\ntitle: {name}\nformat: native\njudgments: {{all: spans.jsonl}}\n"
GAP = "\n\n"
Document = tuple[str, list[tuple[str, int, int]]]  # its text; a question, begin and end each


def main() -> None:
    """Write the collection."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=positive, metavar="N", help="draw so many")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with ending_in_one_line():
        try:
            found = list(map(_read, json.loads(given.file.read_text("utf-8"))["data"]))
        except (OSError, LookupError, TypeError, ValueError) as error:
            raise AssayError(f"{given.file}: no data set in SQuAD's form: {error!r}") from None
        if given.documents is not None:
            if given.documents > len(found):
                allowed = f"allowed: 1 to {len(found)}, as many as {given.file} has"
                raise AssayError(f"--documents {given.documents}: {allowed}")
            found = random.Random(given.seed).sample(found, given.documents)
        _write(found, given.folder)


def _write(documents: Sequence[Document], folder: Path) -> None:
    queries: dict[str, str] = {}
    spans: list[dict[str, Any]] = []
    for number, (text, asked) in enumerate(documents):
        path = f"{number:03}.txt"
        write_atomically(folder / "docs" / path, text.encode())
        for question, start, end in asked:
            queries.setdefault(question, f"q{len(queries)}")
            place = {"path": path, "start": start, "end": end, "text": text[start:end]}
            if (row := {"query_id": queries[question], **place}) not in spans:
                spans.append(row)
    rows = [{"_id": id_, "text": question} for question, id_ in queries.items()]
    write_atomically(folder / "queries.jsonl", render_rows(rows).encode())
    write_atomically(folder / "spans.jsonl", render_rows(spans).encode())
    card = CARD.format(name=folder.resolve().name)
    write_atomically(folder / "dataset.yaml", card.encode())


def _read(entry: Mapping[str, Any]) -> Document:
    """Return a document's text, and its questions with the place of an answer each."""
    title = f"{entry['title']}: " if entry.get("title") else ""
    text, asked = entry.get("title", ""), []
    begins: dict[str, int] = {}
    for paragraph in entry["paragraphs"]:
        context = paragraph["context"]
        if context not in begins:
            text += GAP if text else ""
            begins[context] = len(text)
            text += context
        for item in paragraph["qas"]:
            question = f"{title}{item['question'].strip()}"
            for start, end in _list_answers(item):
                asked.append((question, begins[context] + start, begins[context] + end))
    return text, asked


def _list_answers(item: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    for answer in item["answers"]:
        yield answer["answer_start"], answer["answer_start"] + len(answer["text"])


if __name__ == "__main__":
    main()
