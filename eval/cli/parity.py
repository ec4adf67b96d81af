"""`assay parity`: what an engine's hybrid search really is, and what it is worth."""

import sys
from pathlib import Path

import click

from eval.cli import options
from eval.cli.output import present


@click.command()
@click.argument("words", nargs=-1, metavar="[ENGINE] [COLLECTION]... [KEY=VALUE]...")
@click.option("--all", "every", is_flag=True, help="Every engine that runs here.")
@options.LIMIT
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="With --all: the folder of engines.md and engines.json.  [default: the reports]",
)
@options.NO_TRACK
@options.JSON
def parity(
    words: tuple[str, ...],
    every: bool,
    limit: int | None,
    output: Path | None,
    no_track: bool,
    as_json: bool,
) -> None:
    """Compare an engine's hybrid search with its stated formula, and with our fusion.

    ENGINE is a type such as qdrant-edge, COLLECTION one of datasets/, KEY=VALUE changes a setting
    of the engine, as in k=2 fusion=dbsf depth.dense=20 exact=false. The engine's two lists are
    fetched apart and fused by the formula that it states: what it returns is identical, identical
    but for ties, explained by one thing changed, or different. Then quality and latency of its
    lists, its own fusion, and ours (reciprocal ranks, k = 60) of the same lists.

    With --all there is no ENGINE: every engine that runs here is looked at as it is by default,
    and with each other fusion that it has, on each COLLECTION. Those that lack an extra or a
    server's address are left out with a line.

    Exit code: 0 done, whatever the verdicts; 1 with --all, where an engine failed; 2 for what is
    to be mended.
    """
    from eval.cli.parity_output import print_all, print_one
    from eval.experiments.parity import deliver, examine_all, read_request
    from eval.experiments.workshop import make_workshop
    from retrievers.base import AssayError

    request = read_request(words, every)
    if output and not every:
        raise AssayError("--output: goes with --all")
    workshop = make_workshop()
    found = list(examine_all(request, limit, workshop))
    delivered = deliver(found, every, output, not no_track, workshop.progress)
    present(delivered, as_json, print_all if every else print_one)
    if any(item.failed for item in delivered.absent):
        sys.exit(1)
