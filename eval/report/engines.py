"""The page of all engines: `engines.json`, and `engines.md`, which is made of it alone."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.parity.quality import MEASURES, TIMED
from eval.parity.results import Absence, Parity
from eval.report.formats import amount, p_value, score, signed, size
from eval.report.markdown import render_markdown
from eval.report.parity import NAMES, describe_keyword
from eval.runs.environment import find_load
from eval.runs.files import encode_json, write_together
from retrievers.base import AssayError

PAGE, FACTS = "engines.md", "engines.json"
# What the page does not need of each; it is in the report of each.
LEFT_OUT = ("environment", "examples", "verdicts", "trials")
# What the engines of one collection must have in common, to stand in one table.
SHARED = ("queries", "sampled", "encoder", "identity")
# What not every version of a server has: its engine, what it is, the first version, what else it
# needs.
Features = Sequence[Mapping[str, str]]
SHOWN = ("nDCG@10", "Recall@20")


@dataclass(frozen=True)
class EngineFacts:
    """What the page says of engines whoever measures them: `met` by the name of the engine."""

    features: Features
    met: Mapping[str, str]


def write(
    parities: Sequence[Parity],
    absent: Sequence[Absence],
    facts: EngineFacts,
    folder: Path,
    keep: bool = False,
) -> list[Path]:
    """Write both files into `folder`, which is made, each in one piece; return their paths.

    With `keep` the rows of other engines stay that are there. Raises AssayError when they cannot
    be written, or where those that are there were asked other queries.
    """
    found = collect(parities, absent, facts)
    if keep and (before := folder / FACTS).is_file():
        found = _merge(_read_facts(before), found, before)
    return write_together(folder, {PAGE: render(found).encode(), FACTS: encode_json(found)})


def collect(
    parities: Sequence[Parity], absent: Sequence[Absence], facts: EngineFacts
) -> dict[str, Any]:
    """Return all that the page says, as JSON values; `measured` names one of `measurements`."""
    created = max((item.created for item in parities), default="")
    environment = dict(parities[0].environment) if parities else {}
    environment.pop("command", None)
    return {
        "measurements": {created: environment | {"load": find_load()}} if parities else {},
        "parities": [
            {key: value for key, value in item.as_json().items() if key not in LEFT_OUT}
            | {"measured": created}
            for item in parities
        ],
        "absent": [
            {"engine": item.engine, "collection": item.collection, "reason": item.reason}
            for item in absent
        ],
        "features": facts.features,
        "met": facts.met,
    }


def _read_facts(path: Path) -> dict[str, Any]:
    """Return what the file at `path` holds. Raises AssayError where it is not such a file."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise AssayError(f"{path}: cannot be read: {error}") from None
    if not isinstance(found, dict) or not {"measurements", "parities", "absent"} <= found.keys():
        raise AssayError(f"{path}: was made by another version: measure all, without --engine")
    return found


def _merge(before: Mapping[str, Any], found: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return `found` with the rows of `before` that it has none in place of."""
    new = {(item["engine"], item["collection"]) for item in found["parities"]}
    asked = new | {(item["engine"], item["collection"]) for item in found["absent"]}
    kept = [item for item in before["parities"] if (item["engine"], item["collection"]) not in new]
    parities = [*kept, *found["parities"]]
    for item in parities:
        first = next(one for one in parities if one["collection"] == item["collection"])
        for key in SHARED:
            if item.get(key) != first.get(key):
                raise AssayError(
                    f"{path}: {first['label']} on {item['collection']} has {key} "
                    f"{first.get(key)}, and {item['label']} {item.get(key)}: ask as many queries "
                    "of the same vectors, or measure all again, without --engine"
                )
    used = {item["measured"] for item in parities}
    measurements = {**before["measurements"], **found["measurements"]}
    return {
        **found,
        "measurements": {at: told for at, told in measurements.items() if at in used},
        "parities": parities,
        "absent": [
            item for item in before["absent"] if (item["engine"], item["collection"]) not in asked
        ]
        + found["absent"],
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
        measurements=[
            (at, told, [item["label"] for item in labels.values() if item["measured"] == at])
            for at, told in found["measurements"].items()
        ],
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
