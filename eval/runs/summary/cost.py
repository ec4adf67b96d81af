"""The charges of the services that a pipeline calls, for its queries and its index."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum
from typing import Any

from assay.eval.runs.json_form import in_json, to_json
from assay.eval.runs.manifest import count_tokens
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.stored_files import mentioning

# Among the counts of a trace: billionths of a US dollar, and calls of which no price is known.
COST = "nano_usd"
UNPRICED = "unpriced"
NANO = 1_000_000_000
BILLED = "billed"  # among the facts of an index: tokens and US dollars by leg


@in_json(
    "unpriced",
    usd_per_1000_queries="queries",
    usd_index="index",
    usd_per_million_tokens="million",
)
@dataclass(frozen=True, slots=True)
class Cost:
    """Costs in US dollars at the prices that the run was made with.

    `queries` is the cost of a thousand queries, each searched once with no score kept from before;
    `index` that of all chunks, embedded once; `million` that of chunks of a million tokens, as the
    pipeline counts them. An unknown cost is None: `unpriced` are the steps without a known price.
    """

    queries: float | None
    index: float | None
    million: float | None
    unpriced: tuple[str, ...]

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """The known costs, in words and figures."""
        rows = (
            ("USD per 1,000 queries", self.queries),
            ("USD to embed the chunks", self.index),
            ("USD per million tokens of chunks", self.million),
        )
        told = tuple((words, dollars(value)) for words, value in rows if value is not None)
        missing = (("No price known of", ", ".join(self.unpriced)),) if self.unpriced else ()
        return told + missing

    def metrics(self) -> dict[str, float]:
        """Return the known costs by their names in MLflow."""
        found = {f"cost/{name}": value for name, value in to_json(self).items()}
        return {name: value for name, value in found.items() if isinstance(value, float)}


def find_cost(run: StoredRun) -> Cost | None:
    """Return the cost of a run; None if no service that may charge was called."""
    charged = [
        entry
        for ranking in mentioning(run.rankings, COST, UNPRICED)
        for entry in ranking.trace
        if {COST, UNPRICED} & entry.counts.keys()
    ]
    billed = run.manifest.index.facts.get(BILLED) or {}
    if not charged and not billed:
        return None
    unpriced = {entry.name for entry in charged if UNPRICED in entry.counts}
    spent = fsum(entry.counts.get(COST, 0) for entry in charged) / NANO
    queries = None if unpriced else 1000 * spent / max(len(run.rankings), 1)
    index = _sum_index(billed)
    unpriced |= {leg for leg, bill in billed.items() if bill["usd"] is None}
    tokens = sum(count_tokens(run.manifest.index).sizes)
    million = 1e6 * index / tokens if index is not None and billed and tokens else None
    return Cost(queries, index if billed else None, million, tuple(sorted(unpriced)))


def tell_queries(cost: Cost | None) -> str:
    """Return the US dollars of a thousand queries in words: 0 if no service is called."""
    if cost is None:
        return "0"
    return "unknown" if cost.queries is None else dollars(cost.queries)


def dollars(value: float) -> str:
    """Return US dollars to three significant digits, never in powers of ten."""
    if not value:
        return "0"
    digits = 2
    while digits < 9 and abs(value) * 10**digits < 100:
        digits += 1
    return f"{value:,.{digits}f}"


def _sum_index(billed: Mapping[str, Any]) -> float | None:
    found = [bill["usd"] for bill in billed.values()]
    return None if None in found else fsum(found)
