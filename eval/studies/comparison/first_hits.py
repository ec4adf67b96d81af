"""The first hit of every query in every run, with its state: right, wrong, or not judged."""

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
    """The state, the document and the beginning of the text of a first hit; "" without a hit.

    A hit that no one has judged counts as wrong.
    """

    state: State
    document: str = ""
    text: str = ""

    @property
    def right(self) -> bool:
        """True if the hit counts as right."""
        return self.state == "right"


def find_first_hits(
    compared: Comparison, queries: Iterable[str] = ()
) -> dict[str, tuple[FirstHit, ...]]:
    """Return the first hit of each run, the base first, by query; of all queries by default."""
    asked = list(queries) or list(compared.base.run.queries)
    return {query: tuple(_find(run, query) for run in compared.runs) for query in asked}


def render_first_hits(compared: Comparison) -> str:
    """Return CSV with a row for each query: id, text, and state, document and text of each run."""
    heads = ("first", "document", "text")
    rows: list[Sequence[str]] = [
        ["query_id", "query", *(f"{label}: {head}" for label in compared.labels for head in heads)]
    ]
    for query, hits in find_first_hits(compared).items():
        told = [cell for hit in hits for cell in (hit.state, hit.document, hit.text)]
        rows.append([query, compared.base.run.queries[query].text, *told])
    return render_table(rows)


def _find(run: StoredRun, query: str) -> FirstHit:
    numbers = run.joined.list_numbers(query)
    if not numbers:
        return FirstHit("nothing found")
    chunk = run.lists.chunks[numbers[0]]
    judged = next((place.hit for place in run.joined.list_places(query) if not place.column), None)
    state: State = "not judged"
    if judged and judged.judged:
        state = "right" if judged.found else "wrong"
    return FirstHit(state, chunk.doc_id, shorten(chunk.text, EXCERPT))
