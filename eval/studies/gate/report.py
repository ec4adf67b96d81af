"""The report of the gate: the verdict, its figures, the changes, and the queries that lost."""

from collections.abc import Iterator

from assay.eval.report.blocks import Block, Column, Facts, Plot, Prose, Report, Table
from assay.eval.report.formats import count
from assay.eval.studies.comparison.differences import SYMMETRY
from assay.eval.studies.gate.columns import MEASURES, POWER, VERDICT
from assay.eval.studies.gate.query_changes import QueryChange
from assay.eval.studies.gate.sentences import (
    EFFECTS,
    announce,
    describe_collection,
    entitle,
    explain,
    list_effects,
    list_verdicts,
)
from assay.eval.studies.gate.verdicts import GateVerdict

MOST_LOSERS = 5  # on a terminal without --full
EFFECT = (
    Column("effect", "Effect of", value=lambda item: item.source),
    Column("measure", "Measure"),
    Column("difference", "Difference (95 %)", "difference"),
    Column("queries", "Queries", "count", lambda item: item.difference.n),
)
CHECKS = (Column("name", "What"), VERDICT, Column("sentence", "Why"))
QUERIES = (
    Column("query", "Query"),
    Column("type", "Type", brief=False),
    Column("measure", "Measure", brief=False),
    Column("base", "Baseline", "score"),
    Column("head", "Head", "score"),
    Column("text", "Text"),
)


def report(found: GateVerdict) -> Report:
    """Return the report of the gate. It has no times, so that equal runs have equal reports."""
    return Report(
        id="",
        kind="gate",
        title=f"Gate: {entitle(found.verdict, found.unnoticed)} ({found.baseline.label})",
        subject=(count(len(found.head.queries), "query", "queries"),),
        verdict=[announce(found), found.claim],
        warnings=list(_warn(found)),
        blocks=[
            Table("measures", "Measures", MEASURES, found.measures, plot=Plot("difference")),
            *_show_collection(found),
            *_show_checks(found),
            *_show_changes(found),
            Table("power", "Drops that would be found", POWER, found.measures, brief=False),
            *_show_queries("losers", "Queries that lost most", found.losers),
            Facts("Runs", _list_runs(found), brief=False),
            Prose("The rule", explain(found)),
        ],
    )


def _warn(found: GateVerdict) -> Iterator[str]:
    """Yield the warnings on limits of the verdict."""
    if found.rebuild:
        yield found.rebuild.words
    for item in found.measures:
        if item.presumes_symmetry:
            yield f"{item.measure}: the {item.verdict} {SYMMETRY}"
    if found.models:
        yield f"{found.models}."


def _show_collection(found: GateVerdict) -> Iterator[Block]:
    """Yield the effects of the change of the collection, and that of the pipeline."""
    if lines := describe_collection(found):
        yield Prose("Today's collection", " ".join(lines), brief=True)
        yield Table("effects", "What changed the scores", EFFECT, list_effects(found), EFFECTS)


def _show_checks(found: GateVerdict) -> Iterator[Block]:
    """Yield latency, and the guarded queries that broke or could not be judged."""
    checks = list_verdicts(found)[len(found.measures) :]
    if timed := checks[len(found.guarded) :]:
        yield Table("latency", "Latency", CHECKS, timed)
    if found.guarded:
        title, told = (
            "Queries that must not break",
            f"{len(found.broken)} of {len(found.guarded)} did",
        )
        yield Facts(title, [(title, told)])
    if doubted := [item for item in checks[: len(found.guarded)] if item.verdict != "pass"]:
        yield Table("guarded", "Broken, or not judged", CHECKS, doubted)
    yield from _show_queries("broken", "Queries that broke", found.broken, brief=False)


def _show_changes(found: GateVerdict) -> Iterator[Block]:
    if found.changes:
        pairs = [(key, text) for key, _, text in (i.partition(": ") for i in found.changes)]
        yield Facts("Changed since the baseline", pairs)


def _show_queries(
    key: str, title: str, rows: tuple[QueryChange, ...], *, brief: bool = True
) -> Iterator[Block]:
    if rows:
        yield Table(key, title, QUERIES, rows, brief=brief, most=MOST_LOSERS)


def _list_runs(found: GateVerdict) -> list[tuple[str, str]]:
    baseline, head = found.baseline, found.head.manifest
    created = head.created[:16].replace("T", " ")
    return [
        ("Baseline", f"run {baseline.run} of code {baseline.code[:12]}"),
        ("Head", f"run {head.id}, made {created} UTC"),
    ]
