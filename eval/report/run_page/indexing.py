"""Indexing, as a report shows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.eval.report import formats
from assay.eval.report.histogram import describe_percentiles
from assay.eval.report.provenance import Pairs
from assay.eval.runs.ann_recall import EXPLANATION, find_recalls
from assay.eval.runs.manifest import count_tokens
from assay.retrievers.base import IndexReport


@dataclass(frozen=True)
class IndexRow:
    """One stage of indexing; `share` is its percentage of the longest."""

    name: str
    seconds: str
    share: float
    cached: bool


def index_rows(index: IndexReport) -> tuple[IndexRow, ...]:
    """Return the stages of indexing in the order they ran, then those of unknown seconds."""
    longest = max(index.seconds.values(), default=0) or 1
    unknown = [stage for stage in index.cached if stage not in index.seconds]
    return (
        *(
            IndexRow(
                stage, formats.amount(taken), round(100 * taken / longest, 2), stage in index.cached
            )
            for stage, taken in index.seconds.items()
        ),
        *(IndexRow(stage, "not kept", 0.0, cached=True) for stage in unknown),
    )


def index_facts(index: IndexReport) -> Pairs:
    """Return what came of indexing, and what was found wrong with the chunks."""
    limit = index.facts.get("limit")
    oversize = f"{index.facts.get('oversize')}" + (f" (over {limit:,} tokens)" if limit else "")
    pairs = (
        ("Chunks", f"{index.chunks:,}"),
        ("Tokens of a chunk", describe_percentiles(count_tokens(index))),
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
    """Return what approximate dense search finds of exact search, a pair a leg."""
    return tuple(
        (f"Leg {leg}", f"{EXPLANATION} {formats.score(recall)}")
        for leg, recall in find_recalls(facts).items()
    )
