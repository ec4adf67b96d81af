"""The page of all engines: `engines.json`, and `engines.md`, which is made of it alone."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.parity.quality import MEASURES, TIMED
from eval.parity.results import Absence, Parity
from eval.report.formats import amount, p_value, score, signed, size
from eval.report.markdown import render_markdown
from eval.report.parity import NAMES, describe_keyword
from eval.runs.files import encode_json, write_together

PAGE, FACTS = "engines.md", "engines.json"
# What the page does not need of each; it is in the report of each.
LEFT_OUT = ("environment", "examples", "verdicts", "trials")
# What not every version of a server has: its engine, what it is, the first version, what else it
# needs.
Features = Sequence[Mapping[str, str]]
SHOWN = ("nDCG@10", "Recall@20")


def write(
    parities: Sequence[Parity], absent: Sequence[Absence], features: Features, folder: Path
) -> list[Path]:
    """Write both files into `folder`, which is made, each in one piece; return their paths.

    Raises AssayError when they cannot be written.
    """
    found = collect(parities, absent, features)
    return write_together(folder, {PAGE: render(found).encode(), FACTS: encode_json(found)})


def collect(
    parities: Sequence[Parity], absent: Sequence[Absence], features: Features
) -> dict[str, Any]:
    """Return all that the page says, as JSON values."""
    return {
        "created": max((item.created for item in parities), default=""),
        "environment": {
            key: value
            for item in parities[:1]
            for key, value in item.environment.items()
            if key != "command"
        },
        "parities": [
            {key: value for key, value in item.as_json().items() if key not in LEFT_OUT}
            for item in parities
        ],
        "absent": [
            {"engine": item.engine, "collection": item.collection, "reason": item.reason}
            for item in absent
        ],
        "features": features,
    }


def render(found: Mapping[str, Any]) -> str:
    """Return the page of what `engines.json` holds."""
    # Of its JSON, so that a page made of the file is the same.
    found = json.loads(json.dumps(found))
    parities = found["parities"]
    labels = {item["label"]: item for item in parities}
    collections = list(dict.fromkeys(item["collection"] for item in parities))
    some = {item["queries"] for item in parities if item["sampled"]}
    sample = ["--limit", str(max(some))] if some else []
    return render_markdown(
        "engines.md.j2",
        found=found,
        command=shlex.join(["assay", "parity", "--all", *collections, *sample]),
        labels=list(labels.values()),
        engines=[item for item in labels.values() if item["label"] == item["engine"]],
        collections=[
            (name, [item for item in parities if item["collection"] == name])
            for name in collections
        ],
        systems=TIMED,
        names=NAMES,
        shown=SHOWN,
        measures=MEASURES,
        score=score,
        signed=signed,
        amount=amount,
        size=size,
        p_value=p_value,
        describe_keyword=describe_keyword,
    )
