"""`assay ui`: one page on all contents of the folder of reports."""

import click

from assay.eval.cli import options
from assay.eval.cli.output import open_browser, print_json, print_places


@click.command()
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@options.prints(page=str, runs=int)
def ui(no_browser: bool, as_json: bool) -> None:
    """Open the page of all runs and reports: index.html in the folder of reports.

    It needs neither network nor server, and each command that stores a report writes it again. Runs
    that have no page of their own yet, such as those made to be compared, get one.
    """
    from assay.eval.configs.locations import reports_folder
    from assay.eval.progress import ConsoleProgress
    from assay.eval.studies.run.findings import list_findings
    from assay.eval.studies.run.overview import write_overview, write_pages
    from assay.eval.studies.run.run_list import list_runs
    from assay.retrievers.base import AssayError

    reports = reports_folder()
    rows = list_runs(reports, scored=False)
    if not rows and not list_findings(reports):
        raise AssayError(f"{reports}: no stored runs here; `assay run CONFIG` makes one")
    write_pages(rows, ConsoleProgress())
    page = write_overview(reports)
    if as_json:
        print_json({"page": str(page), "runs": len(rows)})
    else:
        print_places(page=page)
    if not no_browser:
        open_browser(str(page.absolute()))
