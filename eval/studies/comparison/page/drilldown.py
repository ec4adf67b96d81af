"""Single queries in the base and in the other runs, as JSON values for the page.

Texts are stored once: those of gold items with the query, those of passages for the whole page.
"""

from collections.abc import Sequence
from typing import Any

from assay.eval.report.run_page.drilldown import (
    MOST_QUERIES,
    SHOWN_GOLD,
    count_shown,
    describe_answer,
    describe_gold,
    list_relevant,
)
from assay.eval.report.run_page.excerpts import GoldExcerpts, PassageTable
from assay.eval.runs.stored import StoredRun
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.first_hits import find_first_hits
from assay.eval.studies.comparison.page.scores import list_scores

MOST_GRID = 10_000  # queries with a row in the grid of first hits
WORTH = ("right", "wrong", "not judged", "nothing found")  # as the page's script numbers them
Span = tuple[str, int, int]
MOST_ANSWERS = 3000  # rankings in all drill-downs of a page: about ten megabytes


def collect(compared: Comparison) -> dict[str, Any]:
    """Return queries with their scores, and passages.

    The queries whose headline measure changes most have a drill-down: up to a thousand, fewer with
    many runs. `first` has, for each run's first hit, its state and its place in `firsts`.
    """
    runs = compared.runs
    changed = _most_changed(compared)
    chosen = changed[: min(MOST_QUERIES, MOST_ANSWERS // len(runs))]
    shown = find_first_hits(compared, changed[:MOST_GRID])
    firsts = dict.fromkeys((hit.document, hit.text) for hits in shown.values() for hit in hits)
    places = {first: i for i, first in enumerate(firsts)}
    table = PassageTable(sum(count_shown(run, chosen) for run in runs))
    libraries = [GoldExcerpts(run, table) for run in runs]
    detailed = set(chosen)
    queries = []
    for query in compared.base.run.queries.values():
        told: dict[str, Any] = {"id": query.id, "text": query.text, "type": query.type}
        told["scores"] = list_scores(compared, query.id)
        if query.id in shown:
            told["first"] = [
                [WORTH.index(hit.state), places[hit.document, hit.text]] for hit in shown[query.id]
            ]
        if query.id in detailed:
            told["detail"] = _detail(compared, query.id, libraries)
        queries.append(told)
    return {
        "depth": min(run.manifest.depth for run in runs),
        "queries": queries,
        "passages": table.passages,
        "firsts": list(firsts),
    }


def _most_changed(compared: Comparison) -> list[str]:
    measure = compared.pairs[0].headline.measure
    scores = [pair.scores(measure) for pair in compared.against_base]

    def change(query: str) -> float:
        return max(abs(found[query][1] - found[query][0]) for found in scores)

    return sorted(compared.base.run.queries, key=lambda query: -change(query))


def _detail(compared: Comparison, query: str, libraries: Sequence[GoldExcerpts]) -> dict[str, Any]:
    runs = compared.runs
    base = runs[0]
    relevant = list_relevant(base, query)
    answers = [
        describe_answer(run, query, relevant, library)
        for run, library in zip(runs, libraries, strict=True)
    ]
    marked: dict[int, list[str]] = {}
    spans = [_list_spans(run, query) for run in runs]
    # From the end, so that of a span that is there twice the first counts.
    ranks = [{span: len(listed) - i for i, span in enumerate(reversed(listed))} for listed in spans]
    for listed, answer in zip(spans, answers, strict=True):
        for span, told in zip(listed, answer["hits"], strict=False):
            marked |= {told["passage"]: told.pop("pieces")} if "pieces" in told else {}
            told["ranks"] = [found.get(span) for found in ranks]
    statuses = _statuses(compared, query)
    gold = []
    for item in relevant[:SHOWN_GOLD]:
        told = describe_gold(item, (), libraries[0])
        del told["rank"]
        gold.append({**told, "statuses": statuses[item.id]})
    return {
        "answers": answers,
        "marked": marked,
        "gold": gold,
        "more_gold": max(len(relevant) - SHOWN_GOLD, 0),
        "irrelevant": len(base.gold[query]) - len(relevant),
    }


def _statuses(compared: Comparison, query: str) -> dict[str, list[dict[str, str]]]:
    """Return the status of each gold item in each run, by the id of the item."""
    found: dict[str, list[dict[str, str]]] = {}
    for summary in compared.summaries:
        for item in summary.attribution.items[query]:
            told = {"status": item.status, "words": item.words}
            found.setdefault(item.item.id, []).append(told)
    return found


def _list_spans(run: StoredRun, query: str) -> list[Span]:
    """Return the spans of the hits of a query, which pipelines give different ids."""
    hits = map(run.lists.chunks.__getitem__, run.joined.list_numbers(query))
    return [(chunk.doc_id, chunk.start, chunk.end) for chunk in hits]
