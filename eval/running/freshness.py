"""Whether what was written beside a run is what its files and this code give: then it stands."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.eval.report.run_page.page import MARKDOWN, PAGE
from assay.eval.runs.environment import EVERYTHING, digest_code
from assay.eval.runs.summary import exports
from assay.eval.tracking.delivery import LOGGED
from assay.retrievers.store.digest import digest, digest_file
from assay.retrievers.store.files import write_atomically

WRITTEN = "written.json"
OUTPUTS = (*exports.FILES, MARKDOWN, PAGE)


def is_up_to_date(folder: Path, measures: Sequence[str], outputs: Sequence[str] = OUTPUTS) -> bool:
    """Say whether `outputs` in `folder` are whole, and those that would be written."""
    try:
        noted = json.loads((folder / WRITTEN).read_bytes())
        found = _describe(folder, measures, outputs)
        return bool(noted["of"] == found["of"] and found["files"].items() <= noted["files"].items())
    except (FileNotFoundError, ValueError, LookupError, TypeError, AttributeError):
        return False


def record(folder: Path, measures: Sequence[str], outputs: Sequence[str] = OUTPUTS) -> None:
    """Keep of what, and as what, `outputs` were written."""
    found = _describe(folder, measures, outputs)
    write_atomically(folder / WRITTEN, json.dumps(found, indent=1).encode())


def _describe(folder: Path, measures: Sequence[str], outputs: Sequence[str]) -> dict[str, Any]:
    """Raises FileNotFoundError where an output is missing."""
    others = {WRITTEN, LOGGED, *OUTPUTS}
    inputs = sorted(path for path in folder.iterdir() if path.name not in others and path.is_file())
    read = [(path.name, digest_file(path)) for path in inputs]
    return {
        "of": digest(read, list(measures), digest_code(*EVERYTHING)),
        "files": {name: digest_file(folder / name) for name in outputs},
    }
