"""A study that chooses the pipeline to ship for a collection, or one for several."""

from pathlib import Path

from assay.eval.configs.held_out import suggest_look
from assay.eval.report.blocks import Report
from assay.eval.report.files import BESIDE, write_beside
from assay.eval.running.result_files import StoredResult, write_result
from assay.eval.running.study import Lab, Study, Written
from assay.eval.runs import environment
from assay.eval.studies.tuning.choice import Choice
from assay.eval.studies.tuning.choice_report import report
from assay.eval.studies.tuning.choosing import ChoiceOptions, choose
from assay.eval.studies.tuning.shared_choice import SharedChoice
from assay.eval.studies.tuning.tuned_config import render_changes

Found = Choice | SharedChoice


def find(asked: ChoiceOptions, lab: Lab) -> Found:
    """Find the pipeline to ship for COLLECTION, a name or a folder.

    Without COLLECTION: for the one that assay.toml names, by the first of its measures. With
    --dataset given more than once: one pipeline for all of these collections, and what to expect of
    it on a new one.

    Tries what its documents allow: each leg alone and both, contexts, chunk sizes, windows, exact
    look-ups, weights and kinds of fusion, and reranking where --max-latency allows it. Settings are
    chosen on one half of the questions. The best is then held against the config as given and
    against BM25 alone on the other half, which had no part in the choice. It is shipped only if it
    is shown to be better there; else the config is kept.

    What needs no new embedding is tried in any case; the budget is for the rest, and the report
    says what it left out. Contexts that `assay contexts` has written are among the candidates.

    Writes the pipeline to ship, a page of all that was tried, and a JSON file beside it. A call
    that was killed goes on where it was, from the cache.
    """
    return choose(asked.settle(lab.progress), lab.resources)


def write(found: Found, told: Report, asked: ChoiceOptions, lab: Lab) -> Written:
    """Write the pipeline to ship, and the report into the same folder."""
    path = asked.output or lab.reports / "chosen" / f"{found.id}.yaml"
    changes = {
        "name": f"{found.config.name}_chosen",
        "description": f"{found.conclusion.removesuffix('.')}, by: {environment.command_line()}",
    }
    text = render_changes(path, Path(asked.config), found.shipped.model_copy(update=changes))
    result = StoredResult("choose", found.asked, text)
    named = asked.output is not None
    path, said = write_result(path, result, BESIDE, named=named, force=asked.force)
    files = [path, *write_beside(found, told, path)]
    shared = isinstance(found, SharedChoice)
    on = f" --dataset {asked.datasets[0]}" if shared else ""
    look = [] if shared or not found.ships else suggest_look(str(asked.config), str(path))
    calls = [*look, f"run {path}{on}", f"explain {path}{on}"]
    return Written({"output": path, "report": files[2]}, files, said, calls)


STUDY: Study[ChoiceOptions, Found] = Study("choose", ChoiceOptions, find, report, write=write)
