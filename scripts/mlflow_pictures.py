"""The picture of docs/tools.md: `python scripts/mlflow_pictures.py [PORT]`; needs playwright.

It is of the store that MLFLOW_TRACKING_URI names, after `assay run bm25 limit=200`, the same of
hybrid, `assay compare bm25 hybrid limit=200 latency.queries=20`, and a sweep of k1 and b.
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
SETTLED = 8_000  # ms in which the page is drawn; it asks on and on, and is never idle


def main() -> None:
    """Serve the store and write a picture of the list of its runs."""
    port = int(next(iter(sys.argv[1:]), "5000"))
    found = MlflowClient(tracking_uri()).get_experiment_by_name(EXPERIMENT)
    assert found is not None
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    with serve(tracking_uri(), port) as server, sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport=SIZE)
        address = f"experiments/{found.experiment_id}/runs?compareRunsMode=TABLE"
        _take(page, f"{server.address}/#/{address}", FOLDER / "list.png")
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
