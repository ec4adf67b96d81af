"""`assay verify`: the measures of a run, recomputed from the files it was exported to."""

import sys

import click

from assay.eval.cli import options
from assay.eval.cli.output import make_console, make_table, print_json, print_table


@click.command()
@options.RUN
@options.OVERRIDES
@options.dataset("overrides")
@options.JSON
def verify(run: str, overrides: tuple[str, ...], as_json: bool) -> None:
    """Recompute every measure of a run, query by query, from its exported files.

    RUN is a config (run where no equal run is stored; overrides change it), the id of a run, the
    beginning of one, its folder, or its id in MLflow. ir_measures recomputes what TREC files can
    hold from run.trec and qrels.trec; the others come from items.csv. Ends with 1 unless all are
    those of per_query.csv.
    """
    from assay.eval.configs.locations import reports_folder
    from assay.eval.configs.named_configs import is_config
    from assay.eval.progress import ConsoleProgress
    from assay.eval.running.run import export_summary
    from assay.eval.running.run_references import find_stored, resolve
    from assay.eval.scoring.measures import list_standard
    from assay.eval.studies.run.verification import verify as recompute

    if overrides or is_config(run):
        folder = export_summary(resolve(run, overrides, ConsoleProgress()), rerun=True).run.folder
    else:
        folder = find_stored(reports_folder(), run)
    checks = recompute(folder)
    if as_json:
        found = {one.measure: one.as_json() for one in checks}
        print_json({"run": folder.name, "measures": found, "ir_measures": list_standard(found)})
    else:
        console = make_console()
        left = ("from", "verdict")
        table = make_table("measure", "reported", "recomputed", *left, left=left)
        for one in checks:
            recomputed = "–" if one.recomputed is None else f"{one.recomputed:.6f}"
            reported = f"{one.told:.6f}"
            table.add_row(one.measure, reported, recomputed, one.source, one.verdict)
        print_table(console, table)
    if any(one.differing for one in checks):
        sys.exit(1)
