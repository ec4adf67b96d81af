"""The page of what engines' fusions are worth: `fusions.md`, made of `fusions.json` alone."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.eval.report.formats import p_value, score, signed
from assay.eval.report.markdown import render_markdown
from assay.eval.runs.files import encode_json, write_together
from assay.eval.studies.stores.parity.fusions import BASES, MEASURE, Fusions
from assay.eval.studies.stores.parity.page import AGAINST, NAMES
from assay.eval.studies.stores.parity.quality import DENSE, HYBRID, KEYWORD, NATIVE, OURS

PAGE, FACTS = "fusions.md", "fusions.json"


def write(found: Fusions, folder: Path) -> list[Path]:
    """Write both files into `folder`, which is made, each in one piece; return their paths.

    Raises AssayError when they cannot be written.
    """
    facts = found.as_json()
    facts["environment"] = {
        key: value for key, value in facts["environment"].items() if key != "command"
    }
    return write_together(folder, {PAGE: render(facts).encode(), FACTS: encode_json(facts)})


def render(found: Mapping[str, Any]) -> str:
    """Return the page of what `fusions.json` holds."""
    return render_markdown(
        "studies/stores/templates/fusions.md.j2",
        # Of its JSON, so that a page made of the file is the same.
        found=json.loads(json.dumps(found)),
        bases=BASES,
        against=AGAINST,
        measure=MEASURE,
        fixed=(DENSE, KEYWORD, OURS, HYBRID),
        native=NATIVE,
        ours=OURS,
        names=NAMES,
        score=score,
        signed=signed,
        p_value=p_value,
    )
