"""A study that chooses the score below which a pipeline should return nothing."""

from pathlib import Path

from pydantic import Field

from assay.eval.report.blocks import Column, Facts, Plot, Report, Table
from assay.eval.report.files import write_blocks
from assay.eval.running.study import Lab, Study, Written
from assay.eval.running.study_options import FORCE_HELP, ConfigOptions
from assay.eval.studies.threshold.running import FittedThreshold, fit


class ThresholdOptions(ConfigOptions):
    """A pipeline, the score to choose by, and the share of answers that may be lost."""

    of: str = Field("", description="`rerank` or a semantic leg.  [default: the first there is]")
    false_empty: float = Field(
        0.05,
        ge=0,
        lt=1,
        description="The share of answered queries that may be left without results.",
    )
    output: Path | None = Field(None, description="The config to write.")
    force: bool = Field(False, description=FORCE_HELP)


def find(asked: ThresholdOptions, lab: Lab) -> FittedThreshold:
    """Choose a score threshold below which CONFIG returns nothing, on its collection.

    It is the highest that leaves at most --false-empty of the answered queries without results.
    Unanswerable queries do not count for that. Where the collection has some, the command shows the
    share of them that gets no results, and how well each score of the pipeline separates them: the
    area under the ROC curve, .5 for chance. Report the effect of the threshold on other queries
    than these.
    """
    output = None if asked.force else asked.output
    return fit(asked.config, asked.changes, asked.of, asked.false_empty, lab.progress, output)


def write(found: FittedThreshold, told: Report, asked: ThresholdOptions, lab: Lab) -> Written:
    """Write the config with the threshold if a path is given, and the report."""
    said = found.write(asked.output, asked.force) if asked.output else ""
    page = write_blocks(found, told, lab.reports / told.id)
    return Written({"output": asked.output, "report": page}, said=said)


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


STUDY = Study("threshold", ThresholdOptions, find, report, write=write, places=("output", "report"))
