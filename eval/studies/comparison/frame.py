"""What the Python API returns for a comparison: its figures as DataFrames."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any

from assay.eval.scoring.measures import find
from assay.eval.studies.comparison.comparison import Comparison, Pair
from assay.eval.studies.comparison.differences import Difference
from assay.retrievers.base import AssayError

if TYPE_CHECKING:
    from pandas import DataFrame

FIGURES = (
    "n",
    "base_mean",
    "other_mean",
    "difference",
    "low",
    "high",
    "simultaneous_low",
    "simultaneous_high",
    "p",
    "effect_size",
    "detectable",
    "wins",
    "ties",
    "losses",
    "verdict",
)


@dataclass(frozen=True, repr=False)
class ComparisonResult:
    """Runs beside a base. In the tables, `other` names a run by its config, numbered where several
    share one.

    Attributes:
        compared: The comparison as objects; all tables are made of it.

    """

    compared: Comparison

    @cached_property
    def measures(self) -> "DataFrame":
        """By run, the base first: below each measure its `mean`, and its interval's ends."""
        from assay.eval.report.frames import tabulate_grid

        runs = [self.compared.base, *(pair.other for pair in self.compared.pairs)]
        grid = {
            label: {name: run.means[name] for name in self.compared.measures}
            for label, run in zip(self.compared.labels, runs, strict=True)
        }
        return tabulate_grid(grid, "run", "mean")

    @cached_property
    def differences(self) -> "DataFrame":
        """By other run and measure: means, the paired difference and what it is worth.

        `low` and `high` are the ends of its 95 % interval by itself, `simultaneous_low` and
        `simultaneous_high` those of the interval that holds for all tested together. It excludes
        0 exactly where `p`, which is adjusted, is at most .05; NaN where nothing is tested.
        `effect_size` is d_z, `detectable` the smallest difference that these queries show with
        power 0.8, all tested together.
        """
        return self._tabulate("measure", lambda pair: pair.differences)

    @cached_property
    def by_type(self) -> "DataFrame":
        """As `differences`, of one measure by type of query."""
        return self._tabulate("type", lambda pair: pair.by_type)

    @cached_property
    def latency(self) -> "DataFrame":
        """By other run and percentile: milliseconds of both, and their ratio with its interval.

        There is a ratio, of `n` queries, only where both were timed interleaved in one job.
        """
        columns = ("base_ms", "other_ms", "ratio", "low", "high", "n")
        rows = [
            [
                label,
                f"p{item.percentile}",
                item.base,
                item.other,
                *(
                    (item.ratio.value, item.ratio.low, item.ratio.high, item.ratio.n)
                    if item.ratio
                    else (None,) * 4
                ),
            ]
            for label, pair in self._pairs()
            for item in pair.latency
        ]
        return _index(rows, "percentile", columns)

    @property
    def verdict(self) -> str:
        """In words: what must be known before, and whether each run is better than the base."""
        return "\n".join([*self.compared.warnings, *self.compared.conclusions])

    def per_query(self, measure: str) -> "DataFrame":
        """Return the scores of all runs, query by query.

        Args:
            measure: One of those compared, by either name: `MRR@10` or `RR@10`.

        Returns:
            By query id: `type`, `text`, each run's score, and `difference.<other>`.

        Raises:
            AssayError: The measure is unknown, or was not compared.

        """
        from pandas import DataFrame, Index

        measure = find(measure).name
        if measure not in self.compared.measures:
            known = ", ".join(self.compared.measures)
            raise AssayError(f"{measure}: not compared here; compared were {known}")
        queries = self.compared.base.run.queries
        columns: dict[str, list[Any]] = {
            "type": [query.type for query in queries.values()],
            "text": [query.text for query in queries.values()],
            self.compared.labels[0]: [self.compared.base.scores[measure][id_] for id_ in queries],
        }
        for label, pair in self._pairs():
            scores = pair.scores(measure)
            columns[label] = [scores[id_][1] for id_ in queries]
            columns[f"difference.{label}"] = [scores[id_][1] - scores[id_][0] for id_ in queries]
        return DataFrame(columns, index=Index(list(queries), name="query_id"))

    def __repr__(self) -> str:
        return self.verdict

    def _repr_html_(self) -> str:
        from assay.eval.report.frames import render

        collection = self.compared.base.run.manifest.collection.name
        title = f"{' · '.join(self.compared.labels)} on {collection}"
        return render(title, self.verdict.splitlines(), self.differences)

    def _pairs(self) -> Iterable[tuple[str, Pair]]:
        return zip(self.compared.labels[1:], self.compared.pairs, strict=True)

    def _tabulate(self, key: str, choose: Callable[[Pair], Sequence[Difference]]) -> "DataFrame":
        rows = [
            [label, *_list_figures(item, key)]
            for label, pair in self._pairs()
            for item in choose(pair)
        ]
        return _index(rows, key, FIGURES)


def _list_figures(item: Difference, key: str) -> list[Any]:
    both = item.simultaneous
    ends = (both.low, both.high) if both else (None, None)
    defined = (*ends, item.reported_p, item.effect_size, item.detectable)
    return [
        getattr(item, key),
        item.n,
        item.base,
        item.other,
        item.difference.value,
        item.difference.low,
        item.difference.high,
        *(nan if value is None else value for value in defined),
        item.wins,
        item.ties,
        item.losses,
        item.verdict,
    ]


def _index(rows: list[list[Any]], key: str, columns: Sequence[str]) -> "DataFrame":
    from pandas import DataFrame

    return DataFrame(rows, columns=["other", key, *columns]).set_index(["other", key])
