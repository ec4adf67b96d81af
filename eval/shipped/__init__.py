"""Data that ships with Assay: named configs, collections, and two stored runs.

In a checkout configs and collections are folders at its root; a wheel holds them here.
"""

from pathlib import Path
from typing import Literal

from assay.retrievers.base.installation import find_checkout

# The runs of `assay demo`, each a folder, with their timing; scripts/demo_runs.py makes them.
DEMO = Path(__file__).parent / "demo.zip"
DEMO_RUNS = ("bm25", "hybrid")


def find_shipped(folder: Literal["configs", "datasets"]) -> Path:
    """Return the folder of the configs or the collections that come with Assay."""
    return (find_checkout() or Path(__file__).parent) / folder
