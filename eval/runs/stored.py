"""Stored runs: one folder each, written as the run goes and complete once `manifest.json` stands.

    manifest.json        the pipeline, collection, code, machine and duration of the run
    config.yaml          the resolved config
    queries.jsonl        the queries, and their gold items with their texts in gold.jsonl
    rankings.jsonl       a line a query: hits, trace, degradation
    passages.jsonl       every chunk that some stage of some query returned
    placements.jsonl     a line a query: its gold items among all chunks, past the legs' depths
    latency.jsonl        a line a timed query

Everything a report says is computed from these files alone.
"""

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.eval.collections.collection import GoldItem, Query
from assay.eval.runs.execution.leaks import list_shown
from assay.eval.runs.gold_ranks import GoldRank
from assay.eval.runs.latency import LatencySample
from assay.eval.runs.manifest import MANIFEST, Manifest, read_manifest
from assay.eval.runs.ranked_lists import RankedLists, read_lists
from assay.eval.runs.rows import encode_ranking, read_rows
from assay.eval.runs.stored_files import (
    StoredRankings,
    read_gold,
    read_gold_ranks,
    read_passages,
    read_queries,
)
from assay.eval.scoring import measures
from assay.eval.scoring.calculation import Scores
from assay.eval.scoring.joined import JoinedRankings, NumberLists, group_judged
from assay.retrievers.base import AssayError, LeakError, Ranking, T
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.store.paths import parse_path

SHOWN = 5  # ids in a line that lists them
TIME = re.compile(r"-(\d{8})-(\d+)-[^-]+$")


@dataclass(frozen=True)
class StoredRun:
    """A finished run, as read from its folder.

    Mappings are by query id, but for `gold_texts`, by the id of a relevant gold item; `gold_ranks`
    are by query id and then by the id of a gold item. `prescribed` are ids of chunks, `unwanted`
    of documents that were returned and must not be.
    """

    folder: Path
    manifest: Manifest
    queries: Mapping[str, Query]
    gold: Mapping[str, tuple[GoldItem, ...]]
    gold_texts: Mapping[str, str]
    rankings: Mapping[str, Ranking]
    gold_ranks: Mapping[str, Mapping[str, GoldRank]]
    prescribed: Set[str]
    latency: tuple[LatencySample, ...]
    unwanted: Set[str] = frozenset()

    @cached_property
    def joined(self) -> JoinedRankings:
        """Every ranking with its judgments joined."""
        return self.join(self.lists.hits)

    @cached_property
    def lists(self) -> RankedLists:
        """The lists of every ranking, in the order of the queries."""
        if isinstance(self.rankings, StoredRankings):
            return self.rankings.read_lists()
        return read_lists(self.rankings[query] for query in self.queries)

    def parse(self, query: str, read: Callable[[Mapping[str, Any]], T]) -> T:
        """Return what `read` makes of a ranking's row, as `rows.encode_ranking` has it.

        Rows are parsed in a tenth of the time that the objects of all hits take.
        """
        if isinstance(self.rankings, StoredRankings):
            return self.rankings.parse(query, read)
        return read(encode_ranking(query, self.rankings[query]))

    @cached_property
    def by_document(self) -> Mapping[str, Set[int]]:
        """The numbers of the chunks of each document that has a judgment."""
        return group_judged(self.lists.chunks, self.gold)

    @property
    def measures(self) -> Sequence[str]:
        """The measures that its config names; else those by default, as deep as hits were kept."""
        return self.name_measures(self.manifest.config.get("measures") or ())

    def name_measures(self, named: Sequence[str]) -> Sequence[str]:
        """Return the measures `named`; if none, or the default, those by default."""
        depth = self.manifest.depth
        default = measures.list_within(measures.DEFAULT, depth)
        if named and list(named) != default:
            return named
        return measures.add_unwanted(default, self.manifest.collection.unwanted, depth)

    def score(self, names: Sequence[str]) -> Scores:
        """Return {measure: {query id: score}} of measures of rankings, by the names shown.

        Raises AssayError for one that looks at more hits than were kept, or at what they lack.
        """
        self.check_measures(names)
        return measures.score(names, self.joined, self.gold)

    def check_measures(self, names: Sequence[str]) -> None:
        """Raise AssayError for a measure that cannot be computed from what was kept."""
        collection = self.manifest.collection
        measures.check_unwanted(names, collection.unwanted, collection.name)
        depth = self.manifest.depth
        if measures.find_reach(names) <= depth:
            return
        if any(len(hits) >= depth for hits in self.lists.hits):  # else nothing was cut
            measures.check_reach(names, depth, f"run {self.manifest.id}")

    def join(self, lists: NumberLists) -> JoinedRankings:
        """Return lists of chunks, one a query in their order, with the judgments joined."""
        known, gold = self.lists.chunks, {query: self.gold[query] for query in self.queries}
        return JoinedRankings(lists, known, self.prescribed, gold, self.by_document, self.unwanted)

    @cached_property
    def without_hits(self) -> tuple[str, ...]:
        """The ids of the queries with a relevant judgment for which nothing is returned."""
        return tuple(
            id_
            for id_ in _list_empty(self.rankings)
            if any(item.grade > 0 for item in self.gold[id_])
        )

    def take(self, queries: Container[str]) -> "StoredRun":
        """Return this run with some of its queries alone; what its folder holds stays."""
        return replace(
            self,
            queries=_take(self.queries, queries),
            gold=_take(self.gold, queries),
            rankings=_take(self.rankings, queries),
            gold_ranks=_take(self.gold_ranks, queries),
            latency=tuple(sample for sample in self.latency if sample.query_id in queries),
        )


def load(folder: Path) -> StoredRun:
    """Read the finished run in `folder`; rankings and ranks of gold items are read on access.

    Raises AssayError when there is none, its format is not one this version reads, or files of it
    are damaged or hold no query; a damaged ranking raises it on access. Raises LeakError if the run
    shows a principal a document that it may no longer read.
    """
    manifest = read_manifest(folder)
    try:
        run = _read_files(folder, manifest)
    except (LookupError, TypeError, ValueError) as error:
        raise AssayError(f"{folder}: its files are damaged: {error!r}") from error
    if not run.queries:
        raise AssayError(f"{folder}: a run of no queries, which has no figures")
    if any(query.principal for query in run.queries.values()):
        _check_permissions(run)
    return run


def _check_permissions(run: StoredRun) -> None:
    """Raise LeakError if a run shows a principal a document that it may no longer read.

    Nothing is checked if the collection is not here. A report states the day of the permissions.
    """
    from assay.eval.collections.revocation import open_readers

    readers = open_readers(str(run.manifest.config.get("dataset", "")))
    asked = {id_: query.principal for id_, query in run.queries.items() if query.principal}
    for id_, principal in asked.items() if readers else ():
        judged = (item.doc_id for item in run.gold[id_])
        shown = (doc_id for doc_id, _ in list_shown(run.rankings[id_]))
        for doc_id in dict.fromkeys((*judged, *shown)):
            if readers and not readers.may_read(principal, doc_id):
                raise LeakError(
                    f"{run.manifest.id}: query {id_} shows document {doc_id}, which principal "
                    f"{principal} may not read any more; permissions were those of "
                    f"{run.manifest.created[:10]}: make the run again"
                )


def _read_files(folder: Path, manifest: Manifest) -> StoredRun:
    """Read the files next to the manifest."""
    passages = read_passages(folder / "passages.jsonl")
    chunks = {passage.chunk.id: passage.chunk for passage in passages}
    queries = read_queries(folder / "queries.jsonl")
    gold = read_gold(folder / "gold.jsonl")
    if unknown := gold.items.keys() - queries.keys():
        path = folder / "gold.jsonl"
        raise AssayError(
            f'{path}: damaged: it judges "{min(unknown)}", which is no query of the run'
        )
    return StoredRun(
        folder=folder,
        manifest=manifest,
        queries=queries,
        gold={query: gold.items.get(query, ()) for query in queries},
        gold_texts=gold.texts,
        rankings=StoredRankings(folder / "rankings.jsonl", queries, chunks),
        gold_ranks=read_gold_ranks(folder / "placements.jsonl"),
        prescribed=frozenset(item.chunk.id for item in passages if item.prescribed),
        latency=tuple(LatencySample(**row) for row in read_rows(folder / "latency.jsonl")),
        unwanted=frozenset(item.chunk.doc_id for item in passages if item.unwanted),
    )


def _take(values: Mapping[str, T], keys: Container[str]) -> dict[str, T]:
    return {key: value for key, value in values.items() if key in keys}


def _list_empty(rankings: Mapping[str, Ranking]) -> list[str]:
    """Return the queries without hits; of stored rankings they are known before reading."""
    if isinstance(rankings, StoredRankings):
        return [query for query in rankings if query in rankings.empty]
    return [query for query, ranking in rankings.items() if not ranking.hits]


def find(reports: Path, reference: str, others: Iterable[str] = ()) -> Path:
    """Return the folder of a run given its path, its id, or the unique beginning of its id.

    `others` are what else the caller could have meant. Raises AssayError.
    """
    folder = parse_path(reference, "run")
    if (folder / MANIFEST).exists():
        return folder
    found = [path.parent.name for path in reports.glob(f"*/{MANIFEST}")]
    newest_first = sorted(found, key=find_time, reverse=True)
    matching = [id_ for id_ in newest_first if id_.startswith(reference)]
    if reference in matching:
        return reports / reference
    if len(matching) == 1:
        return reports / matching[0]
    if matching:
        raise AssayError(
            f"{reference}: {len(matching)} runs in {reports} begin so; give the id of one, the "
            f"newest first: {_list(matching)}"
        )
    near = suggest(reference, [*others, *found])
    raise AssayError(
        f"{reference}: no such run in {reports}; the newest first: {_list(newest_first)}{near}"
    )


def find_time(id_: str) -> tuple[str, ...]:
    """Return the day and the time of day at which the run of an id was made, for sorting."""
    found = TIME.search(id_)
    return found.groups() if found else ()


def _list(ids: Sequence[str]) -> str:
    """Return the first ids, and how many more there are."""
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return ", ".join(ids[:SHOWN]) + more if ids else "none"


def describe_without_hits(run: StoredRun) -> str:
    """Return a sentence on queries that have an answer but no hit; "" if there are none."""
    if not run.without_hits:
        return ""
    return f"nothing is returned for {len(run.without_hits):,} of {len(run.queries):,} queries"


def describe_degraded(run: StoredRun) -> tuple[str, ...]:
    """Return sentences on degraded queries and their remedies; none if there are none."""
    return tuple(
        f"degraded on {queries:,} of {len(run.queries):,} queries: {line}. Run again once "
        "that is fixed"
        for line, queries in run.manifest.degraded.items()
    )
