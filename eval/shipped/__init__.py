"""What comes with Assay beside its code: named configs, and collections.

In a checkout both are folders at its root; a wheel holds them here.
"""

from pathlib import Path
from typing import Literal

from assay.retrievers.base.installation import find_checkout


def find_shipped(folder: Literal["configs", "datasets"]) -> Path:
    """Return where the configs or the collections that come with Assay lie."""
    return (find_checkout() or Path(__file__).parent) / folder
