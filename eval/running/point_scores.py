"""Scores of many runs over the same queries; each pattern of relevant hits is scored once."""

from collections.abc import Mapping, Sequence

from assay.eval.runs import generated_answers
from assay.eval.runs.stored import StoredRun
from assay.eval.scoring import measures
from assay.eval.scoring.calculation import Scores, count_tokens
from assay.eval.scoring.join import JoinedHit, RetrievedChunk, join
from assay.eval.scoring.kinds import Recall
from assay.eval.scoring.own import OwnMeasure
from assay.retrievers.base import Chunk, Hit

# Where gold stands among the hits of a query: rank, ids found, of each hit that is judged.
Pattern = tuple[tuple[int, tuple[str, ...]], ...]


class PointScores:
    """A scorer of runs in the measures `names`, identical to `generated_answers.score`.

    The runs are of one collection. Except for measures of the chunks themselves, a measure with a
    cutoff depends only on where the hits above it find gold, which is alike in most points of a
    sweep.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        found = list(map(measures.find, names))
        self._bounded = all(item.cutoff or item.budget for item in found)
        self._deepest = max((item.cutoff or 0 for item in found), default=0)
        self._budget = max((item.budget or 0 for item in found), default=0)
        counting = [
            item.name
            for item in found
            if item.budget or (isinstance(item, OwnMeasure) and not isinstance(item, Recall))
        ]
        self._counting = counting
        self._ranking = [item.name for item in found if item.name not in counting]
        self._known: dict[tuple[str, int, Pattern], Mapping[str, float]] = {}
        self._retrieved: dict[str, RetrievedChunk] = {}

    def score(self, run: StoredRun, names: Sequence[str]) -> Scores:
        """Return {measure: {query id: score}}; of other measures by `generated_answers.score`."""
        if not self._bounded or list(names) != self._names:
            return generated_answers.score(run, names)
        run.check_measures(names)
        joined = {
            query: join(self._take(run.rankings[query].hits, run), gold)
            for query, gold in run.gold.items()
        }
        keys = {
            query: (query, min(len(hits), self._deepest), _find_pattern(hits, self._deepest))
            for query, hits in joined.items()
        }
        fresh = [query for query, key in keys.items() if key not in self._known]
        made = measures.score(
            self._ranking,
            {query: joined[query] for query in fresh},
            {query: run.gold[query] for query in fresh},
        )
        for query in fresh:
            self._known[keys[query]] = {name: made[name][query] for name in self._ranking}
        scores = measures.score(self._counting, joined, run.gold)
        for name in self._ranking:
            scores[name] = {query: self._known[key][name] for query, key in keys.items()}
        return {name: scores[name] for name in (measures.find(name).name for name in self._names)}

    def _take(self, hits: Sequence[Hit], run: StoredRun) -> list[RetrievedChunk]:
        """Return the first hits that any of the measures looks at."""
        taken: list[RetrievedChunk] = []
        tokens = 0
        for hit in hits:
            if len(taken) >= self._deepest and tokens > self._budget:
                break
            tokens += count_tokens(hit.chunk) if self._budget else 1
            taken.append(self._wrap(hit.chunk, run))
        return taken

    def _wrap(self, chunk: Chunk, run: StoredRun) -> RetrievedChunk:
        known = self._retrieved.get(chunk.id)
        if known is None or (known.chunk is not chunk and known.chunk != chunk):
            known = RetrievedChunk(chunk, chunk.id in run.prescribed, chunk.doc_id in run.unwanted)
            self._retrieved[chunk.id] = known
        return known


def _find_pattern(hits: Sequence[JoinedHit], deepest: int) -> Pattern:
    return tuple(
        (rank, tuple(item.id for item in hit.found))
        for rank, hit in enumerate(hits[:deepest])
        if hit.judged
    )
