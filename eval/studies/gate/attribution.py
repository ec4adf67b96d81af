"""The causes of a change in scores if the collection changed since the baseline.

There are three effects, each a mean of paired differences over queries:

* pipeline: today's pipeline minus the baseline's, both on today's collection. This is the verdict;
* corpus: the baseline's pipeline on today's documents minus the same on the baseline's documents,
  on the queries and judgments that both versions have, by the baseline's grades;
* judgments: the change in the scores of the same rankings of the baseline's pipeline: on the
  baseline's documents by the loss of the removed judgments, plus on today's documents by the gain
  of the added ones, each relative to the judgments that both versions have.

So on a query that both versions have, corpus and judgments add up to the whole change in the scores
of the baseline's pipeline.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.eval.runs.json_form import in_json, or_null
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
    """The change in a mean by pipeline, corpus or judgments, with its 95 % interval."""

    source: Source
    measure: str
    difference: Estimate


@in_json(
    "what",
    "effects",
    baseline_run="base.manifest.id",
    same_pipeline="same",
    untested=or_null("untested"),
    unknown=or_null("unknown"),
)
@dataclass(frozen=True)
class CollectionChange:
    """The changes of a collection since the baseline, and their effects on scores.

    Attributes:
        base: The run of the baseline's pipeline on today's collection.
        same: True if that is the run that is judged, since the config did not change and no other
            checkout was named.
        what: The changes of the collection, in words.
        untested: A sentence on code changes that this comparison cannot isolate; "" for none.
        effects: The effects of corpus and judgments.
        unknown: The reason why an effect is not known; "" if all are known.

    """

    base: StoredRun
    same: bool
    what: str
    untested: str
    effects: tuple[Effect, ...]
    unknown: str


def estimate_effects(
    before: Kept, base: StoredRun, names: Sequence[str]
) -> tuple[tuple[Effect, ...], str]:
    """Return the effects of corpus and judgments on the baseline's pipeline.

    Args:
        before: The rankings kept by the baseline.
        base: The run of the baseline's pipeline on today's collection.
        names: The gated measures.

    Returns:
        The effects, and the reason why some are not known; "" if all are known.
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
    """Return the changes of a collection: `queries: 1 added; judgments: 2 moved, 1 removed`.

    A judgment of a query moved if an equal text with its grade is at another place now.

    Args:
        before: The rankings kept by the baseline.
        after: The same of today's run.
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
    """Return the grade and the digest of the text, by query and item."""
    return {
        (query, gold.id): (gold.grade, gold.text)
        for query, item in kept.items()
        for gold in item.gold
    }


def _compare(before: Mapping[Any, object], after: Mapping[Any, object]) -> Counter[str]:
    """Return the numbers of keys added, removed and changed."""
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
