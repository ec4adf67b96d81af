"""Makes the stored runs of `assay demo`: `python scripts/demo_runs.py` runs its pipelines anew.

They and their timing are as `assay compare` leaves them, in an archive that is the same for the
same files.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from assay.eval.shipped import DEMO, DEMO_RUNS
from assay.eval.studies.comparison.running import TIMING

COLLECTION = "harbourline"
EXPORTS = {".html", ".md", ".csv", ".trec"}  # computed again from the rest


def main() -> None:
    """Write the archive."""
    with TemporaryDirectory() as reports, ZipFile(DEMO, "w", ZIP_DEFLATED) as archive:
        words = ["compare", *DEMO_RUNS, "--dataset", COLLECTION, "--no-track"]
        places = {"ASSAY_REPORTS": reports}
        code = "from assay.start import main; main()"
        subprocess.run([sys.executable, "-c", code, *words], env=os.environ | places, check=True)
        for name in DEMO_RUNS:
            (folder,) = Path(reports).glob(f"{name}-{COLLECTION}-*")
            for path in sorted(folder.iterdir()):
                if path.suffix not in EXPORTS:
                    _add(archive, f"{name}/{path.name}", path)
        (path,) = Path(reports).glob(f"compare-*/{TIMING}")
        _add(archive, TIMING, path)


def _add(archive: ZipFile, name: str, path: Path) -> None:
    archive.writestr(ZipInfo(name), path.read_bytes(), ZIP_DEFLATED, compresslevel=9)


if __name__ == "__main__":
    main()
