"""Indexing, as a report shows it."""

from collections.abc import Iterator, Mapping
from typing import Any

from assay.eval.report import formats
from assay.eval.report.blocks import Column, Plot, Table
from assay.eval.report.provenance import Pairs
from assay.eval.runs.ann_recall import EXPLANATION, find_recalls
from assay.eval.runs.manifest import count_tokens
from assay.retrievers.base import IndexReport


def tabulate_index(index: IndexReport) -> Iterator[Table]:
    """Yield the seconds of each stage in the order they ran, and the chunks by their tokens."""
    stages = list(dict.fromkeys([*index.seconds, *index.cached]))
    columns = [
        Column("stage", "Stage", value=str),
        Column("seconds", "Seconds", "seconds", index.seconds.get),
        Column("cached", "From the cache", value=lambda stage: stage in index.cached),
    ]
    note = "Seconds are those of the work itself, also where its result came from the cache."
    bars = Plot("seconds", "bar")
    yield Table("index", "Indexing by stage", columns, stages, note, plot=bars, brief=False)
    if (sizes := count_tokens(index)).sizes:
        yield tabulate_sizes("chunks", sizes.histogram())


def tabulate_sizes(key: str, bins: Any, title: str = "Chunks by tokens") -> Table:
    """Return the chunks in ranges of tokens."""
    columns = [Column("label", "Tokens"), Column("chunks", "Chunks", "count")]
    return Table(key, title, columns, bins, plot=Plot("chunks", "bar"), brief=False)


def index_facts(index: IndexReport) -> Pairs:
    """Return the facts of indexing, and the faults found in the chunks."""
    limit = index.facts.get("limit")
    oversize = f"{index.facts.get('oversize')}" + (f" (over {limit:,} tokens)" if limit else "")
    pairs = (
        ("Chunks", f"{index.chunks:,}"),
        ("Tokens of a chunk", count_tokens(index).words),
        ("Oversize chunks", oversize if "oversize" in index.facts else ""),
        ("Chunks longer than the encoder's limit", _unread(index)),
        ("Integrity failures", str(index.facts.get("integrity_failures", ""))),
        ("Size of the indexes", formats.size(index.bytes)),
        ("Seconds of work", formats.amount(sum(index.seconds.values()))),
    )
    return tuple(pair for pair in pairs if pair[1])


def _unread(index: IndexReport) -> str:
    if "unread" not in index.facts:
        return ""
    return f"{index.facts['unread']:,} (the encoder reads {index.facts['window']:,} tokens)"


def recall_facts(facts: Mapping[str, Any]) -> Pairs:
    """Return the share of exact search that approximate search finds, one pair per leg."""
    return tuple(
        (f"Leg {leg}", f"{EXPLANATION} {formats.score(recall)}")
        for leg, recall in find_recalls(facts).items()
    )
