"""Whole documents and sections that were judged, compared by their lines."""

from collections.abc import Collection, Mapping

from assay.eval.collections.living.findings import KEPT, Finding, Proposal, Status
from assay.eval.collections.living.selectors import Anchor, digest_lines
from assay.retrievers.base.quotes import QuoteSpan

LEAST = 0.25  # of the lines: with less of them a document is not proposed


def share_lines(lines: Collection[str], digests: Collection[str]) -> float:
    """Return which share of `lines` is among those of another text; 1 of none."""
    return sum(line in digests for line in lines) / len(lines) if lines else 1.0


def locate_renamed(anchors: Mapping[int, Anchor], texts: Mapping[str, str]) -> dict[int, Finding]:
    """Return the documents that whole ones, whose ids are gone, are called now, by key.

    That is the document with most of the lines, if it has half of them and no other has as many.
    """
    sought = {key: frozenset(anchor.lines) for key, anchor in anchors.items() if anchor.lines}
    if not sought:
        return {}
    holders: dict[str, list[str]] = {line: [] for lines in sought.values() for line in lines}
    for path, text in texts.items():
        for line in holders.keys() & digest_lines(text):
            holders[line].append(path)
    found = {}
    for key, lines in sought.items():
        paths = {path for line in lines for path in holders[line]}
        shares = {path: sum(path in holders[line] for line in lines) / len(lines) for path in paths}
        best = sorted(shares, key=lambda path: (-shares[path], path))[:5]
        likely = [path for path in best if shares[path] >= LEAST]
        first = [path for path in best if shares[path] == shares[best[0]]]
        places = {path: QuoteSpan(path, 0, len(texts[path])) for path in likely}
        if len(first) == 1 and shares[first[0]] >= KEPT:
            edited = shares[first[0]] < 1
            found[key] = Finding(Status.ELSEWHERE, places[first[0]], edited=edited)
        elif likely:
            status = Status.AMBIGUOUS if shares[likely[0]] >= KEPT else Status.REWORDED
            shown = tuple(Proposal(places[path], shares[path]) for path in likely)
            found[key] = Finding(status, proposals=shown)
    return found
