"""The steps at which the correct passages of a run were lost, for all queries and for one."""

from dataclasses import dataclass

from assay.eval.collections.collection import Query
from assay.eval.report.formats import shorten
from assay.eval.running.cached_summaries import attribute_cached, open_memo
from assay.eval.runs.json_form import in_json, maybe, shape
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.attribution import Attribution, ItemStatus
from assay.eval.runs.summary.wrong_documents import WrongDocuments, find_wrong_documents
from assay.retrievers.base import AssayError

EXCERPT = 300  # characters of a gold item


@in_json(
    spread=("attribution",),
    run="run.manifest.id",
    wrong_documents="wrong",
    query=maybe(
        shape(
            "shown",
            id="0.id",
            text="0.text",
            type="0.type",
            items=shape("1", spread=("0",), words="0.words", excerpt="1"),
        )
    ),
)
@dataclass(frozen=True)
class Explanation:
    """The status of each correct passage of a run; `query` is the query to show, or None."""

    run: StoredRun
    attribution: Attribution
    wrong: WrongDocuments | None
    query: str | None

    @property
    def worst_query(self) -> str:
        """The query that missed the highest grade, of several that with fewest passages, or ""."""
        items = self.attribution.items
        grades = {
            query: max(missed)
            for query, found in items.items()
            if (missed := [item.item.grade for item in found if item.status != "found"])
        }
        return min(grades, key=lambda i: (-grades[i], len(items[i]), i), default="")

    def excerpt(self, item: ItemStatus) -> str:
        """Return the beginning of a passage."""
        return shorten(self.run.gold_texts[item.item.id], EXCERPT)

    @property
    def shown(self) -> tuple[Query, list[tuple[ItemStatus, str]]] | None:
        """The query to show, with its correct passages and their beginnings; None without one."""
        if self.query is None:
            return None
        items = self.attribution.items[self.query]
        return self.run.queries[self.query], [(item, self.excerpt(item)) for item in items]


def explain(run: StoredRun, k: int, query: str | None) -> Explanation:
    """Find the step at which each correct passage missing from the first `k` hits was lost.

    Raises AssayError if the run does not have `query`.
    """
    if query is not None and query not in run.queries:
        some = ", ".join(list(run.queries)[:5])
        raise AssayError(f"--query {query}: not in {run.manifest.id}, which has {some}, …")
    memo = open_memo(run)
    attribution = attribute_cached(run, memo, k)
    wrong = memo.find(
        f"wrong documents to {k}",
        WrongDocuments | None,
        lambda: find_wrong_documents(run, attribution),
    )
    return Explanation(run, attribution, wrong, query)
