"""The result of a stored run in the Python API: its figures as DataFrames."""

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.eval.report.blocks import Report
from assay.eval.report.formats import count
from assay.eval.report.result import StudyResult
from assay.eval.report.run_page.page import write
from assay.eval.report.run_page.report import list_warnings, report
from assay.eval.runs.files import PAGE
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.summary import Summary, summarise
from assay.eval.scoring.measures import choose_headline
from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import need_pandas

if TYPE_CHECKING:
    from pandas import DataFrame


class RunResult(StudyResult[Summary]):
    """A stored run. Its figures and its report are computed on first access.

    `.tables` has the tables of the run's page that are not empty: `measures`, `by_type`,
    `unjudged`, `statuses`, `ceilings`, `latency`, `index` and more.

    Attributes:
        stored: The stored run, from which all figures are computed.
        names: The measures to compute; if empty, those of the run's config.

    """

    def __init__(self, stored: StoredRun, names: Sequence[str] = ()) -> None:
        vars(self).update(stored=stored, names=tuple(names))  # it is frozen

    stored: StoredRun
    names: tuple[str, ...]

    @cached_property
    def found(self) -> Summary:
        """The figures of the run as objects."""
        names = self.stored.name_measures(self.names) if self.names else self.stored.measures
        return summarise(self.stored, names)

    @cached_property
    def report(self) -> Report:
        """The report of the run."""
        return report(self.found)

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
        """The time at which the run finished."""
        return datetime.fromisoformat(self.stored.manifest.created)

    @property
    def config(self) -> dict[str, Any]:
        """The resolved config."""
        return self.stored.manifest.config

    @cached_property
    def per_query(self) -> "DataFrame":
        """Scores by query id: `type`, `text`, a column per measure, and `milliseconds` if timed."""
        from assay.eval.runs.summary.exports import frame_queries, tabulate_queries

        return frame_queries(tabulate_queries(self.found))

    @cached_property
    def attribution(self) -> "DataFrame":
        """A row per relevant gold item: found in the first ten hits, or the step that lost it.

        `status` and `where` are those of `assay explain`; `rank.<step>` is the rank at which the
        step lists the item, missing if it does not; `text` is the item's text.
        """
        need_pandas()
        from pandas import DataFrame

        attribution = self.found.attribution
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

    @property
    def page(self) -> Path:
        """The path of the page of the run, which is written if there is none yet."""
        page = self.stored.folder / PAGE
        return page if page.exists() else write(self.found)

    def hits(self, query_id: str) -> "DataFrame":
        """Return the hits of one query.

        Args:
            query_id: The id of a query that was searched.

        Returns:
            By rank: `chunk`, `document`, `grade`, `score` and `text`. The grade is the one that
            counts at the rank: missing if nobody has judged the chunk, 0 if it is judged
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
        means = self.found.means
        measure = choose_headline(means)
        mean = means[measure]
        figure = f"{mean.value:.3f} ({mean.low:.3f} … {mean.high:.3f}), n = {mean.n}"
        warned = len(list_warnings(self.found))
        told = f"; {count(warned, 'warning')} in .verdict" if warned else ""
        return f"<{self.name} on {self.collection}: {measure} {figure}{told}>"
