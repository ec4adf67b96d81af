"""The page of published figures: `published.md`, made of `published.json` alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.eval.report.markdown import render_markdown
from assay.eval.runs.files import encode_json, write_together
from assay.eval.studies.reproduction.analysis import DIGITS, Reproduction

PAGE, FACTS = "published.md", "published.json"


def write(found: Reproduction, folder: Path) -> list[Path]:
    """Write both files into `folder`, which is made, each in one piece; return their paths.

    Raises AssayError when they cannot be written.
    """
    facts = found.as_json()
    return write_together(folder, {PAGE: render(facts).encode(), FACTS: encode_json(facts)})


def render(facts: Mapping[str, Any]) -> str:
    """Return the page of what `published.json` holds."""
    return render_markdown(
        "studies/reproduction/templates/published.md.j2",
        found=facts,
        figure=format_figure,
        signed=format_difference,
    )


def format_figure(value: float) -> str:
    """Return a mean as it is published: `.6789`."""
    return f"{value:.{DIGITS}f}".removeprefix("0")


def format_difference(value: float | None) -> str:
    """Return a difference with its sign; a dash where there is none."""
    if value is None:
        return "–"
    sign = "−" if value < 0 else "+" if value > 0 else ""
    return f"{sign}{format_figure(abs(value))}"
