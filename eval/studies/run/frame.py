"""What the Python API returns for a stored run: its figures as DataFrames."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.eval.report.run_page.page import PAGE
from assay.eval.runs.manifest import describe_order
from assay.eval.runs.stored import StoredRun, describe_without_hits
from assay.eval.runs.summary.summary import Summary, summarise
from assay.eval.scoring.measures import choose_headline
from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import has_pandas, need_pandas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from assay.eval.report.interval_bars import IntervalBar


@dataclass(frozen=True, repr=False)
class RunResult:
    """A stored run. Its tables are made when they are first asked for, and each only once.

    Attributes:
        stored: The run as it is stored; all tables are made of it and of `summary`.
        names: The measures it is judged by, those of its config unless they are given.

    """

    stored: StoredRun
    names: tuple[str, ...] = ()

    @cached_property
    def summary(self) -> Summary:
        """The figures of the run as objects."""
        return summarise(self.stored, self.names or self.stored.measures)

    @property
    def id(self) -> str:
        """The id of the run, which is the name of its folder."""
        return self.stored.manifest.id

    @property
    def name(self) -> str:
        """The name of the pipeline."""
        return self.stored.manifest.name

    @property
    def collection(self) -> str:
        """The name of the collection."""
        return self.stored.manifest.collection.name

    @property
    def created(self) -> datetime:
        """When the run was finished."""
        return datetime.fromisoformat(self.stored.manifest.created)

    @property
    def config(self) -> dict[str, Any]:
        """The resolved config."""
        return self.stored.manifest.config

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before believing the figures."""
        manifest, n = self.stored.manifest, len(self.stored.queries)
        found = [
            f"degraded on {queries} of {n} queries: {line}"
            for line, queries in manifest.degraded.items()
        ]
        if silent := describe_without_hits(self.stored):
            found.insert(0, silent)
        if order := describe_order(manifest.rising_scores):
            found.append(order)
        if manifest.sampled:
            found.append(f"a sample: {n} of the collection's {manifest.collection.queries} queries")
        return tuple(found)

    @cached_property
    def measures(self) -> "DataFrame":
        """By measure: `mean`, the ends `low` and `high` of its 95 % interval, `n` queries."""
        from assay.eval.report.frames import tabulate_estimates

        return tabulate_estimates(self.summary.means, "measure", "mean")

    @cached_property
    def per_query(self) -> "DataFrame":
        """By query id: `type`, `text`, a column a measure, and `milliseconds` where timed."""
        from assay.eval.runs.summary.exports import frame_queries, tabulate_queries

        return frame_queries(tabulate_queries(self.summary))

    @cached_property
    def latency(self) -> "DataFrame":
        """By stage, `total` first: below `p50`, `p95` and `p99` each `ms`, `low` and `high`."""
        from assay.eval.report.frames import tabulate_grid

        return tabulate_grid(self.summary.latency, "stage", "ms")

    @cached_property
    def attribution(self) -> "DataFrame":
        """A row a relevant gold item: found in the first ten hits, or at which step it was lost.

        `status` and `where` are those of `assay explain`; `rank.<step>` is the rank at which the
        step lists it, none where it does not; `text` is the item's own.
        """
        need_pandas()
        from pandas import DataFrame

        attribution = self.summary.attribution
        rows = [
            {
                "query_id": query,
                "item": status.item.id,
                "document": status.item.doc_id,
                "grade": status.item.grade,
                "status": status.status,
                "where": status.where,
                **{f"rank.{step}": status.ranks.get(step) for step in attribution.steps},
                "text": self.stored.gold_texts[status.item.id],
            }
            for query, statuses in attribution.items.items()
            for status in statuses
        ]
        ranks = {f"rank.{step}": "Int64" for step in attribution.steps}
        leading = ["query_id", "item", "document", "grade", "status", "where"]
        return DataFrame(rows, columns=[*leading, *ranks, "text"]).astype(ranks)

    @cached_property
    def ceilings(self) -> "DataFrame":
        """By step: what a perfect order of its candidates would score; `actual` at the end.

        `candidates` is their mean number a query; below each measure are `mean`, `low`, `high`.
        """
        from assay.eval.report.frames import tabulate_grid

        attribution = self.summary.attribution
        grid = {ceiling.step: ceiling.measures for ceiling in attribution.ceilings}
        table = tabulate_grid({**grid, "actual": attribution.reached}, "step", "mean")
        counts = [ceiling.candidates for ceiling in attribution.ceilings]
        hits = [len(ranking.hits) for ranking in self.stored.rankings.values()]
        table.insert(0, ("candidates", ""), [*counts, sum(hits) / len(hits)])
        return table

    @property
    def report(self) -> Path:
        """The page of the run, written where there is none yet."""
        from assay.eval.report.run_page.page import write

        page = self.stored.folder / PAGE
        return page if page.exists() else write(self.summary)

    def hits(self, query_id: str) -> "DataFrame":
        """Return what one query retrieved.

        Args:
            query_id: The id of a query that was searched.

        Returns:
            By rank: `chunk`, `document`, `grade`, `score` and `text`. The grade is the one that the
            rank counts with: none where no one has judged the chunk, 0 where it is judged
            irrelevant or repeats gold found before.

        Raises:
            AssayError: The query is unknown.

        """
        need_pandas()
        from pandas import NA, DataFrame, RangeIndex

        if query_id not in self.stored.rankings:
            some = ", ".join(list(self.stored.queries)[:5])
            raise AssayError(f"{query_id}: not a query of {self.id}, which has {some}, …")
        hits = self.stored.rankings[query_id].hits
        joined = self.stored.joined[query_id]
        columns = {
            "chunk": [hit.chunk.id for hit in hits],
            "document": [hit.chunk.doc_id for hit in hits],
            "grade": [hit.grade if hit.judged else NA for hit in joined],
            "score": [hit.score for hit in hits],
            "text": [hit.chunk.text for hit in hits],
        }
        ranks = RangeIndex(1, len(hits) + 1, name="rank")
        return DataFrame(columns, index=ranks).astype({"grade": "Int64"})

    def __repr__(self) -> str:
        means = self.summary.means
        measure = choose_headline(means)
        mean = means[measure]
        figure = f"{mean.value:.3f} ({mean.low:.3f} … {mean.high:.3f}), n = {mean.n}"
        told = f"; {len(self.warnings)} in .warnings" if self.warnings else ""
        return f"<{self.name} on {self.collection}: {measure} {figure}{told}>"

    def _repr_html_(self) -> str | None:
        if not has_pandas():
            return None  # a notebook then shows the text
        from assay.eval.report.frames import render
        from assay.eval.report.interval_bars import draw_bars

        table = self.measures.rename_axis(None)
        bars = draw_bars(self._list_bars(), differences=False)
        return render(self._conclude(), [*self.warnings, self.id], table, bars)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the mean of each measure on 0 to 1 with its 95 % interval.

        Args:
            ax: Axes of matplotlib to draw into; by default those of a new figure.

        Returns:
            The axes.

        Raises:
            AssayError: matplotlib is not installed.

        """
        from assay.eval.report.interval_bars import plot_bars

        title = f"{self.name} on {self.collection}"
        label = "mean with 95 % interval"
        return plot_bars(self._list_bars(), differences=False, title=title, label=label, ax=ax)

    def _list_bars(self) -> "list[IntervalBar]":
        from assay.eval.report.interval_bars import IntervalBar

        means = self.summary.means.items()
        return [IntervalBar(name, mean) for name, mean in means if 0 <= mean.value <= 1]

    def _conclude(self) -> str:
        """Return the headline measure in a sentence."""
        measure = choose_headline(self.summary.means)
        mean = self.summary.means[measure]
        return (
            f"{self.name} on {self.collection} (n = {mean.n}): {measure} {mean.value:.3f} "
            f"(95 % interval {mean.low:.3f} to {mean.high:.3f})"
        )
