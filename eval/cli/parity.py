"""`assay parity`: what an engine's hybrid search really is, and what it is worth."""

import sys
from pathlib import Path

import click

from assay.eval.cli import options
from assay.eval.cli.output import present


@click.command()
@click.argument("words", nargs=-1, metavar="[ENGINE] [COLLECTION]... [KEY=VALUE]...")
@click.option("--all", "every", is_flag=True, help="Every engine that runs here.")
@click.option("--fusions", is_flag=True, help="What every fusion that an engine offers is worth.")
@click.option(
    "--engine",
    "only",
    multiple=True,
    metavar="NAME",
    help="With --all: this engine alone; the page keeps what it has of others. Repeatable.",
)
@click.option(
    "--missing", is_flag=True, help="With --all: only engines that the page does not have yet."
)
@options.LIMIT
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="With --all or --fusions: the folder of the page and its JSON.  [default: the reports]",
)
@options.NO_TRACK
@options.JSON
def parity(
    words: tuple[str, ...],
    every: bool,
    only: tuple[str, ...],
    fusions: bool,
    missing: bool,
    limit: int | None,
    output: Path | None,
    no_track: bool,
    as_json: bool,
) -> None:
    """Compare an engine's hybrid search with its stated formula, and with our fusion.

    ENGINE is a type such as qdrant-edge, COLLECTION one of datasets/, KEY=VALUE changes a setting
    of the engine, as in k=2 fusion=dbsf depth.dense=20 exact=false. The engine's two lists are
    fetched separately and fused by its stated formula. The verdict on what it returns: identical,
    identical but for ties, explained by one change, or different. Then quality and latency of its
    lists, its own fusion, and ours (reciprocal ranks, k = 60) of the same lists.

    With --all there is no ENGINE: every engine that runs here is measured with its default fusion
    and with each other fusion that it has, on each COLLECTION. Engines that lack an extra or a
    server's address are left out with a line. With --engine only those named are measured; the page
    keeps the others. The page is written after each engine; --missing resumes an interrupted call,
    and skips engines that the page has for the same queries and vectors.

    With --fusions there is no ENGINE either: every fusion that an engine offers is compared with
    the config hybrid, our RRF, and the better list alone, all of the same two lists. Where an
    engine does not run here, its stated formula is used. Nothing is timed.

    Exit code: 0 done, whatever the verdicts; 1 with --all, where an engine failed; 2 for an error
    to fix.
    """
    from assay.eval.cli.parity_output import print_all, print_fusions, print_one
    from assay.eval.configs.locations import reports_folder
    from assay.eval.configs.resources import make_resources
    from assay.eval.studies.stores.parity.fusion_runs import compare_offers
    from assay.eval.studies.stores.parity.fusions_page import write
    from assay.eval.studies.stores.parity.running import deliver, examine_all, read_request
    from assay.retrievers.base import AssayError

    resources = make_resources()
    if fusions:
        for option, given in (("--all", every), ("--engine", only), ("--missing", missing)):
            if given:
                raise AssayError(f"--fusions: not with {option}")
        found = compare_offers(words, limit, resources)
        places = write(found, output or reports_folder() / "fusions")
        present(found, as_json, print_fusions, page=places[0])
        return
    request = read_request(words, every, only, missing, output)
    parities = examine_all(request, limit, resources)
    delivered = deliver(parities, request, not no_track, resources.progress)
    present(delivered, as_json, print_all if every else print_one)
    if any(item.failed for item in delivered.absent):
        sys.exit(1)
