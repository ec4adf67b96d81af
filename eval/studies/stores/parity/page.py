"""The report of one engine's parity: `parity.json` and `report.html`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.eval.report.files import write_report
from assay.eval.report.formats import Figure, amount, count, figure, p_value, score, signed, size
from assay.eval.report.provenance import Pairs
from assay.eval.running.search_space import describe
from assay.eval.studies.comparison.page.differences import STYLES, difference_row, make_axis
from assay.eval.studies.stores.engines.timing import PERCENTILES
from assay.eval.studies.stores.parity.quality import BETTER, HYBRID, MEASURES, NATIVE, OURS
from assay.eval.studies.stores.parity.results import Parity

NAMES: Mapping[str, str] = {
    "dense": "dense list alone",
    "keyword": "keyword list alone",
    NATIVE: "native hybrid",
    OURS: "our RRF, k = 60",
    HYBRID: "our hybrid",
}
AGAINST: Mapping[str, str] = {HYBRID: "our hybrid", OURS: "our RRF", BETTER: "the better list"}


@dataclass(frozen=True)
class SystemRow:
    """One way to search, its means in the order of MEASURES, its p50 and p95 where timed."""

    name: str
    figures: tuple[Figure, ...]
    latency: tuple[Figure, ...]


def write(parity: Parity, reports: Path) -> Path:
    """Write both files into a folder of its own below `reports`; return the path of the page."""
    axis = make_axis(parity.quality.differences)
    values = {
        "parity": parity,
        "facts": (
            f"version {parity.meaning['version']}",
            count(parity.queries, "query", "queries"),
            count(parity.index.texts, "passage"),
            parity.created,
        ),
        "verdict": describe_verdict(parity),
        "meaning": describe_meaning(parity.meaning),
        "measures": MEASURES,
        "systems": [system_row(parity, name) for name in parity.quality.means],
        "differences": [difference_row(item, axis.axis) for item in parity.quality.differences],
        "axis": axis,
        "against": describe_against(parity),
        "ratios": describe_ratios(parity),
        "index": (
            ("Texts", f"{parity.index.texts:,}"),
            ("Seconds of work", amount(parity.index.seconds)),
            ("Size", size(parity.index.bytes)),
            *describe_recall(parity),
        ),
        "names": NAMES,
        "score": format_score,
    }
    folder = reports / parity.id
    return write_report(
        "studies/stores/templates/parity", parity, folder, values, markdown=False, styles=STYLES
    )


def describe_verdict(parity: Parity) -> str:
    """Return in a sentence what the queries show of the formula."""
    counts, queries = parity.counts, count(len(parity.verdicts), "query", "queries")
    if not counts["different"]:
        same = f"On all of {queries} the engine returns what its formula makes of its two lists"
        ties = f", but for the order of equal scores in {counts['ties']}" if counts["ties"] else ""
        return f"{same}{ties}."
    return f"{counts['different']} of {queries} come back otherwise than by the stated formula."


def describe_meaning(meaning: Mapping[str, Any]) -> Pairs:
    """Return in words what hybrid means in the engine."""
    depth, origin = meaning["depth"], meaning["ranks_from"]
    return (
        ("Fused", meaning["place"]),
        ("Formula", meaning["formula"]),
        ("Ties", meaning["ties"]),
        ("Ranks from", "no ranks: scores are fused" if origin is None else str(origin)),
        ("Depth", f"dense {depth['dense']}, keyword {depth['keyword']}"),
        *(("Keyword search", describe_keyword(item)) for item in meaning["keyword"]),
        ("Dense search", "exact cosine" if meaning["exact"] else "approximate"),
        ("Approximate indexes", ", ".join(meaning["approximate"]) or "none"),
    )


def describe_keyword(item: Mapping[str, Any]) -> str:
    """Return how terms are scored, with the settings."""
    values = ", ".join(f"{name} {describe(value)}" for name, value in item["values"].items())
    return f"{item['says']} ({values})"


def system_row(parity: Parity, system: str) -> SystemRow:
    """Return one way to search as a row."""
    means = parity.quality.means[system]
    times = parity.timing.systems if parity.timing else {}
    untimed = (Figure("–", ""),) * (len(PERCENTILES) if times else 0)
    return SystemRow(
        NAMES[system],
        tuple(figure(means[name], score) for name in MEASURES),
        tuple(figure(item, amount) for item in times[system].values())
        if system in times
        else untimed,
    )


def describe_against(parity: Parity) -> list[str]:
    """Return how far the native fusion is above our hybrid and above the better list alone."""
    return [
        f"{item.measure}: native less {AGAINST[base]} {signed(item.difference.value)} "
        f"({signed(item.interval.low)} … {signed(item.interval.high)}), "
        f"p {p_value(item.adjusted)}: {item.verdict}"
        for base, item in parity.quality.against.items()
        if base != OURS  # which stands with all measures
    ]


def describe_ratios(parity: Parity) -> list[str]:
    """Return how much longer the native query takes than both lists and our fusion."""
    if parity.timing is None:
        return []
    return [
        f"{name}: native takes {ratio.value:.2f} times as long as both lists and our fusion "
        f"(95 % interval {ratio.low:.2f} to {ratio.high:.2f})"
        for name, ratio in parity.timing.ratios.items()
    ]


def describe_recall(parity: Parity) -> Pairs:
    """Return the recall of dense search against exact search; nothing where it is exact."""
    return tuple(
        (
            f"Dense recall@{depth} against exact",
            f"{score(recall.value)} ({score(recall.low)} – {score(recall.high)})",
        )
        for depth, recall in parity.recall.items()
    )


def format_score(value: float | None) -> str:
    """Return a fused score to six significant digits."""
    return "–" if value is None else f"{value:.6g}"
