"""`assay pool`: what must be judged before runs can be compared on equal terms."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.eval.cli import options
from assay.eval.cli.output import print_json

if TYPE_CHECKING:
    from assay.eval.runs.stored import StoredRun
    from assay.eval.studies.judging.adjudication_priority import Decision
    from assay.eval.studies.judging.pooling import JudgmentPool


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN... [KEY.PATH=VALUE]...")
@options.dataset("runs")
@click.option(
    "--depth",
    type=options.at_least(1),
    default=10,
    show_default=True,
    help="Judge the first so many hits of every query.",
)
@click.option(
    "--decide",
    is_flag=True,
    help="Of two runs: order the pairs so that nDCG at the depth decides between them soonest.",
)
@click.option("--limit", type=options.at_least(1), help="Write only so many pairs, the first.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("pool.csv"),
    show_default=True,
    help="The table to be filled in.",
)
@options.JSON
def pool(
    runs: tuple[str, ...],
    depth: int,
    decide: bool,
    limit: int | None,
    output: Path,
    as_json: bool,
) -> None:
    """Write a table of pairs to judge: the first hits of RUNS that have no judgment.

    Each is a config, the id of a run, the beginning of one, its folder, or the id of a run in
    MLflow, all on the same collection and judgments. The pairs that can move the comparison most
    come first, and nothing says which run returned them. Fill in the column grade; `assay label`
    then adds the judgments to the collection.

    With --decide nothing is written once judging the rest would hardly change the verdict: judge
    some pairs (--limit), add them with `assay label`, and repeat until it says so.
    """
    from assay.eval.collections.authoring.worksheet import render
    from assay.eval.progress import ConsoleProgress
    from assay.eval.running.run_references import resolve_all
    from assay.eval.studies.judging.adjudication_priority import decide as decide_between
    from assay.eval.studies.judging.pooling import make_pool
    from assay.retrievers.base import AssayError
    from assay.retrievers.store.files import write_atomically
    from assay.retrievers.store.locks import changing

    def check_free() -> None:
        if output.exists():
            raise AssayError(
                f"{output}: is there already, and may hold grades; say --output with another name"
            )

    check_free()
    stored = resolve_all(runs, ConsoleProgress())
    decision = decide_between(stored, depth) if decide else None
    made = decision.pool if decision else make_pool(stored, depth)
    written = () if decision and decision.is_decided else made.pairs[:limit]
    if written:
        with changing(output):
            check_free()
            write_atomically(output, render(written, _collection(stored[0])))
    if as_json:
        told = {"decision": decision.as_json()} if decision else {}
        print_json(_describe(made, depth, len(written), output) | told)
    else:
        if decision:
            _print_decision(decision)
        _print(made, depth, len(written), output)


def _collection(run: "StoredRun") -> str:
    """Return what the config calls the collection, by which it is found again."""
    return str(run.manifest.config.get("dataset") or run.manifest.collection.name)


def _print_decision(decision: "Decision") -> None:
    click.echo(
        f"{decision.measure}, second minus first: {decision.difference:+.4f} with open pairs as "
        f"not relevant; {decision.low:+.4f} to {decision.high:+.4f} whatever they prove"
    )
    click.echo(
        f"verdict foretold: {decision.verdict}, in {100 * decision.chance:.0f} % of ways to judge "
        f"the {len(decision.pool.pairs)} open pairs by chance"
    )
    if decision.is_decided:
        click.echo("Decided: nothing is written; the rest is unlikely to change it.")


def _describe(made: "JudgmentPool", depth: int, written: int, output: Path) -> dict[str, Any]:
    return {
        "file": str(output) if written else None,
        "written": written,
        "pairs": len(made.pairs),
        "by_query": made.count_by_query(),
        "overlapping": made.overlapping,
        "depth": depth,
        "judged_before": {
            run: {"mean": share.value, "low": share.low, "high": share.high, "n": share.n}
            for run, share in made.judged.items()
        },
    }


def _print(made: "JudgmentPool", depth: int, written: int, output: Path) -> None:
    for run, share in made.judged.items():
        interval = f"95 % interval {100 * share.low:.1f} – {100 * share.high:.1f} %, n = {share.n}"
        click.echo(f"{run}: {100 * share.value:.1f} % of the first {depth} judged ({interval})")
    if not made.pairs:
        click.echo(f"Nothing to judge: all of the first {depth} hits are judged.")
    if not written:
        return
    counts = made.count_by_query().values()
    click.echo(
        f"{len(made.pairs)} pairs to judge, of {len(counts)} queries: {min(counts)} to "
        f"{max(counts)} a query, {len(made.pairs) / len(counts):.1f} on average"
    )
    if made.overlapping:
        click.echo(
            f"{made.overlapping} of them share half or more with another passage of their query; "
            "judge each by itself, since the longer may answer where the shorter does not"
        )
    what = "all" if written == len(made.pairs) else "the most informative"
    click.echo(f"{output}: {written} pairs ({what}); fill in grade, then: assay label {output}")
