"""`assay ragas`: the metrics of ragas on stored runs, beside the measures of retrieval."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from eval.experiments.llm_client import Estimator
    from eval.ragas.judging import Ask
    from eval.ragas.metrics import Metric
    from eval.ragas.results import Result
    from eval.ragas.samples import Sample
    from eval.runs.stored import StoredRun
    from retrievers.base import Progress
    from retrievers.language_models.answers import AnswerCache
    from retrievers.language_models.base import LanguageModel
    from retrievers.language_models.client import CallSettings
    from retrievers.language_models.ledger import Ledger
    from retrievers.language_models.prices import Prices
    from retrievers.settings import Workshop

LEDGERS = "ragas-ledger"
MAX_TOKENS = 1024  # a judge repeats each statement and gives its reasons


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN... [KEY.PATH=VALUE]...")
@click.option("--metrics", help="By ragas' names, separated by commas.  [default: all]")
@click.option(
    "-k", default=5, type=click.IntRange(min=1), help="How many hits count.", show_default=True
)
@click.option("--limit", type=click.IntRange(min=1), help="Only so many queries, evenly spaced.")
@click.option(
    "--provider",
    type=click.Choice(["anthropic", "openai", "local"]),
    help="Also the metrics that ask a language model. openai: or a compatible service.",
)
@click.option("--model", help="Default: a small one of the provider's.")
@click.option("--base-url", help="Address of a compatible service; keys are not part of it.")
@click.option(
    "--max-cost-usd", type=float, help="Budget of these runs and this model; never exceeded."
)
@click.option(
    "--prices",
    metavar="IN,WRITE,READ,OUT",
    help="US dollars per million tokens: prompt, written to and read from the cache, answer.",
)
@click.option("--concurrency", type=int, help="Calls at a time.  [default: 10]")
@click.option("--max-tokens", type=int, help=f"Longest answer.  [default: {MAX_TOKENS}]")
@click.option("--thinking-tokens", type=int, help="To think in before it; 0 is off.  [default: 0]")
@click.option("--timeout-seconds", type=float, help="Of one call.  [default: 60]")
@click.option("--dry-run", is_flag=True, help="Estimate tokens and cost; make no call.")
@click.option("--no-track", is_flag=True, help="Do not log to MLflow.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def ragas(
    runs: tuple[str, ...],
    metrics: str | None,
    k: int,
    limit: int | None,
    dry_run: bool,
    no_track: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Score runs with ragas, each metric beside the measure that comes nearest.

    Each is a config (run where no equal run is stored; overrides apply to every config), the id of
    a run, the beginning of one, its folder, or the id of a run in MLflow. Without --provider no
    model is asked. Answers of a model are kept: nothing is paid for twice. Keys come from
    ANTHROPIC_API_KEY and OPENAI_API_KEY alone. Needs the extra `ragas`.
    """
    from eval.cli import ragas_output
    from eval.cli.console import print_json
    from eval.experiments.run_references import resolve, split_overrides
    from eval.progress import ConsoleProgress
    from eval.ragas.metrics import choose
    from eval.ragas.samples import make_samples

    names = [name.strip() for name in metrics.split(",")] if metrics else []
    chosen = choose(names, judge=options["provider"] is not None)
    progress = ConsoleProgress()
    desk = make_desk(options, progress, dry_run=dry_run)
    references, overrides = split_overrides(runs)
    stored = [resolve(reference, overrides, progress) for reference in references]
    task = Task(chosen, k, [(run, make_samples(run, k, limit)) for run in stored])
    if desk and dry_run:
        expected = estimate(task, desk)
        if as_json:
            print_json(ragas_output.estimate_as_json(task, expected))
        else:
            ragas_output.print_estimate(task, expected)
        return
    results, ledger = score(task, desk, progress)
    tracked = [None if no_track else track(result, progress) for result in results]
    if as_json:
        print_json(ragas_output.results_as_json(results, tracked, ledger))
    else:
        ragas_output.print_results(results, tracked, ledger)


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked for: metrics over the first `k` hits of samples of runs."""

    metrics: "list[Metric]"
    k: int
    samples: "list[tuple[StoredRun, list[Sample]]]"


@dataclass(frozen=True, slots=True)
class Desk:
    """The language model that judges, and what is known of it."""

    model: "LanguageModel"
    settings: "CallSettings"
    prices: "Prices | None"
    library: "AnswerCache"
    workshop: "Workshop"

    def ledger(self, task: Task) -> "Ledger":
        """Return the ledger, not yet open, of all that this model is asked about these runs."""
        from retrievers.language_models.ledger import Ledger
        from retrievers.store.digest import digest

        runs = sorted(run.manifest.id for run, _ in task.samples)
        job = digest("ragas job", runs, self.model.identity)
        path = self.workshop.cache.root / LEDGERS / f"{job}.jsonl"
        return Ledger(path, self.prices, self.settings.max_cost_usd)


def make_desk(options: dict[str, Any], progress: "Progress", *, dry_run: bool) -> Desk | None:
    """Return the model that `options` name, None for none. Raises AssayError."""
    from eval.cli.contexts import read_settings
    from eval.experiments.locations import threads
    from retrievers.base import AssayError
    from retrievers.language_models.answers import AnswerCache
    from retrievers.language_models.client import find_prices
    from retrievers.settings import Workshop
    from retrievers.store.cache import Cache, default_root

    if options["provider"] is None:
        if wrong := [*_given(options), *(["dry_run"] if dry_run else [])]:
            raise AssayError(f"--{wrong[0].replace('_', '-')}: only with --provider")
        return None
    workshop = Workshop(Cache(default_root()), progress, threads())
    model, settings = read_settings({"max_tokens": MAX_TOKENS} | _given(options), workshop)
    prices = find_prices(model, settings)
    return Desk(model, settings, prices, AnswerCache(workshop.cache, model), workshop)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def estimate(task: Task, desk: Desk) -> "Estimator":
    """Return what the task would ask and what that should cost."""
    from eval.experiments.llm_client import Estimator
    from eval.ragas import judging
    from retrievers.base import Quiet

    estimator = Estimator(desk.model, desk.prices, desk.library)
    judged = [metric for metric in task.metrics if metric.judged]
    for _, samples in task.samples:
        judging.score(judged, samples, estimator, 1, Quiet())
    return estimator


def score(
    task: Task, desk: Desk | None, progress: "Progress"
) -> "tuple[list[Result], Ledger | None]":
    """Score all runs and write what was found; return it with the ledger of what was asked."""
    from eval.experiments.llm_client import Asker
    from eval.ragas import judging, plain, results
    from retrievers.base import AssayError

    by_text = [metric for metric in task.metrics if not metric.judged]
    judged = [metric for metric in task.metrics if metric.judged]
    found = []
    with ExitStack() as stack:
        ask: Ask | None = None
        ledger = None
        at_once = 1
        if desk and judged:
            ask = expected = estimate(task, desk)
            if expected.to_ask:
                ledger = stack.enter_context(desk.ledger(task))
                model = stack.enter_context(desk.model)
                ask = stack.enter_context(Asker(model, ledger, desk.settings, desk.library))
                wanted = desk.settings.concurrency
                at_once = min(wanted, model.calls_at_once or wanted)
        for run, samples in task.samples:
            scores = plain.score(by_text, samples, progress)
            if desk and ask:
                try:
                    scores += judging.score(judged, samples, ask, at_once, progress)
                except AssayError as error:
                    raise AssayError(
                        f"{error}; what was answered is kept: the same command goes on from there"
                    ) from None
            name = desk.model.name if desk and judged else ""
            found.append(results.make_result(run, task.k, len(samples), name, scores))
        for result in found:
            results.write(result)
    return found, ledger


def track(result: "Result", progress: "Progress") -> str | None:
    """Add the scores to the run's MLflow run; return its id, None where there is none."""
    from eval.ragas.results import FILE
    from eval.tracking import TrackingError
    from eval.tracking.ragas import log_ragas

    folder: Path = result.run.folder
    try:
        return log_ragas(result.run, result.found, folder / FILE)
    except TrackingError as error:
        progress.say(f"assay: {error}; the scores are kept in {folder / FILE}")
        return None
