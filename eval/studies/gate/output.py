"""The verdict of the gate for machines and pull requests: Markdown, JSON, JUnit, annotations."""

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from assay.eval.scoring.measures import list_standard
from assay.eval.studies.gate import output
from assay.eval.studies.gate.query_changes import QueryChange
from assay.eval.studies.gate.report import GateReport
from assay.eval.studies.gate.sentences import (
    EFFECTS,
    announce,
    describe_collection,
    entitle,
    explain,
    list_effects,
    list_verdicts,
    show_finds,
    signed,
)
from assay.retrievers.store.files import append, write_atomically

LEVELS = {"pass": "notice", "cannot tell": "warning", "warning": "warning", "regression": "error"}
# What XML 1.0 does not allow even when escaped.
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Row = tuple[str, ...]


def render_markdown(report: GateReport) -> str:
    """Return the report as GitHub's and GitLab's Markdown."""
    baseline = report.baseline
    head = report.head.manifest
    title, _, rest = announce(report).partition(":")
    parts = [
        f"## Gate: {entitle(report)} ({baseline.label})",
        f"**{title}**:{rest}",
        f"{len(report.head.queries)} queries. Baseline: run `{baseline.run}` of code "
        f"`{baseline.code[:12]}`. Head: run `{head.id}`.",
        report.claim,
        _table(
            ("measure", "baseline", "head", "difference (95 %)", "margin", "adjusted p", "finds",
             "won/tied/lost", "verdict"),
            (
                (
                    item.measure,
                    f"{item.base:.3f}",
                    f"{item.head:.3f}",
                    signed(item.difference),
                    f"{item.margin:.3f}",
                    f"{item.p:.4f}",
                    show_finds(item),
                    f"{item.wins}/{item.ties}/{item.losses}",
                    f"**{item.verdict}**",
                )
                for item in report.measures
            ),
        ),
    ]  # fmt: skip
    if report.collection:
        parts += map(_safe, describe_collection(report))
        heads = ("effect of", "measure", "difference (95 %)", "queries")
        parts.append(_table(heads, list_effects(report)))
        parts.append(f"<sub>{EFFECTS}</sub>")
    if report.guarded:
        parts.append(
            f"Must not break: {len(report.guarded)} queries, {len(report.broken)} of them broken."
        )
        if report.broken:
            parts.append(_queries(report.broken))
    if report.latency:
        rows = (
            (name, f"**{verdict}**", sentence)
            for name, verdict, sentence in list_verdicts(report)
            if name.startswith("latency ")
        )
        parts.append(_table(("latency", "verdict", "interleaved"), rows))
    if report.rebuild:
        parts.append(_safe(report.rebuild.words))
    if report.changes:
        changes = "\n".join(f"- {_safe(line)}" for line in report.changes)
        parts.append(f"Changed since the baseline:\n\n{changes}")
    if report.models:
        parts.append(f"{_safe(report.models)}.")
    if report.losers:
        parts.append(f"Queries that lost most:\n\n{_queries(report.losers)}")
    parts.append(f"<sub>{explain(report)}</sub>")
    return "\n\n".join(parts) + "\n"


def render_json(report: GateReport) -> dict[str, Any]:
    """Return the report as the JSON object that `assay gate --json` prints."""
    baseline = report.baseline
    return {
        "verdict": report.verdict,
        "verdict_text": announce(report),
        "claim": report.claims.as_json(),
        "opposite": dict(report.opposite),
        "config": baseline.name,
        "collection": baseline.collection.name,
        "queries": len(report.head.queries),
        "run": report.head.manifest.id,
        "baseline": {key: getattr(baseline, key) for key in ("run", "code", "created")},
        "changes": list(report.changes),
        "judged_by_model": report.models or None,
        "false_alarms": report.false_alarms,
        "measures": [asdict(item) for item in report.measures],
        "ir_measures": list_standard(item.measure for item in report.measures),
        "must_not_break": {
            "queries": list(report.guarded),
            "broken": [asdict(item) for item in report.broken],
        },
        "latency": [{**asdict(item), "load": item.load.model_dump()} for item in report.latency],
        "rebuild": report.rebuild and report.rebuild.as_json(),
        "collection_change": report.collection and report.collection.as_json(),
        "losers": [asdict(item) for item in report.losers],
    }


def render_failure(title: str, message: str) -> str:
    """Return Markdown that says why there is no verdict."""
    return f"## Gate: no verdict ({_safe(title)})\n\n{_safe(message)}\n"


def render_junit(report: GateReport, strict: bool) -> bytes:
    """Return JUnit XML: a test case for everything judged.

    A regression is a failure; a warning, and what the gate cannot tell, are skipped with a message,
    or a failure when `strict`.
    """
    suite = _suite(report.baseline.label)
    for name, verdict, sentence in list_verdicts(report):
        case = _case(suite, report.baseline.label, name)
        if verdict == "regression" or (verdict != "pass" and strict):
            _add(case, "failure", f"{verdict}: {sentence}")
        elif verdict != "pass":
            _add(case, "skipped", f"{verdict}: {sentence}")
        else:
            Xml.SubElement(case, "system-out").text = _xml(sentence)
    for source, measure, difference, queries in list_effects(report):
        if source != "pipeline":
            case = _case(suite, report.baseline.label, f"effect of {source}: {measure}")
            told = f"{difference} over {queries} queries; no part of the verdict"
            Xml.SubElement(case, "system-out").text = _xml(told)
    if lines := describe_collection(report):
        Xml.SubElement(suite, "system-out").text = _xml(" ".join(lines))
    return _finish(suite)


def render_junit_failure(title: str, message: str) -> bytes:
    """Return JUnit XML with one error: why there is no verdict."""
    suite = _suite(title)
    _add(_case(suite, title, "gate"), "error", message)
    return _finish(suite)


def annotate(report: GateReport, strict: bool) -> list[str]:
    """Return GitHub's workflow commands: an annotation for each finding, and one for the whole."""
    lines = []
    for name, verdict, sentence in list_verdicts(report):
        if verdict != "pass":
            level = "error" if strict else LEVELS[verdict]
            lines.append(
                annotation(level, f"{report.baseline.label}: {name}", f"{verdict}: {sentence}")
            )
    level = "error" if strict and report.verdict != "pass" else LEVELS[report.verdict]
    told = announce(report)
    if report.verdict == "warning":
        lost = ", ".join(
            f"{item.query} ({item.base:.2f} → {item.head:.2f})" for item in report.losers
        )
        told += f" Lost most: {lost}"
    lines.append(annotation(level, f"Gate: {report.baseline.label}", told))
    return lines


def annotation(level: str, title: str, message: str) -> str:
    """Return one workflow command, escaped as GitHub's runner wants it."""
    text = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    name = title.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    name = name.replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={name}::{text}"


def _queries(changes: Sequence[QueryChange]) -> str:
    rows = (
        (
            _safe(item.query),
            _safe(item.type),
            _safe(item.text),
            f"{item.base:.3f} → {item.head:.3f}",
        )
        for item in changes
    )
    return _table(("query", "type", "text", changes[0].measure), rows)


def _table(titles: Row, rows: Iterable[Row]) -> str:
    lines = [titles, ("---",) * len(titles), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def _safe(text: str) -> str:
    """Return a text that is not ours so that it stays one cell, is no markup and calls nobody."""
    flat = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", " ".join(text.split()))
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace("@", "@\u200b")


def _suite(title: str) -> Xml.Element:
    return Xml.Element("testsuite", name=f"assay gate {title}")


def _case(suite: Xml.Element, title: str, name: str) -> Xml.Element:
    return Xml.SubElement(suite, "testcase", classname=f"gate.{title}", name=_xml(name), time="0")


def _add(case: Xml.Element, kind: str, message: str) -> None:
    Xml.SubElement(case, kind, message=_xml(message)).text = _xml(message)


def _finish(suite: Xml.Element) -> bytes:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{kind}"))))
    suites = Xml.Element("testsuites")
    suites.append(suite)
    Xml.indent(suites)
    return bytes(Xml.tostring(suites, encoding="utf-8", xml_declaration=True)) + b"\n"


def _xml(text: str) -> str:
    return NOT_IN_XML.sub("\ufffd", text)


@dataclass(frozen=True)
class Outputs:
    """The files wanted, and whether to talk to GitHub; `strict` makes doubt a failure."""

    junit: Path | None
    markdown: Path | None
    github: bool
    strict: bool

    def deliver(self, report: GateReport) -> None:
        """Write the verdict wherever it is wanted."""
        self._write(
            output.render_markdown(report),
            output.render_junit(report, self.strict),
            output.annotate(report, self.strict),
            report.verdict,
        )

    def deliver_failure(self, title: str, message: str) -> None:
        """Write why there is no verdict wherever one is wanted."""
        self._write(
            output.render_failure(title, message),
            output.render_junit_failure(title, message),
            [output.annotation("error", f"Gate: {title}", message)],
            "none",
        )

    def _write(self, markdown: str, junit: bytes, annotations: Sequence[str], verdict: str) -> None:
        for path, content in ((self.markdown, markdown.encode()), (self.junit, junit)):
            if path:
                write_atomically(path, content)
        if self.github:
            # Runners read commands on standard error too, and standard output stays clean.
            for line in annotations:
                print(line, file=getattr(sys.stderr, "commands", sys.stderr), flush=True)
            _append("GITHUB_STEP_SUMMARY", markdown)
            _append("GITHUB_OUTPUT", f"verdict={verdict}\n")


def _append(variable: str, text: str) -> None:
    """Append to the file that the runner names by an environment variable."""
    if name := os.environ.get(variable):
        append(Path(name), text)
