"""The pictures of docs/mlflow.md: `python scripts/mlflow_pictures.py [PORT]`; needs playwright.

They are of the store that MLFLOW_TRACKING_URI names, once the commands of that page have filled it.
"""

import shutil
import sys
from pathlib import Path

from mlflow.tracking import MlflowClient
from playwright.sync_api import Page, sync_playwright

from assay.eval.tracking.server import serve
from assay.eval.tracking.store import EXPERIMENT, tracking_uri

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "mlflow"
SIZE = {"width": 1883, "height": 900}
SHOWN = {"x": 0, "y": 0, "width": 1400, "height": 900}  # what is right of it asks a language model
PATIENCE = 120_000  # ms
SETTLED = 8_000  # ms in which charts are drawn; the pages ask on and on, and are never idle


def main() -> None:
    """Serve the store and write a picture of each page."""
    port = int(next(iter(sys.argv[1:]), "5000"))
    client = MlflowClient(tracking_uri())
    found = client.get_experiment_by_name(EXPERIMENT)
    assert found is not None
    runs = client.search_runs([found.experiment_id], "tags.`assay.config` != ''")
    named = {run.info.run_name: run.info.run_id for run in runs}
    bm25, hybrid = (named[f"{name} on tarnwick"] for name in ("bm25", "hybrid"))
    place = f"experiments/{found.experiment_id}"
    compared = f'compare-runs?runs=["{bm25}","{hybrid}"]&experiments=["{found.experiment_id}"]'
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    with serve(tracking_uri(), port) as server, sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport=SIZE)
        for name, address in (
            ("list", f"{place}/runs?compareRunsMode=TABLE"),
            ("run", f"{place}/runs/{hybrid}"),
            ("compare", compared),
            ("chart", f"{place}/runs?compareRunsMode=CHART"),
        ):
            _take(page, f"{server.address}/#/{address}", FOLDER / f"{name}.png")
        chromium.close()


def _take(page: Page, address: str, file: Path) -> None:
    """Write a picture of the page at `address` once it names a run."""
    page.goto("about:blank")
    page.goto(address)
    page.get_by_text(" on tarnwick").first.wait_for(timeout=PATIENCE)
    page.wait_for_timeout(SETTLED)
    page.screenshot(path=file, clip=SHOWN)


if __name__ == "__main__":
    main()
