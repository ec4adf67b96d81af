"""A study in which a language model grades a pool, and its grades are compared with people's."""

from collections import Counter

from assay.eval.llm.costs import Foretold, foretell
from assay.eval.llm.session import make_session
from assay.eval.report.blocks import Report
from assay.eval.report.files import write_beside
from assay.eval.running.study import Lab, Preview, Study, Written
from assay.eval.studies.judging.job import JobWarnings, JudgeOptions
from assay.eval.studies.judging.model_grades import warn_of_judge
from assay.eval.studies.judging.report import JudgedPool, describe_scale, report
from assay.eval.studies.judging.tables import Table, examine_grades, find_runs, open_table

MAX_TOKENS = 50
MAX_TOKENS_QUOTED = 500  # a reply that quotes


def preview(asked: JudgeOptions, lab: Lab) -> Preview | None:
    """Estimate the cost of grading."""
    if not asked.dry_run:
        return None
    table, warnings = _open(asked, lab)
    job = table.job
    head = (
        f"{job.judge}: {len(job.sheet.pairs)} pairs, {len(job.twice)} of them twice; "
        f"{len(job.known)} grades known, {len(job.pending)} to ask"
    )
    lines = [*(f"warning: {line}" for line in warnings), head, *describe_scale(job)]
    return foretell("grades", job.asking.count(), JobWarnings(job, warnings), lines)


def find(asked: JudgeOptions, lab: Lab) -> JudgedPool:
    """Grade the pairs of a table of `assay pool` with a language model, blind to runs and ranks.

    Its grades are kept next to the table, apart from people's. `assay label` adds them to the
    collection where no person has judged, marked as the model's. Given a COLLECTION, it grades the
    pairs that people have judged, and compares the grades: agreement is printed, and written beside
    the table as JSON, Markdown and a page. With RUNs (configs or stored runs) it reports whether
    the model ranks them as people's grades do. Replies are kept: an interrupted call resumes, and
    nothing is paid for twice. Keys come from ANTHROPIC_API_KEY and OPENAI_API_KEY alone.
    """
    table, warnings = _open(asked, lab)
    job = table.job
    # Load the runs before any paid call, so that their errors are reported first.
    runs = find_runs(table, asked.runs, asked.measure, lab.progress)
    replies = job.run()
    reasons = [reply for reply in replies if isinstance(reply, str)]
    return JudgedPool(
        job=job,
        judge=examine_grades(table, runs, asked.measure),
        graded=len(replies) - len(reasons),
        ungraded=dict(Counter(reasons).most_common()),
        ledger=job.asking.ledger,
        warnings=warnings,
        open=any(i not in table.people for i in job.sheet.by_digest),
    )


def _open(asked: JudgeOptions, lab: Lab) -> tuple[Table, list[str]]:
    """Return the table, and warnings about the judging model."""
    longest = MAX_TOKENS_QUOTED if asked.spans else MAX_TOKENS
    session = make_session(asked, "judge", longest, lab.resources, dry_run=asked.dry_run)
    return open_table(asked, session), warn_of_judge(session.model.name, asked.runs)


def write(found: JudgedPool, told: Report, _asked: JudgeOptions, _lab: Lab) -> Written:
    """Write the report into the folder of the table."""
    table = found.job.table
    facts, page, text = write_beside(found, told, table.with_name(f"{table.name}.model.md"))
    return Written(
        {"report": page},
        [facts, page, text],
        next=[f"label {table}"] if found.open else [],
    )


STUDY = Study(
    "judge",
    JudgeOptions,
    find,
    report,
    preview=preview,
    previewed={"...": (Foretold, JobWarnings)},
    write=write,
)
