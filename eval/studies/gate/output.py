"""The verdict of the gate for machines and pull requests: Markdown, JUnit XML, annotations."""

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as Xml

from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.significance import smallest_p
from assay.eval.studies.comparison.differences import SYMMETRY
from assay.eval.studies.gate.query_changes import QueryChange
from assay.eval.studies.gate.rebuild import Rebuild
from assay.eval.studies.gate.report import GateReport, LatencyVerdict, MeasureVerdict, Verdict
from assay.eval.studies.gate.rule import SUSPICION

LEVELS = {"pass": "notice", "cannot tell": "warning", "warning": "warning", "regression": "error"}
# What XML 1.0 does not allow even when escaped.
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# What each effect is, below the table of them.
EFFECTS = (
    "pipeline: today's against the baseline's, both on today's collection; that is the verdict. "
    "corpus: the baseline's pipeline on today's documents against the baseline's, on the queries "
    "and judgments that both have. judgments: its same rankings scored by both versions of the "
    "judgments."
)

Row = tuple[str, ...]


def list_verdicts(report: GateReport) -> list[tuple[str, Verdict, str]]:
    """Return (what was judged, verdict, a sentence on it) for everything that was."""
    found: list[tuple[str, Verdict, str]] = []
    for item in report.measures:
        sentence = (
            f"{item.base:.3f} → {item.head:.3f}, difference {signed(item.difference)}, "
            f"adjusted p = {item.p:.4f}; a drop of {item.minimum_effect:g} matters"
        )
        if item.verdict == "pass":
            sentence += f"; no drop beyond {item.margin:.3f}, at 95 %"
        if item.verdict == "cannot tell":
            sentence += f"; one beyond the margin of {item.margin:.3f} is not excluded"
            if item.finds is not None:
                sentence += f", and one of {item.finds:.3f} would most likely have been found"
        if item.presumes_symmetry:
            sentence += f"; it {SYMMETRY}"
        found.append((item.measure, item.verdict, sentence))
    broken = {item.query: item for item in report.broken}
    for query in report.guarded:
        lost = broken.get(query)
        sentence, verdict = _describe_kept(report.rebuild)
        if lost:
            verdict = "regression"
            measure = lost.measure
            sentence = f"{measure} {lost.base:.3f} → {lost.head:.3f}: {lost.text}"
        found.append((f"query {query}", verdict, sentence))
    for timed in report.latency:
        sentence = (
            f"{timed.base:.2f} → {timed.head:.2f} ms, ratio {timed.ratio.value:.2f} "
            f"({timed.ratio.low:.2f} … {timed.ratio.high:.2f}), limit {timed.limit:g}"
        )
        if timed.busy:
            sentence += f"; {_refuse(timed)}"
        found.append((f"latency p{timed.percentile}", timed.verdict, sentence))
    return found


def _describe_kept(rebuild: Rebuild | None) -> tuple[str, Verdict]:
    """Return what is said of a query that is not broken, and its verdict."""
    if rebuild is None:
        return "kept its score", "pass"
    if rebuild.scores is None:
        return "not judged: another build of the index may rank it otherwise", "cannot tell"
    return "kept its score in one of two builds of the index at least", "pass"


def list_effects(report: GateReport) -> list[tuple[str, str, str, str]]:
    """Return what changed scores, by how much: (effect, measure, difference, queries) of each.

    Empty where the collection did not change, since all there is then is the pipeline's.
    """
    if report.collection is None:
        return []
    found: list[tuple[str, str, Estimate]] = [
        ("pipeline", item.measure, item.difference) for item in report.measures
    ]
    found += [(item.source, item.measure, item.difference) for item in report.collection.effects]
    return [(source, name, signed(change), str(change.n)) for source, name, change in found]


def describe_collection(report: GateReport) -> list[str]:
    """Say what changed of the collection, and what of that is not known."""
    change = report.collection
    if change is None:
        return []
    ran = (
        "The pipeline did not, so that today's run is the baseline's pipeline too"
        if change.same
        else f"The baseline's pipeline was run on today's: {change.base.manifest.id}"
    )
    lines = [f"The collection changed since the baseline ({change.what}). {ran}."]
    return lines + ([f"{change.unknown}."] if change.unknown else [])


def signed(estimate: Estimate) -> str:
    """Return a difference with its interval."""
    return f"{estimate.value:+.3f} ({estimate.low:+.3f} … {estimate.high:+.3f})"


def show_finds(item: MeasureVerdict) -> str:
    """Return the smallest drops found with power 0.8: of a little from all queries, of a few."""
    return " / ".join(
        "–" if drop is None else f"{drop:.3f}" for drop in (item.finds_spread, item.finds)
    )


def _refuse(timed: LatencyVerdict) -> str:
    return f"the machine was busy ({timed.load.words} meanwhile): run it again on a quiet machine"


def conclude(report: GateReport) -> str:
    """Return what the verdict on the whole says of the run."""
    if report.verdict == "regression":
        return "a drop that matters and that chance does not explain, or a query that broke"
    if report.verdict == "pass" and report.collection and report.collection.same:
        return "the pipeline did not change; what scores differ by is the collection's doing"
    if report.verdict == "pass":
        margins = ", ".join(f"{item.margin:.3f} in {item.measure}" for item in report.measures)
        return f"no drop beyond {margins}, each at 95 %"
    if report.verdict == "warning":
        return "a drop that matters, but chance gives one like it in up to 5 % of unchanged runs"
    if report.unsettled:
        return report.unsettled.rstrip(".")
    if any(item.verdict == "cannot tell" for item in report.measures):
        return "no drop shown, but one beyond the margin is not excluded; more queries would decide"
    busy = next((timed for timed in report.latency if timed.busy), None)
    if busy:
        return f"no drop of a measure, but latency cannot be judged: {_refuse(busy)}"
    return "no drop of a measure, but more queries or rounds are needed to judge latency"


def render_markdown(report: GateReport) -> str:
    """Return the report as GitHub's and GitLab's Markdown."""
    baseline = report.baseline
    head = report.head.manifest
    parts = [
        f"## Gate: {report.verdict} ({baseline.label})",
        f"**{report.verdict}**: {conclude(report)}.",
        f"{len(report.head.queries)} queries. Baseline: run `{baseline.run}` of code "
        f"`{baseline.code[:12]}`. Head: run `{head.id}`.",
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


def explain(report: GateReport) -> str:
    """Return the rule in short."""
    n = len(report.head.queries)
    effects = ", ".join(f"{item.minimum_effect:g} in {item.measure}" for item in report.measures)
    return (
        f"regression: the drop is at least the minimum effect ({effects}), and random signs, over "
        f"all gated measures together, make it unlikely (p of at most {report.false_alarms:g}). "
        f"warning: the same, p of at most {SUSPICION:g}; look at the queries that lost. pass: the "
        "interval excludes a drop beyond the margin, which follows from the number of queries and "
        "the baseline's scores. finds: the smallest drops found with power 0.8, as a little from "
        "all queries / however it comes about. p: of a drop, adjusted for all gated measures. "
        "95 %: the interval of one measure's difference by itself, not adjusted. "
        f"With n = {n} p is {smallest_p(n):.2g} at best."
    )


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
    told = f"{report.verdict}: {conclude(report)}"
    if report.verdict == "warning":
        lost = ", ".join(
            f"{item.query} ({item.base:.2f} → {item.head:.2f})" for item in report.losers
        )
        told += f"; lost most: {lost}"
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
