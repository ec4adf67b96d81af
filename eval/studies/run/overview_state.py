"""A cheap check, made after each command, that the page of all reports is up to date."""

import os
from pathlib import Path

from assay.retrievers.store.digest import digest

INDEX = "index.html"
SHOWN = ("*/manifest.json", "*/*.html")
MARK = 'data-overview="'  # precedes the state of the folder in the page


def find_state(reports: Path) -> str:
    """Return a digest that changes when a report in the folder is stored, changed or deleted.

    Files are moved into their folders complete, so the modification times of folders are enough.
    """
    with os.scandir(reports) as entries:
        found = sorted(
            (entry.name, entry.stat().st_mtime_ns)
            for entry in entries
            if entry.name != INDEX and not entry.name.startswith(".")
        )
    return digest(found)[:16]


def is_ours(page: Path) -> bool:
    """Return True if there is no file at the path of the page, or an earlier page of Assay."""
    return not page.exists() or MARK in page.read_text(encoding="utf-8", errors="replace")


def is_stale(reports: Path) -> bool:
    """Return True if a report was stored, changed or deleted since the page was written.

    Returns False for a folder without reports, and if a page of another program has the same path.
    Raises OSError.
    """
    page = reports / INDEX
    if not reports.is_dir() or not is_ours(page):
        return False
    if page.exists():
        return f'{MARK}{find_state(reports)}"' not in page.read_text("utf-8", "replace")
    return any(map(any, map(reports.glob, SHOWN)))
