"""The result of a comparison in the Python API: its tables, and the scores of single queries."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.eval.collections.formats.cells import render_table
from assay.eval.report.result import StudyResult
from assay.eval.scoring.measures import find
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.differences import Difference
from assay.eval.studies.comparison.first_hits import find_first_hits
from assay.eval.studies.comparison.report import report
from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import need_pandas

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
class ComparisonResult(StudyResult[Comparison]):
    """Runs compared with a base, or all pairs of three or more, named by config and what differs.

    `.tables` has `differences` by measure, `measures` by run, `by_type`, and `latency` if all were
    timed. With three runs or more it also has `runs`; for all pairs these are ranked, best first,
    with letters: runs that share one are not shown to differ. With several pairs the index names
    the pair.

    Attributes:
        found: The comparison as objects.
        report: Its report.

    """

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
        if measure not in self.found.measures:
            known = ", ".join(self.found.measures)
            raise AssayError(f"{measure}: not compared here; compared were {known}")
        queries = self.found.base.run.queries
        columns: dict[str, list[Any]] = {
            "type": [query.type for query in queries.values()],
            "text": [query.text for query in queries.values()],
            self.found.labels[0]: [self.found.base.scores[measure][id_] for id_ in queries],
        }
        others = zip(self.found.labels[1:], self.found.against_base, strict=True)
        for label, pair in others:
            scores = pair.scores(measure)
            columns[label] = [scores[id_][1] for id_ in queries]
            columns[f"difference.{label}"] = [scores[id_][1] - scores[id_][0] for id_ in queries]
        return DataFrame(columns, index=Index(list(queries), name="query_id"))

    def first_hits(self) -> "DataFrame":
        """Return the first hit of each query in each run, and its state.

        Returns:
            By query id and run: `state`, `document` and the beginning of the `text`. The state is
            "right", "wrong", "not judged", which counts as wrong, or "nothing found".

        """
        need_pandas()
        from pandas import DataFrame

        rows = [
            [query, label, hit.state, hit.document, hit.text]
            for query, hits in find_first_hits(self.found).items()
            for label, hit in zip(self.found.labels, hits, strict=True)
        ]
        columns = ["query_id", "run", "state", "document", "text"]
        return DataFrame(rows, columns=columns).set_index(["query_id", "run"])


def make_result(compared: Comparison) -> ComparisonResult:
    """Return the result of a comparison for the Python API."""
    return ComparisonResult(compared, report(compared))


def render_differences(compared: Comparison) -> str:
    """Return all differences as CSV: `base`, `other`, `measure`, `type`, and the figures.

    Differences over all queries come first, with an empty `type`; undefined figures are empty.
    """
    pairs = list(zip(compared.names, compared.pairs, strict=True))
    over_all = [(names, item, "") for names, pair in pairs for item in pair.differences]
    of_types = [(names, item, item.type) for names, pair in pairs for item in pair.by_type]
    rows: list[list[Any]] = [["base", "other", "measure", "type", *FIGURES]]
    for names, item, kind in (*over_all, *of_types):
        rows.append([*names, item.measure, kind, *_list_figures(item)])
    return render_table(rows)


def _list_figures(item: Difference) -> list[Any]:
    both = item.simultaneous
    ends = (both.low, both.high) if both else (None, None)
    return [
        item.n,
        item.base,
        item.other,
        item.difference.value,
        item.difference.low,
        item.difference.high,
        *ends,
        item.reported_p,
        item.effect_size,
        item.detectable,
        item.wins,
        item.ties,
        item.losses,
        item.verdict,
    ]
