"""The page of all engines: `engines.json`, and `engines.md`, which is made of it alone."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assay.eval.report.formats import score, signed
from assay.eval.report.markdown import render_markdown
from assay.eval.runs.environment import find_load
from assay.eval.runs.files import encode_json, write_together
from assay.eval.studies.stores.parity.page import NAMES
from assay.eval.studies.stores.parity.quality import MEASURES, NATIVE, TIMED
from assay.eval.studies.stores.parity.results import Absence, Parity
from assay.retrievers.base import AssayError

PAGE, FACTS = "engines.md", "engines.json"
# What the page does not need of each; it is in the report of each.
LEFT_OUT = ("environment", "examples", "verdicts", "trials")
# What the engines of one collection must have in common, to stand in one table.
SHARED = ("queries", "sampled", "encoder", "identity")
# What not every version of a server has: its engine, what it is, the first version, what else it
# needs.
Features = Sequence[Mapping[str, str]]
SHOWN = ("nDCG@10", "Recall@20")
# Of rows that are there and were not measured anew: none stays, those that were asked the same
# queries of the same vectors, or all, which must have been.
Keep = Literal["none", "fitting", "all"]


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
    keep: Keep = "none",
) -> list[Path]:
    """Write both files into `folder`, which is made, each in one piece; return their paths.

    Raises AssayError when they cannot be written, or where `keep` is "all" and rows that are there
    were asked other queries, or cannot be read.
    """
    found = collect(parities, absent, facts)
    if keep != "none" and (before := _read_facts(folder, keep)):
        found = _merge(before, found, folder / FACTS, keep)
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


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """Return what the page in `folder` says of each engine; nothing where it cannot be read."""
    return list(_read_facts(folder, "fitting").get("parities", ()))


def _read_facts(folder: Path, keep: Keep) -> dict[str, Any]:
    """Return what the file in `folder` holds, nothing where there is none.

    Where it is not such a file that is nothing, too, unless `keep` is "all": then an AssayError.
    """
    path = folder / FACTS
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text())
        if isinstance(found, dict) and {"measurements", "parities", "absent"} <= found.keys():
            return found
        reason = "was made by another version"
    except (OSError, ValueError) as error:
        reason = f"cannot be read: {error}"
    if keep == "all":
        raise AssayError(f"{path}: {reason}: measure all, without --engine")
    return {}


def _merge(
    before: Mapping[str, Any], found: Mapping[str, Any], path: Path, keep: Keep
) -> dict[str, Any]:
    """Return `found` with the rows of `before` that it has none in place of, as `keep` says."""
    new = {(item["label"], item["collection"]) for item in found["parities"]}
    asked = new | {(item["engine"], item["collection"]) for item in found["absent"]}
    measured = {item["collection"]: item for item in reversed(found["parities"])}
    kept = []
    for item in before["parities"]:
        if (item["label"], item["collection"]) in new:
            continue
        first = measured.get(item["collection"], item)
        unlike = [key for key in SHARED if item.get(key) != first.get(key)]
        if unlike and keep == "all":
            key = unlike[0]
            raise AssayError(
                f"{path}: {item['label']} on {item['collection']} has {key} {item.get(key)}, and "
                f"{first['label']} {first.get(key)}: ask as many queries of the same vectors, or "
                "measure all again, without --engine"
            )
        if not unlike:
            kept.append(item)
    parities = [*kept, *found["parities"]]
    used = {item["measured"] for item in parities}
    measurements = {**before["measurements"], **found["measurements"]}
    return {
        **found,
        "measurements": {i: told for i, told in measurements.items() if i in used},
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
    native = [item["measures"][NATIVE][SHOWN[0]] for item in parities if NATIVE in item["measures"]]
    return render_markdown(
        "studies/stores/templates/engines.md.j2",
        found=found,
        command=shlex.join(["assay", "parity", "--all", *collections, *sample]),
        labels=list(labels.values()),
        # A fusion of several settings is a variant; its formula is in the report of it.
        plainly=[item for item in labels.values() if "," not in item["label"]],
        measurements=[
            (i, told, [item["label"] for item in labels.values() if item["measured"] == i])
            for i, told in found["measurements"].items()
        ],
        engines=[item for item in labels.values() if item["label"] == item["engine"]],
        collections=[
            (name, [item for item in parities if item["collection"] == name])
            for name in collections
        ],
        systems=TIMED,
        native=NATIVE,
        names=NAMES,
        shown=SHOWN,
        measures=MEASURES,
        reach=max((max(i["high"] - i["value"], i["value"] - i["low"]) for i in native), default=0),
        score=score,
        signed=signed,
    )
