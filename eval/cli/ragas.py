"""`assay ragas`: the metrics of ragas on stored runs, beside the measures of retrieval."""

from typing import TYPE_CHECKING, Any

import click

from assay.eval.cli import options
from assay.eval.cli.asking import print_asked, print_expected
from assay.eval.cli.output import present

if TYPE_CHECKING:
    from assay.eval.llm.asked_runs import AskedRuns
    from assay.eval.studies.ragas.results import RagasResult


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN... [KEY.PATH=VALUE]...")
@options.dataset("runs")
@click.option("--metrics", help="By ragas' names, separated by commas.  [default: all]")
@click.option(
    "-k", default=5, type=options.at_least(1), help="How many hits count.", show_default=True
)
@click.option("--answers", is_flag=True, help="Of `assay answer`, with the context of each.")
@click.option("--limit", type=options.at_least(1), help="Only so many queries, evenly spaced.")
@options.language_model(
    "these runs and this model",
    "Longest answer.  [default: 1024]",
    required=False,
    use="Also the metrics that ask a language model. ",
)
@options.DRY_RUN
@options.NO_TRACK
@options.FULL
@options.JSON
def ragas(
    runs: tuple[str, ...],
    metrics: str | None,
    k: int,
    answers: bool,
    limit: int | None,
    dry_run: bool,
    no_track: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Score runs with ragas, each metric beside the nearest measure.

    Each is a config (run where no equal run is stored; overrides apply to every config), the id of
    a run, the beginning of one, its folder, or the id of a run in MLflow. Without --provider no
    model is called. Replies of a model are kept: nothing is paid for twice. Keys come from
    ANTHROPIC_API_KEY and OPENAI_API_KEY alone. Needs the extra `ragas`.
    """
    from assay.eval.configs.resources import make_resources
    from assay.eval.running.run_references import resolve_all
    from assay.eval.studies.ragas.metrics import choose
    from assay.eval.studies.ragas.running import estimate, make_session, make_task, score

    names = options.split_names(metrics) if metrics else []
    chosen = choose(names, judge=bool(asked["provider"]), answers=answers)
    resources = make_resources()
    progress = resources.progress
    session = make_session(asked, resources, dry_run=dry_run)
    stored = resolve_all(runs, progress)
    task = make_task(stored, chosen, None if answers else k, limit)
    if session and dry_run:
        present(estimate(task, session), as_json, print_expected)
        return
    present(score(task, session, progress, track=not no_track), as_json, _print_scored)


def _print_scored(scored: "AskedRuns[RagasResult]") -> None:
    from assay.eval.studies.ragas.report import report

    print_asked(scored, report(scored), "scores")
