"""What the Python API returns for a comparison: its figures as DataFrames."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any

from assay.eval.collections.formats.cells import render_table
from assay.eval.scoring.measures import find
from assay.eval.studies.comparison.comparison import Comparison, Pair
from assay.eval.studies.comparison.differences import Difference
from assay.eval.studies.comparison.first_hits import find_first_hits
from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import has_pandas, need_pandas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from assay.eval.report.interval_bars import IntervalBar

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

# Of these, what is shown first.
SMALL = ("difference", "simultaneous_low", "simultaneous_high", "p", "verdict")


@dataclass(frozen=True, repr=False)
class ComparisonResult:
    """Runs beside a base, or all pairs of three or more. In the tables, runs are named by their
    config, numbered where several share one.

    Of all pairs the runs come best first, and an index that starts with `other` starts with `base`
    before it: the better of the two.

    Attributes:
        compared: The comparison as objects; all tables are made of it.

    """

    compared: Comparison

    @cached_property
    def measures(self) -> "DataFrame":
        """By run, the base first: below each measure its `mean`, and its interval's ends."""
        from assay.eval.report.frames import tabulate_grid

        runs = zip(self.compared.labels, self.compared.summaries, strict=True)
        grid = {
            label: {name: run.means[name] for name in self.compared.measures} for label, run in runs
        }
        return tabulate_grid(grid, "run", "mean")

    @cached_property
    def ranking(self) -> "DataFrame":
        """By run, the best first: `rank`, `mean`, `low`, `high` of the headline, and `groups`.

        Runs that share a letter of `groups` are not shown to differ. Raises AssayError where three
        runs or more have a base: not all pairs are tested then.
        """
        from assay.eval.report.frames import tabulate_estimates

        compared = self.compared
        if not compared.all_pairs and len(compared.pairs) > 1:
            raise AssayError("ranking: not all pairs are tested; compare without a base")
        measure = compared.pairs[0].headline.measure
        runs = zip(compared.labels, compared.summaries, strict=True)
        means = {label: summary.means[measure] for label, summary in runs}
        table = tabulate_estimates(means, "run", "mean")
        ranked = table.sort_values("mean", ascending=find(measure).sign < 0, kind="stable")
        ranked.insert(0, "rank", range(1, len(ranked) + 1))
        return ranked.assign(
            groups=compared.groups if compared.all_pairs else sorted(compared.groups)
        )

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
                *names,
                f"p{item.percentile}",
                item.base,
                item.other,
                *(
                    (item.ratio.value, item.ratio.low, item.ratio.high, item.ratio.n)
                    if item.ratio
                    else (None,) * 4
                ),
            ]
            for names, pair in self._pairs()
            for item in pair.latency
        ]
        return self._index(rows, "percentile", columns)

    @cached_property
    def first_hits(self) -> "DataFrame":
        """By query id and run: the first hit's `state`, `document` and the beginning of its `text`.

        The state is "right", "wrong", "not judged", which counts as wrong, or "nothing found".
        """
        need_pandas()
        from pandas import DataFrame

        rows = [
            [query, label, hit.state, hit.document, hit.text]
            for query, hits in find_first_hits(self.compared).items()
            for label, hit in zip(self.compared.labels, hits, strict=True)
        ]
        columns = ["query_id", "run", "state", "document", "text"]
        return DataFrame(rows, columns=columns).set_index(["query_id", "run"])

    @property
    def verdict(self) -> str:
        """In words: which run is shown to be better, and what must be known before believing it."""
        return "\n".join([*self.compared.verdict, *self.compared.warnings])

    def per_query(self, measure: str) -> "DataFrame":
        """Return the scores of all runs, query by query.

        Args:
            measure: One of those compared, by either name: `MRR@10` or `RR@10`.

        Returns:
            By query id: `type`, `text`, each run's score, and `difference.<other>` from the first.

        Raises:
            AssayError: The measure is unknown, or was not compared.

        """
        need_pandas()
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
        others = zip(self.compared.labels[1:], self.compared.against_base, strict=True)
        for label, pair in others:
            scores = pair.scores(measure)
            columns[label] = [scores[id_][1] for id_ in queries]
            columns[f"difference.{label}"] = [scores[id_][1] - scores[id_][0] for id_ in queries]
        return DataFrame(columns, index=Index(list(queries), name="query_id"))

    def to_csv(self) -> str:
        """Return all differences as CSV: `base`, `other`, `measure`, `type`, and the figures.

        Those over all queries, whose `type` is empty, come first; undefined figures are empty.
        """
        pairs = list(zip(self.compared.names, self.compared.pairs, strict=True))
        over_all = [(names, item, "") for names, pair in pairs for item in pair.differences]
        of_types = [(names, item, item.type) for names, pair in pairs for item in pair.by_type]
        rows = [["base", "other", "measure", "type", *FIGURES]]
        for names, item, kind in (*over_all, *of_types):
            measure, *figures = _list_figures(item, "measure")
            known = ("" if value != value else value for value in figures)  # NaN
            rows.append([*names, measure, kind, *known])
        return render_table(rows)

    def __repr__(self) -> str:
        return self.verdict

    def _repr_html_(self) -> str | None:
        if not has_pandas():
            return None  # a notebook then shows the text
        from assay.eval.report.frames import render
        from assay.eval.report.interval_bars import draw_bars

        compared = self.compared
        collection = compared.base.run.manifest.collection.name
        notes = [
            *compared.warnings,
            f"{' · '.join(compared.labels)} on {collection}",
        ]
        table = self.ranking if compared.all_pairs else self.differences[list(SMALL)]
        bars = draw_bars(self._list_bars(), differences=not compared.all_pairs)
        return render(" ".join(compared.verdict), notes, table, bars)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the differences with their simultaneous intervals; of all pairs the runs' means.

        Args:
            ax: Axes of matplotlib to draw into; by default those of a new figure.

        Returns:
            The axes.

        Raises:
            AssayError: matplotlib is not installed.

        """
        from assay.eval.report.interval_bars import plot_bars

        compared = self.compared
        title = f"{' · '.join(compared.labels)} on {compared.base.run.manifest.collection.name}"
        if compared.all_pairs:
            label = f"mean {compared.pairs[0].headline.measure} with 95 % interval"
        else:
            label = f"difference from {compared.labels[0]}, 95 % simultaneous interval"
        bars = self._list_bars()
        return plot_bars(bars, not compared.all_pairs, title=title, label=label, ax=ax)

    def _list_bars(self) -> "list[IntervalBar]":
        """Return a bar a run and its groups, of all pairs; else one a difference of a share."""
        from assay.eval.report.interval_bars import IntervalBar

        compared = self.compared
        if compared.all_pairs:
            measure = compared.pairs[0].headline.measure
            runs = zip(compared.labels, compared.groups, compared.summaries, strict=True)
            return [
                IntervalBar(f"{label} ({groups})", summary.means[measure])
                for label, groups, summary in runs
            ]
        several = len(compared.pairs) > 1
        return [
            IntervalBar(
                f"{name[-1]}: {item.measure}" if several else item.measure, both, item.shown
            )
            for name, pair in self._pairs()
            for item in pair.differences
            if abs((both := item.interval).value) <= 1
        ]

    def _pairs(self) -> Iterable[tuple[tuple[str, ...], Pair]]:
        """Yield what each pair is called in an index, and the pair."""
        for names, pair in zip(self.compared.names, self.compared.pairs, strict=True):
            yield names if self.compared.all_pairs else names[1:], pair

    def _tabulate(self, key: str, choose: Callable[[Pair], Sequence[Difference]]) -> "DataFrame":
        rows = [
            [*names, *_list_figures(item, key)]
            for names, pair in self._pairs()
            for item in choose(pair)
        ]
        return self._index(rows, key, FIGURES)

    def _index(self, rows: list[list[Any]], key: str, columns: Sequence[str]) -> "DataFrame":
        need_pandas()
        from pandas import DataFrame

        index = ["base", "other", key] if self.compared.all_pairs else ["other", key]
        return DataFrame(rows, columns=[*index, *columns]).set_index(index)


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
