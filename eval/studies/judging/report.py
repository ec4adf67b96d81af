"""The report of a judging model: its agreement with people, and the order of the runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter, itemgetter

from assay.eval.llm.costs import account
from assay.eval.report.blocks import (
    Block,
    Column,
    Facts,
    Format,
    Plot,
    PlotKind,
    Prose,
    Report,
    Table,
    Tone,
)
from assay.eval.report.formats import count
from assay.eval.runs.json_form import in_json
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.judging.job import JudgingJob
from assay.eval.studies.judging.model_judge import LEAST_TAU, ModelJudge
from assay.eval.studies.judging.two_judges import MeanEstimates, RunPairAgreement, Systems
from assay.retrievers.services.ledger import CostLedger

RULE = (
    f"The model may be trusted to rank systems here where it reverses no pair of runs that people "
    f"separate (adjusted p at most {ALPHA:g}), they separate one at least, and the whole interval "
    f"of τ lies at or above {LEAST_TAU:g}; it must not be where it reverses one beyond chance, or "
    f"the whole interval lies below. {LEAST_TAU:g} is a convention. That interval is by query."
)
POWERED = (
    "Both: prediction-powered, which is valid whatever the model gets wrong, if the queries with "
    "people's grades were drawn by chance. λ says how far the model is relied on."
)
AGREEMENT = (
    Column("judges", "Judges", value=itemgetter(0)),
    Column("pairs", "Pairs", "count", lambda row: row[1].n),
    Column("same", "Same grade", "share", lambda row: row[1].same),
    Column("kappa", "κ", "score", lambda row: row[1].kappa),
    Column("weighted_kappa", "Weighted κ", "score", lambda row: row[1].weighted),
)


@in_json(
    "ungraded",
    "warnings",
    spread=("job",),
    graded_now="graded",
    asked="ledger.account",
    agreement="judge",
)
@dataclass(frozen=True)
class JudgedPool:
    """The grades that a model gave the pairs of a table, compared with people's.

    Attributes:
        job: The request.
        judge: The comparison with people's grades.
        graded: The number of grades given in this call.
        ungraded: The number of requests without a grade, by the reason.
        ledger: The cost of the calls.
        warnings: Warnings about models of one family.
        open: True if there are pairs that no person has judged.
    """

    job: JudgingJob
    judge: ModelJudge
    graded: int
    ungraded: Mapping[str, int]
    ledger: CostLedger
    warnings: Sequence[str]
    open: bool


def report(found: JudgedPool) -> Report:
    """Return the report of a model's grades compared with people's."""
    judge = found.judge
    ungraded = [(reason, f"{number} without a grade") for reason, number in found.ungraded.items()]
    return Report(
        id="",
        kind="judge",
        title=judge.judge,
        subject=[count(judge.graded, "pair") + " graded"],
        verdict=[f"For ranking systems: {judge.verdict}: {judge.reason}."],
        warnings=[*found.warnings, *_warn(judge)],
        blocks=[
            *_show_agreement(judge),
            *(_show_systems(judge.systems) if judge.systems else ()),
            Prose("When it may be trusted", RULE),
            *([Facts("Without a grade", ungraded)] if ungraded else []),
            *(
                Prose("How grades count", line, brief=True)
                for line in (*describe_scale(found.job), *_tell_decided(judge))
            ),
            *account(found.ledger),
        ],
    )


def describe_scale(job: JudgingJob) -> list[str]:
    """Return a line on the conversion of grades if the collection has fewer, else []."""
    scale = job.scale
    if scale.counted >= scale.asked:
        return []
    counted = ", ".join(f"{i} as {scale.count(i)}" for i in range(scale.asked + 1))
    return [f"grades count in this collection, whose highest is {scale.counted}: {counted}"]


def _tell_decided(found: ModelJudge) -> Iterator[str]:
    """Yield a line on the pairs that a third grade decided, if there are any."""
    if found.decided:
        yield (
            f"{count(found.decided, 'pair')} got one grade that is relevant and one that is not: a "
            "third, asked for with that said, decided"
        )


def _warn(found: ModelJudge) -> Iterator[str]:
    """Yield a warning that κ is uninformative, if a judge gave a single grade."""
    people = [sum(row) for row in found.confusion]
    model = [sum(column) for column in zip(*found.confusion, strict=True)]
    single = [
        f"{who} gave grade {shares.index(sum(shares))} to all pairs"
        for who, shares in (("People", people), ("The model", model))
        if found.agreement and sum(shares) in shares
    ]
    if single:
        yield (
            f"{' and '.join(single)}: then κ is 0 or unknown, however often the grades are the "
            "same. Judge pairs of other grades too."
        )


def _show_agreement(found: ModelJudge) -> Iterator[Block]:
    """Yield the agreement of the model with people and with itself, and the confusion matrix."""
    both = (("model and people", found.agreement), ("model and itself", found.again))
    if rows := [row for row in both if row[1]]:
        yield Table("agreement", "Agreement", AGREEMENT, rows)
    if found.agreement:
        columns = [
            Column("people", "People", value=lambda row: f"people {row[0]}"),
            *(
                Column(f"model_{grade}", f"Model {grade}", "count", partial(_find_share, grade))
                for grade in range(len(found.confusion))
            ),
        ]
        rows_ = list(enumerate(found.confusion))
        yield Table("confusion", "Pairs by grade", columns, rows_, shaded=True)


def _find_share(grade: int, row: tuple[int, Sequence[int]]) -> int:
    return row[1][grade]


def _show_systems(found: Systems) -> Iterator[Block]:
    """Yield the differences and means of the runs under either judge."""
    more = f", and {found.more} more with the model's alone" if found.more else ""
    over = f"{count(found.queries, 'query', 'queries')} with both judges' grades{more}."
    pairs = [
        Column("runs", "Runs", value=lambda pair: f"{pair.second} − {pair.first}"),
        Column("people", "By people", "difference"),
        Column("p_people", "p", "p"),
        Column("model", "By the model", "difference"),
        Column("p_model", "p (model)", "p"),
        Column("order", "Order", value=_tell_order, tone=_colour),
    ]
    title = f"{found.measure}: each two runs"
    yield Table("pairs", title, pairs, found.pairs, f"Over {over}")
    yield _show_means("means", found.measure, found.means, "whisker")
    title = f"{found.measure}: differences from the first run"
    yield _show_means("differences", title, found.differences, "difference")


def _show_means(key: str, title: str, rows: Sequence[MeanEstimates], kind: PlotKind) -> Table:
    shown: Format = "difference" if kind == "difference" else "score"
    columns = [
        Column("run", "Run"),
        Column("people", "People alone", shown),
        Column("model", "Model alone", shown),
        Column("powered", "Both", shown),
        Column("weight", "λ", "score", lambda row: row.powered and row.powered.weight, brief=False),
        *(
            Column(f"{who}_n", f"n ({who})", "count", attrgetter(f"{who}.n"), brief=False)
            for who in ("people", "model")
        ),
    ]
    return Table(key, title, columns, rows, POWERED, Plot("people", kind))


def _tell_order(pair: RunPairAgreement) -> str:
    return "reversed" if pair.reversed else "separated" if pair.separated else ""


def _colour(pair: RunPairAgreement) -> Tone:
    return "worse" if pair.reversed else "better" if pair.separated else ""
