"""Whether the page of all reports shows what the folder holds; cheap to ask after each command."""

import os
from pathlib import Path

from assay.retrievers.store.digest import digest

INDEX = "index.html"
SHOWN = ("*/manifest.json", "*/*.html")
MARK = 'data-overview="'  # before the state of the folder, in the page


def find_state(reports: Path) -> str:
    """Return what changes whenever a report is stored in the folder, changed or deleted.

    Files are put into their folders whole, so that the time of a folder tells.
    """
    with os.scandir(reports) as entries:
        found = sorted(
            (entry.name, entry.stat().st_mtime_ns)
            for entry in entries
            if entry.name != INDEX and not entry.name.startswith(".")
        )
    return digest(found)[:16]


def is_ours(page: Path) -> bool:
    """Say whether nothing stands in the place of the page but an earlier one."""
    return not page.exists() or MARK in page.read_text(encoding="utf-8", errors="replace")


def is_stale(reports: Path) -> bool:
    """Say whether a report was stored, changed or deleted since the page was written.

    Not so of a folder without reports, nor where somebody else's page stands in its place. Raises
    OSError.
    """
    page = reports / INDEX
    if not reports.is_dir() or not is_ours(page):
        return False
    if page.exists():
        return f'{MARK}{find_state(reports)}"' not in page.read_text("utf-8", "replace")
    return any(map(any, map(reports.glob, SHOWN)))
