"""`assay explain`: the step of a run at which each correct passage was lost."""

import shlex

from pydantic import Field

from assay.eval.report.blocks import Report
from assay.eval.running.run_references import resolve
from assay.eval.running.study import Lab, Study, Written
from assay.eval.running.study_options import LARGEST, RunOptions
from assay.eval.studies.explanation.finding import Explanation, explain
from assay.eval.studies.explanation.report import report


class ExplainOptions(RunOptions):
    """A run, and those of its queries to explain."""

    query: str | None = Field(
        None, description="The id of a query: show each of its correct passages."
    )
    k: int = Field(10, ge=1, le=LARGEST, description="How many hits count.")


def find(asked: ExplainOptions, lab: Lab) -> Explanation:
    """Show at which step correct passages were lost.

    RUN is a config (run where no equal run is stored; overrides change it), the id of a run, the
    beginning of one, or its folder. A stored run is not searched again.
    """
    return explain(resolve(asked.run, asked.changes, lab.progress), asked.k, asked.query)


def write(found: Explanation, _: Report, asked: ExplainOptions, __: Lab) -> Written:
    """Write no file; return the command that shows the query with the worst miss."""
    missed = "" if asked.query else found.worst_query
    named = found.run.manifest.id if asked.changes else asked.run
    return Written({}, next=[shlex.join(["explain", named, "--query", missed])] if missed else ())


STUDY = Study("explain", ExplainOptions, find, report, write=write, places=())
