"""The first hit of every query in every run, and whether it was right."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.eval.collections.formats.cells import render_table
from assay.eval.report.formats import shorten
from assay.eval.runs.stored import StoredRun
from assay.eval.studies.comparison.comparison import Comparison

State = Literal["right", "wrong", "not judged", "nothing found"]
EXCERPT = 160  # characters of a passage


@dataclass(frozen=True, slots=True)
class FirstHit:
    """The document, the beginning of the text and the worth of a first hit, "" without one.

    A hit that no one has judged counts as wrong.
    """

    state: State
    document: str = ""
    text: str = ""

    @property
    def right(self) -> bool:
        """Whether it counts as right."""
        return self.state == "right"


def find_first_hits(
    compared: Comparison, queries: Iterable[str] = ()
) -> dict[str, tuple[FirstHit, ...]]:
    """Return by query the first hit of each run, the base first; without `queries` of all."""
    asked = list(queries) or list(compared.base.run.queries)
    return {query: tuple(_find(run, query) for run in compared.runs) for query in asked}


def render_first_hits(compared: Comparison) -> str:
    """Return a row a query as CSV: id, text, and of each run the state, document and text."""
    heads = ("first", "document", "text")
    rows: list[Sequence[str]] = [
        ["query_id", "query", *(f"{label}: {head}" for label in compared.labels for head in heads)]
    ]
    for query, hits in find_first_hits(compared).items():
        told = [cell for hit in hits for cell in (hit.state, hit.document, hit.text)]
        rows.append([query, compared.base.run.queries[query].text, *told])
    return render_table(rows)


def _find(run: StoredRun, query: str) -> FirstHit:
    hits = run.rankings[query].hits
    if not hits:
        return FirstHit("nothing found")
    joined = run.joined[query][0]
    chunk = hits[0].chunk
    state: State = "right" if joined.found else "wrong" if joined.judged else "not judged"
    return FirstHit(state, chunk.doc_id, shorten(chunk.text, EXCERPT))
