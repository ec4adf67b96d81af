"""`assay pool`: what must be judged before runs can be compared on equal terms."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import describe, print_json
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Option
from assay.eval.running.study_options import LARGEST, RunsOptions

if TYPE_CHECKING:
    from assay.eval.runs.stored import StoredRun
    from assay.eval.studies.judging.pooling import JudgmentPool


class PoolOptions(RunsOptions):
    """The options of `assay pool`: the runs, how much of them, and the table."""

    depth: int = Field(
        10, ge=1, le=LARGEST, description="Judge the first so many hits of every query."
    )
    limit: int | None = Field(
        None, ge=1, le=LARGEST, description="Write only so many pairs, the first."
    )
    output: Annotated[Path, Option(path="file")] = Field(
        Path("pool.csv"), description="The table to be filled in."
    )


@click.command()
@takes(PoolOptions)
@options.prints(
    {
        "...": "eval.studies.judging.pooling:JudgmentPool",
        "file": options.TEXT,
        "written": int,
        "depth": int,
    }
)
def pool(asked: PoolOptions, as_json: bool) -> None:
    """Write a table of pairs to judge: the first hits of RUNS that have no judgment.

    Each is a config, the id of a run, the beginning of one, or its folder, all on the same
    collection and judgments. The pairs that decide most between the runs come first, and nothing
    says which run returned them. Fill in the column grade; `assay label` then adds the judgments to
    the collection.

    With two runs or more it says whether judging the pairs could turn which run is better.
    """
    from assay.eval.collections.authoring.worksheet import render
    from assay.eval.progress import ConsoleProgress
    from assay.eval.running.run_references import resolve_all
    from assay.eval.studies.judging.pooling import make_pool
    from assay.retrievers.base import AssayError
    from assay.retrievers.store.files import write_atomically
    from assay.retrievers.store.locks import changing

    output, depth = asked.output, asked.depth

    def check_free() -> None:
        if output.exists():
            raise AssayError(
                f"{output}: is there already, and may hold grades; say --output with another name"
            )

    check_free()
    stored = resolve_all(asked.references, ConsoleProgress())
    made = make_pool(stored, depth)
    written = made.pairs[: asked.limit]
    if written:
        with changing(output):
            check_free()
            write_atomically(output, render(written, _collection(stored[0])))
    if as_json:
        about = {"file": str(output) if written else None, "written": len(written)}
        print_json({**describe(made), **about, "depth": depth})
    else:
        _print(made, depth, len(written), output)


def _collection(run: "StoredRun") -> str:
    """Return the name of the collection in the config, by which it is found again."""
    return str(run.manifest.config.get("dataset") or run.manifest.collection.name)


def _print(made: "JudgmentPool", depth: int, written: int, output: Path) -> None:
    from assay.eval.runs.summary.difference_bounds import describe_bounds

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
    if told := describe_bounds(made.measure, made.bounds):
        click.echo(told)
    what = "all" if written == len(made.pairs) else "the most informative"
    click.echo(f"{output}: {written} pairs ({what}); fill in grade, then: assay label {output}")
