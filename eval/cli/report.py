"""`assay report`: the report of a stored run, computed anew from its files."""

import click


@click.command()
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def report(run: str, as_json: bool) -> None:
    """Compute measures, exports and report of RUN anew, without searching.

    RUN is the id of a run, the beginning of one, or its folder.
    """
    from eval import report as reports
    from eval import runs
    from eval.cli.console import print_json
    from eval.cli.places import reports_folder
    from eval.cli.table import print_summary
    from eval.exports import export
    from eval.summary import summarise

    stored = runs.load(runs.find(reports_folder(), run))
    summary = summarise(stored, stored.manifest.config["measures"])
    export(summary)
    page = reports.write(summary)
    if as_json:
        print_json({**summary.as_json(), "report": str(page)})
    else:
        print_summary(summary, page, tracked=None, reused=False)
