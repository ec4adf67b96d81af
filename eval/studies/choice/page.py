"""The files of a choice: the pipeline to ship, a page of what was tried, and all of it as JSON."""

from pathlib import Path
from typing import Any

from assay.eval.report.formats import Figure, count, figure, score, signed
from assay.eval.report.page import render_page
from assay.eval.report.provenance import describe_environment
from assay.eval.running.result_files import StoredResult, write_result
from assay.eval.runs import environment
from assay.eval.runs.files import encode_json
from assay.eval.studies.choice.choice import GIVEN, Choice, Trial
from assay.eval.studies.tuning.tuned_config import render_changes
from assay.retrievers.store.files import write_atomically

BESIDE = (".json", ".html")  # the suffixes of what is written beside the config


def write(
    choice: Choice, base: str, asked: str, path: Path, *, named: bool, force: bool
) -> tuple[list[Path], str]:
    """Write the pipeline to ship to `path`, and its page and JSON beside it.

    `asked` is the digest of what was asked. Return the paths, and what is to be said of what stood
    there: see `write_result`.
    """
    told = {
        "name": f"{choice.config.name}_chosen",
        "description": f"{choice.conclusion.removesuffix('.')}, by: {environment.command_line()}",
    }
    text = render_changes(path, Path(base), choice.shipped.model_copy(update=told))
    path, word = write_result(
        path, StoredResult("choose", asked, text), BESIDE, named=named, force=force
    )
    facts, page = (path.with_suffix(suffix) for suffix in BESIDE)
    write_atomically(facts, encode_json(choice.as_json()))
    write_atomically(page, _render(choice, path).encode())
    return [path, facts, page], word


def _render(choice: Choice, path: Path) -> str:
    values: dict[str, Any] = {
        "facts": (
            f"on {choice.config.dataset}",
            f"chosen on {count(choice.chosen_on, 'question')}",
            f"judged on {choice.judged} others",
        ),
        "measure": choice.measure,
        "conclusion": choice.conclusion,
        "latency": choice.describe_latency(),
        "judged": [_judge(choice, name) for name in ("best", "base", "bm25")],
        "judging": choice.judged,
        "grouped": "a document" if choice.grouped_by == "document" else "all words",
        "trials": [_row(item, item in choice.kept) for item in choice.trials],
        "config": path.name,
        "environment": describe_environment(environment.describe()),
        "command": environment.command_line(),
    }
    return render_page("studies/choice/templates/choice.html.j2", **values)


def _judge(choice: Choice, name: str) -> tuple[str, str, Figure | None]:
    """Return a pipeline in words, its mean, and by how much the best is beyond it."""
    base = choice.config.name
    words = {"best": f"{base}, {choice.best.words}", "base": f"{base}, as given"}
    found = choice.differences.get(name)
    lead = figure(found.interval, signed) if found else None
    return words.get(name, "BM25 alone"), score(choice.means[name]), lead


def _row(item: Trial, best: bool) -> tuple[str, str, str, bool]:
    shown = item.left_out if item.mean is None else score(item.mean)
    return item.stage, item.steps[-1] if item.steps else GIVEN, shown, best
