"""Writing a run while it is made, so that an interrupted run can be resumed."""

import os
import shutil
from collections.abc import Iterable, Mapping, Set
from contextlib import AbstractContextManager
from io import RawIOBase
from pathlib import Path
from typing import Any

from assay.eval.runs.gold_ranks import GoldRank
from assay.eval.runs.manifest import MANIFEST, Manifest
from assay.eval.runs.rows import (
    RETRIES,
    RISING,
    Flaws,
    as_row,
    digest_line,
    encode_ranking,
    encode_row,
    read_lines,
    read_rows,
    read_trace,
)
from assay.retrievers.base import CUT, AssayError, Ranking
from assay.retrievers.store.files import open_atomically, write_atomically, writing

DIGEST = "digest"  # of the rest of a line
# How lines of rankings say that nothing was degraded, that calls were made again, and that scores
# rise; within a string the quotation marks would be escaped.
WHOLE = b'"degraded":[]'
RETRIED = f'"{RETRIES}":'.encode()
RISEN = f'"{RISING}":true'.encode()
SHORTENED = f'"{CUT}":'.encode()
ODD = (RETRIED, RISEN, SHORTENED)


class RunFolder(AbstractContextManager["RunFolder"]):
    """The folder of a run while it is being made; all writing goes through here.

    It is created by the first write: a run that fails earlier leaves none. Rankings are added
    within a `with` block.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files: dict[str, RawIOBase] = {}  # to which lines are added
        self._passages = {row["chunk"]["id"] for row in read_rows(self.path / "passages.jsonl")}

    def __exit__(self, error: type[BaseException] | None, *others: object) -> None:
        """Close the files to which lines were added. Raises AssayError where one was removed."""
        while self._files:
            name, file = self._files.popitem()
            with writing(path := self.path / name):
                file.close()
                if error is None:
                    path.stat()  # what is open takes lines after it was removed, too

    def finished_queries(self) -> set[str]:
        """Return the ids of the queries whose ranking is already stored.

        Raises AssayError for one that is not as it was stored.
        """
        path = self.path / "rankings.jsonl"
        found = set()
        for row in read_rows(path):
            stored = row.pop(DIGEST, None)
            query = row.get("query")
            if not isinstance(query, str) or stored != digest_line(encode_row(row)):
                raise AssayError(
                    f"{path}: the ranking of query {query} was changed since it was stored; "
                    f"remove {self.path} to search again"
                )
            found.add(query)
        return found

    def find_flaws(self) -> Flaws:
        """Return the flaws of the stored rankings: degradation, retries and order."""
        flaws = Flaws()
        for line in read_lines(self.path / "rankings.jsonl"):
            if WHOLE in line.content and not any(mark in line.content for mark in ODD):
                continue
            row = line.parse()
            flaws.add(row["query"], row["degraded"], read_trace(row["trace"]), RISING in row)
        return flaws

    def add_gold_ranks(self, query_id: str, gold_ranks: Mapping[str, GoldRank]) -> None:
        """Store the ranks of the gold items of a query, before its ranking, which finishes it."""
        items = {item: as_row(gold_rank) for item, gold_rank in gold_ranks.items()}
        self._append("placements.jsonl", [encode_row({"query": query_id, "items": items})])

    def add_ranking(
        self,
        query_id: str,
        ranking: Ranking,
        prescribed: Set[str],
        unwanted: Set[str] = frozenset(),
    ) -> None:
        """Store one ranking: first the passages it needs, then its own line.

        `prescribed` are ids of passages, `unwanted` of documents.
        """
        chunks = (*(hit.chunk for hit in ranking.hits), *ranking.others)
        fresh = {chunk.id: chunk for chunk in chunks if chunk.id not in self._passages}
        rows = (
            {"chunk": as_row(chunk), "prescribed": id_ in prescribed}
            | ({"unwanted": True} if chunk.doc_id in unwanted else {})
            for id_, chunk in fresh.items()
        )
        self._append("passages.jsonl", map(encode_row, rows))
        self._passages.update(fresh)
        line = encode_row(encode_ranking(query_id, ranking))
        told = encode_row({DIGEST: digest_line(line)})
        self._append("rankings.jsonl", [f"{line[:-2]},{told[1:]}"])  # both as one object

    def write_rows(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write a JSON Lines file in one piece."""
        with open_atomically(self._open(name)) as file:
            file.writelines(encode_row(row).encode() for row in rows)

    def write_text(self, name: str, text: str) -> None:
        """Write a text file in one piece."""
        write_atomically(self._open(name), text.encode())

    def finish(self, manifest: Manifest) -> None:
        """Declare the run complete."""
        self.write_text(MANIFEST, manifest.model_dump_json(indent=1) + "\n")

    def _append(self, name: str, lines: Iterable[str]) -> None:
        with writing(self.path / name):
            if name not in self._files:
                path = self._open(name)
                _drop_torn_line(path)
                self._files[name] = path.open("ab", buffering=0)
            left = memoryview("".join(lines).encode())
            while left:  # of which a full disk takes a part
                left = left[self._files[name].write(left) or 0 :]

    def _open(self, name: str) -> Path:
        """Make the folder where it is not there yet, and return the path of a file in it."""
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        return self.path / name


def _drop_torn_line(path: Path) -> None:
    if not path.exists():
        return
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        if size and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)


def remove_run(folder: Path) -> None:
    """Remove a stored run and all of its exports.

    It stops being a run at once, so that an interruption leaves no partial run. Raises AssayError
    if there is no run, or it cannot be removed.
    """
    if not (folder / MANIFEST).is_file():
        raise AssayError(f"{folder}: no finished run here ({MANIFEST} is missing)")
    with writing(folder):
        (folder / MANIFEST).unlink()
        shutil.rmtree(folder)
