"""What reading a collection takes in each format, held and left in its files.

`python -m benchmarks.collection_formats` writes the passages of `benchmarks.synthetic_collection`
as rows of BEIR: plain, with a context each, and as passages of whole documents; as Markdown files
of five passages; and as a table for ir_datasets. Each is read, and its digest computed, in a
process of its own, twice: what the first keeps, the second finds.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from assay.eval import no_telemetry
from assay.eval.collections.formats import beir, irds, native
from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError
from benchmarks.consumption import consume
from benchmarks.latency import ending_in_one_line, positive
from benchmarks.synthetic_collection import write_collection

TOGETHER = 5  # passages of a whole document, or of a file
WAYS = {"held": sys.maxsize, "in files": 0}
COLUMNS = "{:<16}{:<9}{:>7}{:>7}{:>25}"
IRDS = "benchmark"  # the name by which ir_datasets knows the table


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each format and way; end the process with 2 where one cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.collection_formats", description=__doc__
    )
    parser.add_argument("--passages", type=positive, default=300_000, metavar="N")
    parser.add_argument("--formats", nargs="+", choices=WRITERS, default=list(WRITERS))
    options = parser.parse_args(arguments)
    no_telemetry.disable()
    print(COLUMNS.format("format", "", "CPU s", "again", "without mapped files, MB"))
    with ending_in_one_line(), tempfile.TemporaryDirectory() as name:
        source = write_collection(Path(name), options.passages)
        for format_ in options.formats:
            folder = source.with_name(format_)
            (folder / "qrels").mkdir(parents=True)
            for file in ("queries.jsonl", "qrels/test.tsv"):
                (folder / file).write_bytes((source / file).read_bytes())
            card = {"name": format_, "title": format_, "format": "beir"}
            card |= WRITERS[format_](source, folder)
            (folder / "dataset.yaml").write_text(yaml.safe_dump(card))
            for way in WAYS:
                print(_measure(folder, way), flush=True)


def _measure(folder: Path, way: str) -> str:
    command: list[str | Path] = [sys.executable, "-m", __spec__.name, folder, way]
    rooms = {"ASSAY_CACHE": f"{folder}/cache {way}", "IR_DATASETS_HOME": f"{folder}/home"}
    first, again = (consume(f"{folder.name}, {way}", command, rooms, None) for _ in range(2))
    if first.output != again.output:
        raise AssayError(f"{folder.name}, {way}: read again it is another collection")
    figures = (f"{first.cpu:.1f}", f"{again.cpu:.1f}", f"{max(first.own, again.own):,.0f}")
    return COLUMNS.format(folder.name, way, *figures)


def _write_plain(source: Path, folder: Path) -> dict[str, Any]:
    (folder / "corpus.jsonl").hardlink_to(source / "corpus.jsonl")
    return {}


def _write_contexts(source: Path, folder: Path) -> dict[str, Any]:
    _write_plain(source, folder)
    contexts = ({"_id": id_, "context": text[:50]} for id_, text in _read(source))
    _write_rows(folder / "contexts.jsonl", contexts)
    return {"contexts": "contexts.jsonl"}


def _write_whole(source: Path, folder: Path) -> dict[str, Any]:
    rows = (
        {"_id": id_, "text": text, "metadata": {"doc_id": _name(id_), "original_index": i}}
        for i, (id_, text) in enumerate(_read(source))
    )
    _write_rows(folder / "corpus.jsonl", rows)
    whole = ({"_id": name, "text": text} for name, text in _join(source))
    _write_rows(folder / "whole.jsonl", whole)
    return {"whole_documents": "whole.jsonl"}


def _write_files(source: Path, folder: Path) -> dict[str, Any]:
    (folder / "docs").mkdir()
    for name, text in _join(source):
        (folder / "docs" / name).write_text(text)
    header, *judged = (source / "qrels" / "test.tsv").read_text().splitlines()
    named = ("\t".join((query, _name(id_), grade)) for query, id_, grade in map(str.split, judged))
    (folder / "qrels" / "test.tsv").write_text("\n".join([header, *named]))
    return {"format": "native", "judgments": {"test": "qrels/test.tsv"}}


def _write_table(source: Path, folder: Path) -> dict[str, Any]:
    with (folder / "documents.tsv").open("w") as file:
        file.writelines(f"{id_}\t{text}\n" for id_, text in _read(source))
    queries = map(json.loads, (source / "queries.jsonl").read_text().splitlines())
    lines = "".join(f"{query['_id']}\t{query['text']}\n" for query in queries)
    (folder / "queries.tsv").write_text(lines)
    _, *judged = (source / "qrels" / "test.tsv").read_text().splitlines()
    rows = (f"{query} 0 {id_} {grade}\n" for query, id_, grade in map(str.split, judged))
    (folder / "qrels.txt").write_text("".join(rows))
    return {"format": "irds", "location": f"irds:{IRDS}"}


WRITERS: Mapping[str, Callable[[Path, Path], dict[str, Any]]] = {
    "beir": _write_plain,
    "contexts": _write_contexts,
    "whole_documents": _write_whole,
    "native": _write_files,
    "irds": _write_table,
}


def _read(source: Path) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of each passage."""
    with (source / "corpus.jsonl").open() as file:
        for row in map(json.loads, file):
            yield row["_id"], row["text"]


def _join(source: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each document of several passages."""
    for name, passages in groupby(_read(source), lambda passage: _name(passage[0])):
        yield name, "\n\n".join(text for _, text in passages)


def _name(passage: str) -> str:
    """Return the name of the document that a passage of this id is of."""
    return f"{int(passage[1:]) // TOGETHER}.md"


def _write_rows(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    with path.open("w") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows)


def _load(folder: Path, way: str) -> None:
    """Read a collection in one of `WAYS`, and compute its digest."""
    for format_ in (beir, irds, native):
        vars(format_)["LARGEST_HELD"] = WAYS[way]
    if folder.name == "irds":
        import ir_datasets
        from ir_datasets.formats import TrecQrels, TsvDocs, TsvQueries
        from ir_datasets.util import LocalDownload

        files = (
            LocalDownload(folder / name) for name in ("documents.tsv", "queries.tsv", "qrels.txt")
        )
        docs, queries, qrels = files
        made = ir_datasets.Dataset(TsvDocs(docs), TsvQueries(queries), TrecQrels(qrels, {}))
        ir_datasets.registry.register(IRDS, made)
    print(load(str(folder)).digest)


if __name__ == "__main__":
    if sys.argv[-1] in WAYS:
        _load(Path(sys.argv[1]), sys.argv[2])
    else:
        main()
