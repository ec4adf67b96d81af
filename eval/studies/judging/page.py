"""The report on a model that judges, as Markdown, and the words of its figures."""

from collections.abc import Iterator, Sequence

from assay.eval.report.markdown import render_markdown
from assay.eval.statistics.agreement import Agreement
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.judging.model_judge import LEAST_TAU, ModelJudge
from assay.eval.studies.judging.two_judges import MeanEstimates

AGREEMENT = ("judges", "pairs", "same grade", "κ", "weighted κ")
PAIRS = ("runs", "difference by people", "p", "by the model", "p (model)", "")
MEANS = ("run", "people alone", "model alone", "both (prediction-powered)", "λ")
RULE = (
    f"Rule: the model may be trusted to rank systems here where it reverses no pair of runs that "
    f"people separate (adjusted p at most {ALPHA:g}), they separate one at least, and the whole "
    f"interval of τ lies at or above {LEAST_TAU:g}; it must not be where it reverses one beyond "
    f"chance, or the whole interval lies below. {LEAST_TAU:g} is a convention."
)
POWERED = (
    "Prediction-powered figures are valid whatever the model gets wrong, if the queries with "
    "people's grades were drawn by chance."
)


def list_agreements(found: ModelJudge) -> list[tuple[str, ...]]:
    """Return the rows of agreement with people and with itself."""
    both = (("model and people", found.agreement), ("model and itself", found.again))
    return [(name, *_tell(agreement)) for name, agreement in both if agreement]


def explain_kappa(found: ModelJudge) -> str:
    """Return why κ tells nothing: a judge gave a single grade; "" where both gave more."""
    people = [sum(row) for row in found.confusion]
    model = [sum(column) for column in zip(*found.confusion, strict=True)]
    single = {
        who: shares.index(sum(shares))
        for who, shares in (("People", people), ("The model", model))
        if found.agreement and sum(shares) in shares
    }
    if not single:
        return ""
    told = " and ".join(f"{who} gave grade {grade} to all pairs" for who, grade in single.items())
    return (
        f"{told}: then κ is 0 or unknown, however often the grades are the same. Judge pairs of "
        "other grades too."
    )


def list_pairs(found: ModelJudge) -> list[tuple[str, ...]]:
    """Return a row for each pair of runs, under either judge."""
    return [
        (
            f"{pair.second} − {pair.first}",
            f"{pair.people:+.3f}",
            f"{pair.p_people:.3f}",
            f"{pair.model:+.3f}",
            f"{pair.p_model:.3f}",
            "reversed" if pair.reversed else "separated" if pair.separated else "",
        )
        for pair in (found.systems.pairs if found.systems else ())
    ]


def list_means(found: Sequence[MeanEstimates], *, signed: bool) -> list[tuple[str, ...]]:
    """Return a row for each mean or difference by the three ways."""
    return [
        (
            item.run,
            _figure(item.people, signed),
            _figure(item.model, signed),
            _figure(item.powered, signed) if item.powered else "–",
            f"{item.powered.weight:.2f}" if item.powered else "–",
        )
        for item in found
    ]


def list_means_tables(found: ModelJudge) -> Iterator[tuple[str, Sequence[MeanEstimates], bool]]:
    """Yield the title of each table of means, its figures, and whether they have a sign."""
    if systems := found.systems:
        yield systems.measure, systems.means, False
        yield f"{systems.measure}, differences from the first run", systems.differences, True


def list_confusion(found: ModelJudge) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the headings and rows of the confusion matrix."""
    grades = range(len(found.confusion))
    rows = [
        (f"people {grade}", *map(str, row))
        for grade, row in zip(grades, found.confusion, strict=True)
    ]
    return ("", *(f"model {grade}" for grade in grades)), rows


def render(found: ModelJudge) -> str:
    """Return the report as Markdown."""
    return render_markdown(
        "studies/judging/templates/model_judge.md.j2",
        found=found,
        rule=RULE,
        powered=POWERED,
        agreements=(AGREEMENT, list_agreements(found)),
        confusion=list_confusion(found),
        caution=explain_kappa(found),
        pairs=(PAIRS, list_pairs(found)),
        tables=[
            (title, MEANS, list_means(figures, signed=signed))
            for title, figures, signed in list_means_tables(found)
        ],
    )


def _tell(agreement: Agreement) -> tuple[str, ...]:
    kappas = (agreement.kappa, agreement.weighted)
    shown = ("–" if kappa is None else f"{kappa:.2f}" for kappa in kappas)
    return (str(agreement.n), f"{100 * agreement.same:.1f} %", *shown)


def _figure(estimate: Estimate, signed: bool) -> str:
    sign = "+" if signed else ""
    value, low, high = (f"{i:{sign}.3f}" for i in (estimate.value, estimate.low, estimate.high))
    return f"{value} ({low} to {high}, n = {estimate.n})"
