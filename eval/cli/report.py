"""`assay report`: the report of a stored run, computed again from its files."""

import click

from assay.eval.cli import options
from assay.eval.cli.output import present


@click.command()
@click.argument("run")
@options.FULL
@options.prints(options.RUN)
def report(run: str, as_json: bool) -> None:
    """Compute measures, exports and report of RUN again, without searching.

    RUN is the id of a run, the beginning of one, or its folder.
    """
    from assay.eval.cli.run import print_summary
    from assay.eval.configs.locations import reports_folder
    from assay.eval.running.run import write_report
    from assay.eval.runs import stored as runs

    summary, page = write_report(runs.load(runs.find(reports_folder(), run)), rerun=True)
    present(summary, as_json, print_summary, report=page)
