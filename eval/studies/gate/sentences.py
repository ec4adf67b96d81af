"""The sentences of the gate: each verdict, the effects on scores, the whole, and the rule."""

from collections.abc import Iterable
from typing import NamedTuple

from assay.eval.report.formats import count, percent
from assay.eval.scoring.measures import find
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.groups import count_signs
from assay.eval.statistics.max_t import find_smallest_p
from assay.eval.studies.comparison.differences import SYMMETRY
from assay.eval.studies.gate.attribution import Effect
from assay.eval.studies.gate.measure_verdicts import SUSPICION, MeasureVerdict, Verdict
from assay.eval.studies.gate.rebuild import Rebuild
from assay.eval.studies.gate.verdicts import GateVerdict, LatencyVerdict

# Words for 1 / n, the smallest share first; the first share that is not smaller is named.
FRACTIONS = {10: "a tenth", 9: "a ninth", 8: "an eighth", 7: "a seventh", 6: "a sixth",
             5: "a fifth", 4: "a quarter", 3: "a third", 2: "half"}  # fmt: skip
ROUNDING = 0.005

# The explanation of each effect, below their table.
EFFECTS = (
    "pipeline: today's against the baseline's, both on today's collection; that is the verdict. "
    "corpus: the baseline's pipeline on today's documents against the baseline's, on the queries "
    "and judgments that both have. judgments: its same rankings scored by both versions of the "
    "judgments."
)


class Check(NamedTuple):
    """The name of a thing judged, its verdict, and a sentence on it."""

    name: str
    verdict: Verdict
    sentence: str


def list_verdicts(report: GateVerdict) -> list[Check]:
    """Return a check for everything that was judged: measures, guarded queries, latency."""
    found: list[Check] = []
    for item in report.measures:
        falling = find(item.measure).sign < 0
        sentence = (
            f"{item.base:.3f} → {item.head:.3f}, difference {signed(item.difference)}, "
            f"adjusted p = {item.p:.4f}; a {'rise' if falling else 'drop'} of "
            f"{item.minimum_effect:g} matters"
        )
        if item.verdict == "pass":
            sentence += f"; {'rose' if falling else 'lost'} no more than {item.margin:.3f}"
        if item.verdict == "cannot tell":
            sentence += f"; one beyond the margin of {item.margin:.3f} is not excluded"
            if item.finds is not None:
                sentence += f", and one of {item.finds:.3f} would most likely have been found"
        if item.presumes_symmetry:
            sentence += f"; it {SYMMETRY}"
        found.append(Check(item.measure, item.verdict, sentence))
    broken = {item.query: item for item in report.broken}
    for query in report.guarded:
        lost = broken.get(query)
        sentence, verdict = _describe_kept(report.rebuild)
        if lost:
            verdict = "regression"
            measure = lost.measure
            sentence = f"{measure} {lost.base:.3f} → {lost.head:.3f}: {lost.text}"
        found.append(Check(f"query {query}", verdict, sentence))
    for timed in report.latency:
        sentence = (
            f"{timed.base:.2f} → {timed.head:.2f} ms, ratio {timed.ratio.value:.2f} "
            f"({timed.ratio.low:.2f} … {timed.ratio.high:.2f}), limit {timed.limit:g}"
        )
        if timed.busy:
            sentence += f"; {_refuse(timed)}"
        found.append(Check(f"latency p{timed.percentile}", timed.verdict, sentence))
    return found


def _describe_kept(rebuild: Rebuild | None) -> tuple[str, Verdict]:
    """Return the sentence on a guarded query that is not broken, and its verdict."""
    if rebuild is None:
        return "kept its score", "pass"
    if rebuild.scores is None:
        return "not judged: another build of the index may rank it otherwise", "cannot tell"
    return "kept its score in one of two builds of the index at least", "pass"


def list_effects(report: GateVerdict) -> list[Effect]:
    """Return the effects on scores of pipeline, corpus and judgments.

    The list is empty if the collection did not change, as only the pipeline has an effect then.
    """
    if report.collection is None:
        return []
    own = [Effect("pipeline", item.measure, item.difference) for item in report.measures]
    return [*own, *report.collection.effects]


def describe_collection(report: GateVerdict) -> list[str]:
    """Return sentences on the change of the collection, and on effects that are not known."""
    change = report.collection
    if change is None:
        return []
    ran = (
        "The pipeline did not, so that today's run is the baseline's pipeline too"
        if change.same
        else f"The baseline's pipeline was run on today's: {change.base.manifest.id}"
    )
    lines = [f"The collection changed since the baseline ({change.what}). {ran}."]
    return lines + ([f"{change.unknown}."] if change.unknown else [])


def signed(estimate: Estimate) -> str:
    """Return a difference with its interval."""
    return f"{estimate.value:+.3f} ({estimate.low:+.3f} … {estimate.high:+.3f})"


def _refuse(timed: LatencyVerdict) -> str:
    return f"the machine was busy ({timed.load.words} meanwhile): run it again on a quiet machine"


def announce(report: GateVerdict) -> str:
    """Return the verdict on the whole, in sentences that begin with it: `Pass: …`."""
    title = entitle(report.verdict, report.unnoticed)
    if report.verdict != "pass" or not report.unnoticed:
        return f"{title}: {conclude(report)}."
    return f"{title}: {limit(len(report.head.queries), report.unnoticed)} would go unnoticed."


def entitle(verdict: Verdict, unnoticed: float) -> str:
    """Return a verdict on the whole in a few words; `unnoticed` as in `find_unnoticed`."""
    return "Pass, but weak" if verdict == "pass" and unnoticed else verdict.capitalize()


def limit(queries: int, unnoticed: float) -> str:
    """Return the largest loss that this number of queries may not show, as a share of a mean."""
    parts = (words for n, words in FRACTIONS.items() if 1 / n >= unnoticed - ROUNDING)
    share = next(parts, f"{percent(unnoticed)}")
    return f"with {count(queries, 'question')} a loss of up to {share}"


def conclude(report: GateVerdict) -> str:
    """Return the reason for the verdict on the whole run, in a clause."""
    if report.verdict == "regression":
        return f"{_name_drops(report)}; look at what changed before you merge it"
    if report.verdict == "pass" and report.collection and report.collection.same:
        return "the pipeline did not change; what scores differ by is the collection's doing"
    if report.verdict == "pass":
        return f"lost no more than {_name_margins(report.measures)}"
    if report.verdict == "warning":
        told = f"chance gives one like it in up to {percent(SUSPICION)} of unchanged runs"
        if report.unnoticed:
            least = limit(len(report.head.queries), report.unnoticed)
            told += f"; {least} may get no more than a warning"
        return f"{_name_drops(report)}, but {told}"
    if report.unsettled:
        return report.unsettled.rstrip(".")
    doubtful = [item for item in report.measures if item.verdict == "cannot tell"]
    if doubtful:
        margins = _name_margins(doubtful)
        return f"no drop shown, but one beyond {margins} is not excluded; more queries would decide"
    busy = next((timed for timed in report.latency if timed.busy), None)
    if busy:
        return f"no drop of a measure, but latency cannot be judged: {_refuse(busy)}"
    return "no drop of a measure, but more queries or rounds are needed to judge latency"


def _name_margins(measures: Iterable[MeasureVerdict]) -> str:
    return ", ".join(f"{item.margin:.3f} in {item.measure}" for item in measures)


def _name_drops(report: GateVerdict) -> str:
    """Name the causes of the verdict on the whole: measures, queries that broke, latency."""
    found = [
        f"{item.measure} {'rose' if find(item.measure).sign < 0 else 'fell'} by "
        f"{abs(item.difference.value):.3f}"
        for item in report.measures
        if item.verdict == report.verdict
    ]
    if report.verdict == "regression" and report.broken:
        found.append(f"{count(len(report.broken), 'query', 'queries')} that must not break did")
    found += [
        f"latency p{timed.percentile} rose {timed.ratio.value:.2f} times"
        for timed in report.latency
        if timed.verdict == report.verdict
    ]
    return ", ".join(found)


def explain(report: GateVerdict) -> str:
    """Return the rule in short."""
    n, claims = len(report.head.queries), report.claims
    signs = n
    if claims.leading == "documents":
        signs = count_signs(claims.numbers, claims.sampling.share)
    effects = ", ".join(f"{item.minimum_effect:g} in {item.measure}" for item in report.measures)
    if falling := [item.measure for item in report.measures if find(item.measure).sign < 0]:
        effects += f"; a rise of {', '.join(falling)} counts as a drop"
    return (
        f"regression: the drop is at least the minimum effect ({effects}), and random signs, over "
        f"all gated measures together, make it unlikely (p of at most {report.false_alarms:g}). "
        f"warning: the same, p of at most {SUSPICION:g}; look at the queries that lost. pass: the "
        "interval excludes a drop beyond the margin, which follows from the number of queries and "
        "the baseline's scores. finds: the smallest drops found with power 0.8, as a little from "
        "all queries / however it comes about. p: of a drop, adjusted for all gated measures. "
        "95 %: the interval of one measure's difference by itself, not adjusted. "
        f"With n = {n} p is {find_smallest_p(signs):.2g} at best."
    )
