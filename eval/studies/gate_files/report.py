"""The gate's report on two files: the verdict, its figures, and the queries that lost most."""

from assay.eval.report.blocks import Column, Plot, Report, Table
from assay.eval.report.formats import count
from assay.eval.studies.gate.columns import MEASURES, POWER
from assay.eval.studies.gate.sentences import entitle, limit
from assay.eval.studies.gate_files.judging import FilesVerdict

MOST_LOSERS = 5  # on a terminal without --full
LOSERS = (
    Column("query", "Query"),
    Column("measure", "Measure"),
    Column("base", "Baseline", "score"),
    Column("head", "Head", "score"),
)


def report(found: FilesVerdict) -> Report:
    """Return the report of a verdict on two files."""
    power = [item for item in found.measures if item.finds is not None]
    return Report(
        id="",
        kind="gate",
        title=f"Gate: {entitle(found.verdict, found.unnoticed)} ({found.run.name})",
        subject=(count(found.queries, "query", "queries"), f"baseline {found.baseline}"),
        verdict=[announce(found), found.claims.sentence],
        warnings=list(found.notes),
        blocks=[
            Table("measures", "Measures", MEASURES, found.measures, plot=Plot("difference")),
            *(
                [Table("power", "Drops that would be found", POWER, power, brief=False)]
                * bool(power)
            ),
            Table("losers", "Queries that lost most", LOSERS, found.losers, most=MOST_LOSERS),
        ],
    )


def announce(found: FilesVerdict) -> str:
    """Return the verdict in a sentence that begins with it."""
    title = entitle(found.verdict, found.unnoticed)
    least = limit(found.queries, found.unnoticed)
    if found.verdict == "pass" and found.unnoticed:
        return f"{title}: {least} would go unnoticed."
    of = [item for item in found.measures if item.verdict == found.verdict]
    if found.verdict in ("regression", "warning"):
        drops = ", ".join(f"{item.measure} fell by {-item.difference.value:.3f}" for item in of)
        weak = found.verdict == "warning" and found.unnoticed
        return f"{title}: {drops}{f'; {least} may get no more than a warning' * bool(weak)}."
    if found.verdict == "cannot tell":
        margins = ", ".join(f"{item.margin:.3f} in {item.measure}" for item in of)
        return (
            f"{title}: no drop shown, but one beyond {margins} is not excluded; more queries would "
            "decide."
        )
    margins = ", ".join(f"{item.margin:.3f} in {item.measure}" for item in of)
    return f"{title}: lost no more than {margins}."
