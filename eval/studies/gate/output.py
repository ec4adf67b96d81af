"""The verdict of the gate for machines: JSON, JUnit and annotations, and their delivery."""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as Xml

from assay.eval.report.markdown import LONG, plain
from assay.eval.report.renderers import markdown
from assay.eval.runs.json_form import by, in_json, length, or_null, shape
from assay.eval.studies.gate.measure_verdicts import name_measures
from assay.eval.studies.gate.report import report
from assay.eval.studies.gate.sentences import (
    announce,
    describe_collection,
    list_effects,
    list_verdicts,
    signed,
)
from assay.eval.studies.gate.verdicts import GateVerdict
from assay.retrievers.store.digest import digest
from assay.retrievers.store.files import append, write_atomically

LEVELS = {"pass": "notice", "cannot tell": "warning", "warning": "warning", "regression": "error"}
# Characters that XML 1.0 does not allow even if escaped.
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@in_json(
    spread=("verdict",),
    but=("baseline", "head", "guarded", "broken", "claims"),
    verdict="verdict.verdict",
    verdict_text=by(announce, "verdict"),
    claim="verdict.claims",
    config="verdict.baseline.name",
    collection="verdict.baseline.collection.name",
    queries=length("verdict.head.queries"),
    run="verdict.head.manifest.id",
    baseline=shape("verdict.baseline", "run", "code", "created"),
    judged_by_model=or_null("verdict.models"),
    ir_measures=by(name_measures, "verdict.measures"),
    must_not_break=shape("verdict", "broken", queries="guarded"),
    collection_change="verdict.collection",
)
@dataclass(frozen=True)
class GateFinding:
    """A verdict, to be written and printed as JSON."""

    verdict: GateVerdict


def name_folder(found: GateVerdict) -> str:
    """Return the name of the folder of a verdict; it is unique to the run and the baseline."""
    return f"gate-{found.head.manifest.id}-{digest(found.baseline.run)[:8]}"


def render_failure(title: str, message: str) -> str:
    """Return Markdown with the reason why there is no verdict."""
    return f"# Gate: no verdict ({plain(title)})\n\n{plain(message, LONG)}\n"


def render_junit(found: GateVerdict, strict: bool) -> bytes:
    """Return JUnit XML: a test case for everything judged.

    A regression is a failure; a warning or "cannot tell" is skipped with a message, or a failure if
    `strict`.
    """
    suite = _suite(found.baseline.label)
    for name, verdict, sentence in list_verdicts(found):
        case = _case(suite, found.baseline.label, name)
        if verdict == "regression" or (verdict != "pass" and strict):
            _add(case, "failure", f"{verdict}: {sentence}")
        elif verdict != "pass":
            _add(case, "skipped", f"{verdict}: {sentence}")
        else:
            Xml.SubElement(case, "system-out").text = _xml(sentence)
    for effect in list_effects(found):
        if effect.source != "pipeline":
            case = _case(
                suite, found.baseline.label, f"effect of {effect.source}: {effect.measure}"
            )
            difference = effect.difference
            told = f"{signed(difference)} over {difference.n} queries; no part of the verdict"
            Xml.SubElement(case, "system-out").text = _xml(told)
    if lines := describe_collection(found):
        Xml.SubElement(suite, "system-out").text = _xml(" ".join(lines))
    return _finish(suite)


def render_junit_failure(title: str, message: str) -> bytes:
    """Return JUnit XML with one error: the reason why there is no verdict."""
    suite = _suite(title)
    _add(_case(suite, title, "gate"), "error", message)
    return _finish(suite)


def annotate(found: GateVerdict, strict: bool) -> list[str]:
    """Return GitHub's workflow commands: an annotation for each finding, and one for the whole."""
    lines = []
    for name, verdict, sentence in list_verdicts(found):
        if verdict != "pass":
            level = "error" if strict else LEVELS[verdict]
            lines.append(
                annotation(level, f"{found.baseline.label}: {name}", f"{verdict}: {sentence}")
            )
    level = "error" if strict and found.verdict != "pass" else LEVELS[found.verdict]
    told = announce(found)
    if found.verdict == "warning":
        lost = ", ".join(
            f"{item.query} ({item.base:.2f} → {item.head:.2f})" for item in found.losers
        )
        told += f" Lost most: {lost}"
    lines.append(annotation(level, f"Gate: {found.baseline.label}", told))
    return lines


def annotation(level: str, title: str, message: str) -> str:
    """Return one workflow command, escaped as GitHub's runner expects."""
    text = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    name = title.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    name = name.replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={name}::{text}"


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
    """The files to write, and if GitHub gets annotations; `strict` fails on all but a pass."""

    junit: Path | None
    markdown: Path | None
    github: bool
    strict: bool

    def deliver(self, found: GateVerdict) -> None:
        """Write the verdict to all outputs."""
        self._write(
            markdown.render(report(found)),
            render_junit(found, self.strict),
            annotate(found, self.strict),
            found.verdict,
        )

    def deliver_failure(self, title: str, message: str) -> None:
        """Write the reason why there is no verdict to all outputs."""
        self._write(
            render_failure(title, message),
            render_junit_failure(title, message),
            [annotation("error", f"Gate: {title}", message)],
            "none",
        )

    def _write(self, markdown: str, junit: bytes, annotations: Sequence[str], verdict: str) -> None:
        for path, content in ((self.markdown, markdown.encode()), (self.junit, junit)):
            if path:
                write_atomically(path, content)
        if self.github:
            # Runners read commands from standard error too; standard output is left alone.
            for line in annotations:
                print(line, file=getattr(sys.stderr, "commands", sys.stderr), flush=True)
            _append("GITHUB_STEP_SUMMARY", markdown)
            _append("GITHUB_OUTPUT", f"verdict={verdict}\n")


def _append(variable: str, text: str) -> None:
    """Append to the file that the runner names by an environment variable."""
    if name := os.environ.get(variable):
        append(Path(name), text)
