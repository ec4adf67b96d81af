"""The reports other than runs in a folder of reports, found by their pages and JSON files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.eval.report.files import BRIEF, SUMMARY
from assay.eval.runs.manifest import MANIFEST
from assay.eval.studies.run.overview_state import INDEX
from assay.retrievers.base import cut

# Kinds of reports, by the name of their JSON file or of the folder that holds several.
KINDS = {
    "comparison": "Comparisons",
    "sweep": "Sweeps",
    "tuned": "Tunings",
    "chosen": "Choices",
    "ablation": "Ablations",
    "gate": "Gates",
    "ingestion": "Ingestions",
    "threshold": "Thresholds",
    "recall": "Recall of approximate search",
    "parity": "Engines' hybrid search",
    "drift": "Drift",
    "overlap": "Overlap of pipelines",
    "audit": "Audits of published figures",
    "targets": "Success criteria",
    "published": "Published figures",
}
OTHERS = "Other reports"
VERDICTS = ("verdict_text", "verdict", "conclusion", "conclusions")
LONGEST = 300  # characters of a verdict


@dataclass(frozen=True, slots=True)
class Finding:
    """A report other than a run.

    Attributes:
        kind: The kind of report, one of `KINDS` or `OTHERS`.
        name: Its path below the reports, without the name or suffix of the page.
        href: The path of its page below the reports.
        made: The time of the page in UTC, to the minute.
        verdict: The verdict; "" if no file has one.
        facts: The content of its JSON file; {} unless it is a comparison, a gate, or a report
            without a summary file.
    """

    kind: str
    name: str
    href: str
    made: str
    verdict: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict of a comparison or a gate on a run: words, their tone, and a link."""

    words: str
    tone: str
    href: str


def list_findings(reports: Path) -> list[Finding]:
    """Return the reports that have a page, sorted by kind, the newest of each kind first."""
    pages = [page for page in reports.glob("*/*.html") if page.name != BRIEF]
    pages += [page for page in reports.glob("*.html") if page.name != INDEX]
    found = [_read(page, reports) for page in pages if not (page.parent / MANIFEST).exists()]
    order = [*KINDS.values(), OTHERS]
    found.sort(key=lambda item: (item.made, item.name), reverse=True)
    return sorted(found, key=lambda item: order.index(item.kind))


def judge_runs(findings: Sequence[Finding]) -> dict[str, list[RunVerdict]]:
    """Return the verdicts of the newest gate and the newest comparison on each run, by run id."""
    found: dict[str, dict[str, RunVerdict]] = {}
    for item in findings:
        # A file of another program may have any content.
        with suppress(LookupError, TypeError, AttributeError):
            for run, words, tone in _judge(item):
                found.setdefault(run, {}).setdefault(item.kind, RunVerdict(words, tone, item.href))
    return {run: [by_kind[kind] for kind in sorted(by_kind)] for run, by_kind in found.items()}


def _read(page: Path, reports: Path) -> Finding:
    place = page.relative_to(reports)
    if page.name == "report.html":
        name = place.parent.as_posix()
        beside = [page.with_name(f"{kind}.json") for kind in KINDS]
        path = next((path for path in beside if path.is_file()), page)
        kind = KINDS.get(path.stem, OTHERS)
    else:
        name = place.as_posix().removesuffix(".html")
        path, kind = page.with_suffix(".json"), KINDS.get(page.parent.name, OTHERS)
    summary = page.with_name(SUMMARY)
    needed = kind in (KINDS["comparison"], KINDS["gate"]) or not summary.is_file()
    facts = _load(path) if needed else {}
    told = (_load(summary) if page.name == "report.html" else {}) or facts
    verdict = next((told[key] for key in VERDICTS if told.get(key)), "")
    said = " ".join(map(str, verdict)) if isinstance(verdict, list) else str(verdict)
    made = datetime.fromtimestamp(page.stat().st_mtime, UTC).isoformat()[:16]
    return Finding(kind, name, place.as_posix(), made, cut(said, LONGEST), facts)


def _load(path: Path) -> dict[str, Any]:
    """Return the mapping in a JSON file; an empty one if there is none."""
    with suppress(OSError, ValueError):
        if path.suffix == ".json" and isinstance(value := json.loads(path.read_bytes()), dict):
            return value
    return {}


def _judge(item: Finding) -> Iterator[tuple[str, str, str]]:
    """Yield the id of each run with the words and the tone of its verdict."""
    if item.kind == KINDS["gate"]:
        verdict = str(item.facts["verdict"])
        tones = {"pass": "better", "regression": "worse"}
        yield item.facts["run"], f"gate: {verdict}", tones.get(verdict, "")
    elif item.kind == KINDS["comparison"]:
        ranking = item.facts.get("ranking", ())
        for row in ranking:
            yield row["run"], f"rank {row['rank']} of {len(ranking)}", ""
        for other in item.facts.get("others", ()):
            verdict, base = str(other["differences"][0]["verdict"]), item.facts["base"]["label"]
            plain = verdict in ("better", "worse")
            words = f"{verdict} than {base}" if plain else f"against {base}: {verdict}"
            yield other["run"], words, verdict if plain else ""
