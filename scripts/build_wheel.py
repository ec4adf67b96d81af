"""What a wheel holds beside the packages: named configs, the default collection, which a language
model judged, and the card of one that people judged, whose data lies elsewhere.

They are folders of the checkout; an editable installation reads them there.
"""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHIPPED = ("configs", "datasets/tarnwick", "datasets/scifact")


class ShippedFiles(BuildHookInterface):
    """Puts them where `assay.eval.shipped` looks for them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add them, unless the installation is editable."""
        if version == "standard":
            for folder in SHIPPED:
                build_data["force_include"][folder] = f"assay/eval/shipped/{folder}"
