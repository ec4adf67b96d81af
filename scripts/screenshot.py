"""A picture of a page: `python scripts/screenshot.py ADDRESS FILE.png`; needs playwright."""

import shutil
import sys

from playwright.sync_api import sync_playwright

SIZE = {"width": 960, "height": 900}


def take(address: str, file: str) -> None:
    """Write a picture of the page at `address`, once it asks for nothing more."""
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    with sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport=SIZE)
        page.goto(address, wait_until="networkidle")
        page.screenshot(path=file)
        chromium.close()


if __name__ == "__main__":
    take(*sys.argv[1:])
