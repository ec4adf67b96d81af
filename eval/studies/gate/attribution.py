"""Whose fault a change of scores is where a collection changed since the baseline.

Three effects, each a mean of paired differences over queries:

* pipeline: today's pipeline less the baseline's, both on today's collection. That is the verdict;
* corpus: the baseline's pipeline on today's documents less on those of the baseline, on the queries
  and judgments that both have, by the baseline's grades;
* judgments: what the same rankings of the baseline's pipeline score by both versions of the
  judgments: on the baseline's documents without those that went, and on today's with those that
  came, each less the score by the judgments that both have.

So on a query that both have, corpus and judgments together are all that the baseline's pipeline
scores otherwise today.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.means import estimate_changes
from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.gate.kept_rankings import (
    Kept,
    can_rescore,
    keep_rankings,
    list_common,
    pair_judgments,
    rescore,
)

Source = Literal["pipeline", "corpus", "judgments"]


@dataclass(frozen=True, slots=True)
class Effect:
    """By how much pipeline, corpus or judgments changed a mean, with its 95 % interval."""

    source: Source
    measure: str
    difference: Estimate


@dataclass(frozen=True)
class CollectionChange:
    """What changed of a collection since the baseline, and what that did to scores.

    `base` is the run of the baseline's pipeline on today's collection, and `same` says that it is
    the run judged, since config and code did not change. `untested` says, as a sentence, what of
    the pipeline changed that the runs do not tell apart; "" where nothing. `unknown` says why an
    effect is not known; "" where all are.
    """

    base: StoredRun
    same: bool
    what: str
    untested: str
    effects: tuple[Effect, ...]
    unknown: str

    def as_json(self) -> dict[str, Any]:
        """Return the change as JSON values."""
        return {
            "what": self.what,
            "baseline_run": self.base.manifest.id,
            "same_pipeline": self.same,
            "untested": self.untested or None,
            "effects": [asdict(item) for item in self.effects],
            "unknown": self.unknown or None,
        }


def estimate_effects(
    before: Kept, base: StoredRun, names: Sequence[str]
) -> tuple[tuple[Effect, ...], str]:
    """Return the effects of corpus and judgments on the baseline's pipeline.

    Args:
        before: What the baseline keeps.
        base: The baseline's pipeline on today's collection.
        names: The gated measures.

    Returns:
        The effects, and why some are not known, "" where all are.
    """
    after = keep_rankings(base)
    queries = list_common(before, after)
    pairs = {id_: pair_judgments(before[id_], after[id_]) for id_ in queries}
    scored = [name for name in names if can_rescore(name)]
    shared = {id_: [before[id_].gold[i].grade for i, _ in pairs[id_]] for id_ in queries}
    old = {id_: _grade((i for i, _ in pairs[id_]), shared[id_]) for id_ in queries}
    new = {id_: _grade((j for _, j in pairs[id_]), shared[id_]) for id_ in queries}
    on_old = rescore(before, old, scored)
    on_new = rescore(after, new, scored)
    all_old = rescore(before, {id_: _grade_all(before, id_) for id_ in queries}, scored)
    all_new = rescore(after, {id_: _grade_all(after, id_) for id_ in queries}, scored)
    judged = [id_ for id_ in queries if any(grade > 0 for grade in shared[id_])]
    claims = Claims.of(base)
    of_judged, of_all = claims.cluster(judged), claims.cluster(queries)
    effects: list[Effect] = []
    for name in scored:
        corpus = [on_new[id_][name] - on_old[id_][name] for id_ in judged]
        judgments = [
            (on_old[id_][name] - all_old[id_][name]) + (all_new[id_][name] - on_new[id_][name])
            for id_ in queries
        ]
        if corpus:
            effects.append(Effect("corpus", name, estimate_changes(name, corpus, of_judged)))
        effects.append(Effect("judgments", name, estimate_changes(name, judgments, of_all)))
    effects.sort(key=lambda item: item.source)
    unknown = []
    if not judged:
        unknown.append("no judgment of the baseline is left: the effect of the corpus is not known")
    if others := [name for name in names if name not in scored]:
        listed = ", ".join(others)
        unknown.append(f"{listed}: scored by texts or answers, which a baseline does not keep")
    return tuple(effects), "; ".join(unknown)


def describe_change(before: Kept, after: Kept) -> str:
    """Say what changed of a collection: `queries: 1 added; judgments: 2 moved, 1 removed`.

    A judgment of a query moved where an equal text with its grade stands at another place now.

    Args:
        before: What the baseline keeps.
        after: The same of today.
    """
    queries = _compare(
        {id_: item.query for id_, item in before.items()},
        {id_: item.query for id_, item in after.items()},
    )
    old, new = _list_judgments(before), _list_judgments(after)
    gone = Counter((query, old[query, id_]) for query, id_ in old.keys() - new.keys())
    come = Counter((query, new[query, id_]) for query, id_ in new.keys() - old.keys())
    moved = (gone & come).total()
    judgments = _compare(old, new) + Counter(moved=moved, added=-moved, removed=-moved)
    told = {"queries": queries, "judgments": judgments}
    words = (
        f"{what}: {', '.join(f'{number} {how}' for how, number in counted.items())}"
        for what, counted in told.items()
        if counted
    )
    return "; ".join(words) or "documents or options"


def _list_judgments(kept: Kept) -> dict[tuple[str, str], tuple[int, str]]:
    """Return grade and digest of the text by query and item."""
    return {
        (query, gold.id): (gold.grade, gold.text)
        for query, item in kept.items()
        for gold in item.gold
    }


def _compare(before: Mapping[Any, object], after: Mapping[Any, object]) -> Counter[str]:
    """Return how many are added, removed and changed."""
    both = before.keys() & after.keys()
    return +Counter(
        added=len(after.keys() - both),
        removed=len(before.keys() - both),
        changed=sum(before[key] != after[key] for key in both),
    )


def _grade(places: Iterable[int], grades: Sequence[int]) -> dict[int, int]:
    return dict(zip(places, grades, strict=True))


def _grade_all(kept: Kept, query: str) -> dict[int, int]:
    return {i: item.grade for i, item in enumerate(kept[query].gold)}
