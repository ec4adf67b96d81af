"""Comparison of stored runs, with a base or all pairs, query by query."""

from collections.abc import Callable, Mapping, Sequence, Set
from itertools import chain

import numpy as np

from assay.eval.runs import generated_answers
from assay.eval.runs.execution.interleaved_timing import InterleavedTiming
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.comparability import (
    check_comparable,
    describe_unanswered,
    find_misfit,
    share_answered,
    share_queries,
)
from assay.eval.runs.summary.returned_tokens import TOKENS, WITHIN
from assay.eval.runs.summary.summary import Summary, summarise
from assay.eval.scoring.calculation import ByQuery
from assay.eval.scoring.kinds import Unwanted
from assay.eval.scoring.measures import add_unwanted, choose_headline, find, list_within
from assay.eval.statistics.groups import find_design_effect
from assay.eval.statistics.heterogeneity import compare_groups
from assay.eval.statistics.significance import ALPHA, can_reach
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.differences import (
    EFFECT,
    AdjustedDifference,
    Contrast,
    Difference,
    Grounds,
    judge_parts,
)
from assay.eval.studies.comparison.latency_pairs import pair_latencies
from assay.eval.studies.comparison.pair import Pair
from assay.retrievers.base import AssayError

DEFAULT = ("nDCG@10", "MRR@10", "Hit@1", "Hit@5", "Recall@20", WITHIN)
_Judged = tuple[list[list[AdjustedDifference]], list[list[Difference]], list[float | None]]

# Shown next to the measures; of these neither more nor less is better.
BESIDE = ("Judged@10", TOKENS)
# Added to `DEFAULT` if all runs have answers by one model and prompt; a family of their own.
OF_ANSWERS = ("AnswerF1", "QuoteShare", "CitationP", "CitationR", "Abstention")


def check_request(runs: int, measures: Sequence[str] | None, effect: float) -> None:
    """Check the number of runs, the measures and the effect. Raises AssayError."""
    if runs < 2:
        raise AssayError(
            f"a comparison needs two runs or more, and got {runs}; "
            "for instance: assay compare bm25 hybrid"
        )
    if measures and not any(find(name).is_ranked for name in measures):
        raise AssayError("a comparison needs a measure other than Judged and Tokens")
    if not 0 < effect <= 1:
        raise AssayError(f"effect: must lie above 0 and be at most 1, not {effect}")


def compare(
    runs: Sequence[StoredRun],
    measures: Sequence[str] | None = None,
    effect: float = EFFECT,
    timing: InterleavedTiming | None = None,
    apart: Sequence[str] | None = None,
    all_pairs: bool = False,
    summarise: Callable[[StoredRun, Sequence[str]], Summary] = summarise,
) -> Comparison:
    """Compare every run with the first, or all pairs of three or more runs.

    With all pairs, the runs are ranked by the mean of the headline measure, best first, and all
    pairs are one family (see `judge_stages`): the order does not affect which differences are
    shown.

    A difference that is not significant is "no difference shown" if the collection would have
    shown one of `effect` with power 0.8, else "not shown (too few queries)" (see `judge_family`).
    The same call returns the same figures. If some runs searched a sample, all are compared on the
    queries they share.

    Args:
        runs: The runs to compare.
        measures: The measures to test. By default those of `DEFAULT` that all runs are deep enough
            for; and, if one model has answered all queries of all runs by one prompt, those of
            `OF_ANSWERS` that all runs have, in a family of their own, so that answers change no
            p-value of the other measures.
        effect: The smallest difference that would matter.
        timing: The latencies of the pipelines that were timed in one job; without it latencies are
            not compared.
        apart: The measures that are a family of their own, if `measures` are given; measures of
            unwanted documents always are.
        all_pairs: If True, compare all pairs of three or more runs.
        summarise: Returns the figures of a run in some measures.

    Raises:
        AssayError: The runs were not judged alike; the message names the difference.

    """
    depth = min(run.manifest.depth for run in runs)
    if not measures:
        apart = _list_of_answers(runs)
        unwanted = min(run.manifest.collection.unwanted for run in runs)
        measures = (*add_unwanted(list_within(DEFAULT, depth), unwanted, depth), *apart)
    unanswered = describe_unanswered(runs) if apart is not None and not apart else ""
    check_request(len(runs), measures, effect)
    wanted = [find(name) for name in measures]
    tested = tuple(dict.fromkeys(item.name for item in wanted if item.is_ranked))
    # They change without the others: a pipeline may return other documents, and no more answers.
    own = [item.name for item in wanted if isinstance(item, Unwanted)]
    if own and len(own) < len(tested):
        apart = [*(apart or ()), *own]
    described = [item.name for item in wanted if not item.is_ranked]
    # At most at the depth of the runs.
    kept = [f"{name.partition('@')[0]}@{min(10, depth)}" for name in BESIDE]
    beside = (*(name for name in dict.fromkeys(described) if name not in kept), *kept)
    for i, run in enumerate(runs[1:], start=1):
        if run.manifest.id in {earlier.manifest.id for earlier in runs[:i]}:
            raise AssayError(f"{run.manifest.id} is given twice; a comparison needs different runs")
    searched = tuple(len(run.queries) for run in runs)
    runs = share_queries(runs)
    if any(item.of_answers for item in wanted):
        runs = share_answered(runs)
    for run in runs[1:]:
        check_comparable(runs[0], run)
    wanted_names = dict.fromkeys([*tested, *beside, WITHIN])
    summaries = [summarise(run, [*wanted_names]) for run in runs]
    headline = choose_headline(name for name in tested if name not in (apart or ()))
    all_pairs = all_pairs and len(runs) > 2
    if all_pairs:
        sign = find(headline).sign
        summaries.sort(key=lambda item: -sign * item.means[headline].value)
    bases = summaries[:-1] if all_pairs else summaries[:1]
    paired = [(base, other) for i, base in enumerate(bases) for other in summaries[i + 1 :]]
    contrasts = [contrast_measures(base, other, tested) for base, other in paired]
    typed = {id(item): split_types(item, headline) for item in summaries}
    of_types = [
        contrast_types(typed[id(base)], typed[id(other)], headline) for base, other in paired
    ]
    claims = Claims.of(summaries[0].run)
    judged, by_type, types_differ, beside_claim = _judge_claims(
        claims, contrasts, of_types, headline, effect, apart or ()
    )
    return Comparison(
        base=summaries[0],
        pairs=tuple(
            Pair(
                base,
                other,
                tuple(item.difference for item in over_all),
                tuple(types),
                pair_latencies(base.run, other.run, timing),
                {
                    item.difference.measure: item.alone
                    for item in over_all
                    if item.alone is not None
                },
                differ,
                opposite,
                _find_design_effect(pair, headline, claims),
            )
            for (base, other), pair, over_all, types, differ, opposite in zip(
                paired, contrasts, judged, by_type, types_differ, beside_claim, strict=True
            )
        ),
        claims=claims,
        measures=tested,
        beside=beside,
        effect=effect,
        searched=searched,
        timing=timing,
        apart=None if apart is None else tuple(apart),
        unanswered=unanswered,
        all_pairs=all_pairs,
    )


def _judge_claims(
    claims: Claims,
    contrasts: Sequence[Sequence[Contrast]],
    of_types: Sequence[Sequence[Contrast]],
    headline: str,
    effect: float,
    apart: Sequence[str],
) -> tuple[
    list[list[AdjustedDifference]], list[list[Difference]], list[float | None], list[Difference]
]:
    """Return by pair the differences by the leading claim, and the headline by the other claim.

    The first three values are those of `judge_stages` and `judge_types`.
    """

    def choose(found: list[list[AdjustedDifference]]) -> list[Difference]:
        return [
            next(item.difference for item in pair if item.difference.measure == headline)
            for pair in found
        ]

    def judge(grounds: Grounds | None, grounds_of_types: Grounds | None) -> _Judged:
        over_all = judge_stages(contrasts, effect, apart, grounds)
        gates = [item.adjusted or 0.0 for item in choose(over_all)]
        return over_all, *judge_types(of_types, effect, gates, grounds_of_types)

    by_question = judge(None, None)
    if claims.single:
        return *by_question, choose(by_question[0])
    over_all, types, _ = by_question
    grounds = Grounds(claims.sampling, _key(contrasts, over_all))
    if claims.leading == "documents":
        kept = [[AdjustedDifference(item, None) for item in pair] for pair in types]
        by_group = judge(grounds, Grounds(claims.sampling, _key(of_types, kept)))
        return *by_group, choose(over_all)
    leading = [[item for item in pair if item.measure == headline] for pair in contrasts]
    return *by_question, choose(judge_parts(leading, effect, grounds=grounds))


def _find_design_effect(pair: Sequence[Contrast], headline: str, claims: Claims) -> float:
    contrast = next(item for item in pair if item.measure == headline)
    groups = claims.sampling.number(list(contrast.before))
    return find_design_effect(contrast.differences, groups)


def _key(
    contrasts: Sequence[Sequence[Contrast]], judged: Sequence[Sequence[AdjustedDifference]]
) -> dict[int, AdjustedDifference]:
    """Return the difference of each contrast, by its `id()`."""
    return {
        id(item): found
        for pair, of_pair in zip(contrasts, judged, strict=True)
        for item, found in zip(pair, of_pair, strict=True)
    }


def _list_of_answers(runs: Sequence[StoredRun]) -> list[str]:
    """Return the measures of answers that are compared if no measures are named."""
    if find_misfit(runs):
        return []
    available = [generated_answers.list_available(run) for run in runs]
    return [name for name in OF_ANSWERS if all(name in names for names in available)]


def contrast_measures(base: Summary, other: Summary, tested: Sequence[str]) -> list[Contrast]:
    """Return the contrast of each measure, over all queries."""
    return [Contrast(name, "", base.scores[name], other.scores[name]) for name in tested]


def split_types(summary: Summary, name: str) -> dict[str, ByQuery]:
    """Return the scores of a measure by type of query."""
    scores = summary.scores[name]
    found: dict[str, ByQuery] = {}
    for id_, query in summary.run.queries.items():
        found.setdefault(query.type, {})[id_] = scores[id_]
    return {kind: found[kind] for kind in sorted(found) if kind}


def contrast_types(
    base: Mapping[str, ByQuery], other: Mapping[str, ByQuery], name: str
) -> list[Contrast]:
    """Return the contrast of a measure for each type of query."""
    return [Contrast(name, kind, scores, other[kind]) for kind, scores in base.items()]


def judge_stages(
    contrasts: Sequence[Sequence[Contrast]],
    effect: float,
    apart: Sequence[str],
    grounds: Grounds | None = None,
) -> list[list[AdjustedDifference]]:
    """Return the differences of each pair in every measure, in their order.

    The headline measure is tested first, over all pairs. The other measures are a family that is
    tested only for pairs whose headline is shown to differ. Measures in `apart` are a family of
    their own, tested for all pairs. `grounds` are those of `judge_parts`.
    """
    headline = choose_headline(item.measure for item in contrasts[0] if item.measure not in apart)
    first = judge_parts(_choose(contrasts, {headline}), effect, grounds=grounds)
    gates = [item.difference.adjusted or 0.0 for (item,) in first]
    others = {item.measure for item in contrasts[0]} - {headline, *apart}
    second = judge_parts(_choose(contrasts, others), effect, gates, grounds)
    own = judge_parts(_choose(contrasts, set(apart)), effect, grounds=grounds)
    found = []
    for pair, (leading,), *rest in zip(contrasts, first, second, own, strict=True):
        judged = {item.difference.measure: item for item in chain([leading], *rest)}
        for item in rest[0]:
            if item.alone is not None and leading.alone is not None:
                alone = max(item.alone, leading.alone)
                judged[item.difference.measure] = AdjustedDifference(item.difference, alone)
        found.append([judged[item.measure] for item in pair])
    return found


def judge_types(
    contrasts: Sequence[Sequence[Contrast]],
    effect: float,
    headlines: Sequence[float],
    grounds: Grounds | None = None,
) -> tuple[list[list[Difference]], list[float | None]]:
    """Return the differences of each pair by type of query, and p-values that its types differ.

    `headlines` are the p-values of the pairs' headline measure over all queries. Types are one
    family, tested for pairs whose headline is shown to differ, and for pairs whose types differ
    from one another. The p-value of the latter is adjusted for all pairs; None with fewer than two
    types, or too few queries. `grounds` are those of `judge_parts`.
    """
    unlike = _compare_types(contrasts, grounds)
    gates = [
        min(headline, 1.0 if p is None else p)
        for headline, p in zip(headlines, unlike, strict=True)
    ]
    judged = judge_parts(contrasts, effect, gates, grounds)
    return [[item.difference for item in part] for part in judged], unlike


def _compare_types(
    contrasts: Sequence[Sequence[Contrast]], grounds: Grounds | None
) -> list[float | None]:
    sizes = [len(item.differences) for item in contrasts[0]]
    queries = [query for item in contrasts[0] for query in item.before]
    numbers = grounds.sampling.number(queries) if grounds else None
    independent = sum(sizes) if numbers is None else len(np.unique(numbers))
    if len(sizes) < 2 or not can_reach(ALPHA, independent):
        return [None] * len(contrasts)
    columns = [np.concatenate([item.differences for item in pair]) for pair in contrasts]
    types = np.repeat(np.arange(len(sizes)), sizes)
    share = grounds.sampling.share if grounds else 0.0
    return list(compare_groups(np.array(columns).T, types, numbers, share))


def _choose(contrasts: Sequence[Sequence[Contrast]], measures: Set[str]) -> list[list[Contrast]]:
    return [[item for item in pair if item.measure in measures] for pair in contrasts]
