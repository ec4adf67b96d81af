"""Which pipeline to ship for a collection."""

from assay.eval.report.blocks import Report
from assay.eval.running.study import Lab, Study, Written
from assay.eval.studies.choice.choice import Choice
from assay.eval.studies.choice.files import write_files
from assay.eval.studies.choice.options import ChoiceOptions
from assay.eval.studies.choice.report import report
from assay.eval.studies.choice.running import choose


def find(asked: ChoiceOptions, lab: Lab) -> Choice:
    """Find the pipeline to ship for COLLECTION, a name or a folder.

    Without COLLECTION: for the one that assay.toml names, by the first of its measures.

    Tries what its documents allow: each leg alone and both, contexts, chunk sizes, windows, exact
    look-ups, weights and kinds of fusion, and reranking where --max-latency allows it. Settings are
    chosen on one half of the questions. The best is then held against the config as given and
    against BM25 alone on the other half, which had no part in the choice. It is shipped only if it
    is shown to be better there; else the config is kept.

    With --provider and --max-cost-usd a language model writes contexts first, as `assay contexts`
    does, if their expected price is allowed; they are then among the candidates.

    Writes the pipeline to ship, a page of all that was tried, and a JSON file beside it. A call
    that was killed goes on where it was, from the cache.
    """
    return choose(asked.settle(lab.progress), lab.resources)


def write(found: Choice, told: Report, asked: ChoiceOptions, lab: Lab) -> Written:
    """Write the pipeline to ship, and beside it the report."""
    path = asked.output or lab.reports / "chosen" / f"{found.id}.yaml"
    named = asked.output is not None
    files, said = write_files(found, told, asked.config, path, named=named, force=asked.force)
    calls = [f"run {files[0]}", f"explain {files[0]}"]
    return Written({"output": files[0], "report": files[2]}, files, said, calls)


STUDY = Study("choose", ChoiceOptions, find, report, write=write)
