"""A study that recomputes the measures of a run from its exported files."""

from dataclasses import dataclass
from typing import Any

from assay.eval.configs.named_configs import is_config
from assay.eval.report.blocks import Column, Report, Table
from assay.eval.running.run import export_summary
from assay.eval.running.run_references import resolve
from assay.eval.running.study import Lab, Study, Written
from assay.eval.running.study_options import RunOptions
from assay.eval.runs import stored
from assay.eval.scoring.measures import list_standard
from assay.eval.studies.run.verification import Check, verify


@dataclass(frozen=True)
class Verification:
    """The id of a run, and the check of each of its measures."""

    run: str
    checks: tuple[Check, ...]

    @property
    def differing(self) -> int:
        """The number of measures that differ from the files."""
        return sum(bool(check.differing) for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """Return the verification as JSON values."""
        found = {check.measure: check.as_json() for check in self.checks}
        return {"run": self.run, "measures": found, "ir_measures": list_standard(found)}


def find(asked: RunOptions, lab: Lab) -> Verification:
    """Recompute every measure of a run, query by query, from its exported files.

    RUN is a config (run where no equal run is stored; overrides change it), the id of a run, the
    beginning of one, or its folder. ir_measures recomputes what TREC files can hold from run.trec
    and qrels.trec; the others come from items.csv. Ends with 1 unless all are those of
    per_query.csv.
    """
    if asked.changes or is_config(asked.run):
        made = resolve(asked.run, asked.changes, lab.progress)
        folder = export_summary(made, rerun=True).run.folder
    else:
        folder = stored.find(lab.reports, asked.run)
    return Verification(folder.name, tuple(verify(folder)))


def report(found: Verification) -> Report:
    """Return the report of the verification, with a row per measure."""
    wrong = f"{found.differing} of {len(found.checks)} measures differ from the files"
    columns = [
        Column("measure", "Measure"),
        Column("told", "Reported", "precise"),
        Column("recomputed", "Recomputed", "precise"),
        Column("source", "From"),
        Column("verdict", "Verdict", tone=lambda check: "worse" if check.differing else ""),
    ]
    return Report(
        id="",
        kind="verification",
        title=found.run,
        verdict=[wrong if found.differing else "no measure differs from the files"],
        blocks=[Table("measures", "Measures", columns, found.checks)],
    )


STUDY = Study(
    "verify",
    RunOptions,
    find,
    report,
    write=lambda *_: Written({}),
    status=lambda found: 1 if found.differing else 0,
)
