"""The report of a fitted threshold: the AUC of scores, and the share each threshold empties."""

from assay.eval.report.blocks import Column, Facts, Plot, Report, Table
from assay.eval.studies.threshold.running import FittedThreshold

SIGNALS = (
    Column("words", "Score"),
    Column("auc", "AUC", "score"),
)


def report(found: FittedThreshold) -> Report:
    """Return the report of a fitted threshold."""
    signal, chosen = found.signal, found.chosen
    trades = Table(
        "trades",
        "Share of queries for which nothing is returned",
        [
            Column("minimum", f"{signal.step} below", "number"),
            Column("falsely_empty", "Answered", "score"),
            Column("rightly_empty", "Unanswered", "score"),
        ],
        found.trades,
        note="Report the effect of the threshold on other queries than these. It is chosen by "
        "query, as if no two shared a document.",
        plot=Plot("falsely_empty", "whisker"),
    )
    signals = Table(
        "signals",
        "How well each score separates answered from unanswered queries",
        SIGNALS,
        found.answering.signals if found.answering else (),
        note="The area under the ROC curve: .5 is chance. Its interval is by query.",
        plot=Plot("auc", "whisker"),
    )
    stage = ", ".join(f"{key}: {value}" for key, value in found.stage.items())
    after = "after rerank" if signal.step == "rerank" else "where a threshold is possible"
    return Report(
        id=found.id,
        kind="threshold",
        title=found.run.manifest.name,
        subject=(
            f"on {found.run.manifest.collection.name}",
            f"{len(signal.answered)} answered",
            f"{len(signal.unanswered)} unanswered",
        ),
        verdict=[
            f"Return nothing where the {signal.kind} score of {signal.step} is below "
            f"{chosen.minimum:g}: "
            f"{100 * chosen.falsely_empty.value:.1f} % of the answered queries get no results"
        ],
        warnings=[]
        if found.answering
        else ["No query here is one that nothing answers: what it gains is not known."],
        blocks=[
            *([signals] if found.answering else []),
            trades,
            Facts("In a config", [(f"{after}, below retriever.stages", f"- {{{stage}}}")]),
        ],
        environment=found.environment,
    )
