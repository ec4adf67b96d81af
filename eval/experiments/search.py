"""One query on the collection of a config: what is found, and what every step did."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from eval.collections.collection import Query
from eval.collections.loading import load
from eval.experiments.config import RunConfig
from eval.experiments.workshop import make_workshop
from eval.runs import execution
from retrievers.base import Hit, Ranking, StageTrace
from retrievers.pipeline import PipelineSettings
from retrievers.stages.context import assemble


class Step(NamedTuple):
    """A step of the search, and the number of candidates it was given and put out.

    Legs are given none, and what happens to the query has to do with none.
    """

    trace: StageTrace
    came_in: int | None
    went_out: int | None


@dataclass(frozen=True)
class Found:
    """What a search found; `k` of its hits are to be shown. `context` is None if not asked for."""

    pipeline: str
    collection: str
    query: str
    ranking: Ranking
    k: int
    context: str | None

    @property
    def shown(self) -> list[tuple[int, Hit]]:
        """The hits to be shown, each with its rank."""
        return list(enumerate(self.ranking.hits[: self.k], start=1))

    def steps(self) -> Iterator[Step]:
        """Yield the steps of the search in order."""
        found: set[str] = set()
        for step in self.ranking.trace:
            ids = {id_ for id_, _ in step.candidates}
            if step.kind == "query":
                yield Step(step, None, None)
                continue
            yield Step(step, None if step.kind == "leg" else len(found), len(ids))
            found = found | ids if step.kind == "leg" else ids

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            "config": self.pipeline,
            "collection": self.collection,
            "query": self.query,
            "found": len(self.ranking.hits),
            "hits": [_describe(rank, hit) for rank, hit in self.shown],
            "trace": [
                {
                    "name": step.name,
                    "kind": step.kind,
                    "milliseconds": step.milliseconds,
                    "in": came_in,
                    "out": went_out,
                    "note": step.note,
                    "counts": dict(step.counts),
                }
                for step, came_in, went_out in self.steps()
            ],
            "degraded": list(self.ranking.degraded),
            "context": self.context,
        }


def search(settings: RunConfig, query: str, k: int, context: bool) -> Found:
    """Search the collection of `settings` for `query`, twice, and return the second search.

    By then models are loaded; no answer comes from a cache. With `context` it holds what a prompt
    would get: what the stage `context` keeps, or without that stage the first `k` hits.
    """
    collection = load(settings.dataset)
    with settings.build(make_workshop()) as retriever:
        execution.index(retriever, collection)
        asked = Query(repr(query), query)
        execution.search(retriever, collection, asked, 1)
        uncached = retriever.without_query_cache()
        ranking = execution.search(uncached, collection, asked, max(k, settings.depth))
    recipe = settings.retriever
    stages = recipe.stages if isinstance(recipe, PipelineSettings) else []
    budgeted = any(stage.type == "context" for stage in stages)
    assembled = assemble(ranking.hits if budgeted else ranking.hits[:k]) if context else None
    return Found(settings.name, collection.name, query, ranking, k, assembled)


def _describe(rank: int, hit: Hit) -> dict[str, Any]:
    chunk = hit.chunk
    return {
        "rank": rank,
        "id": chunk.id,
        "doc_id": chunk.doc_id,
        "start": chunk.start,
        "end": chunk.end,
        "title": chunk.title,
        "headings": list(chunk.headings),
        "score": hit.score,
        "legs": {
            name: {"rank": placed.rank, "score": placed.score} for name, placed in hit.legs.items()
        },
        "text": chunk.text,
        "definitions": {item.term: item.text for item in hit.definitions},
    }
