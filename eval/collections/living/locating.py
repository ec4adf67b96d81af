"""Finding judgments again: in place, moved, reworded, ambiguous, or gone."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from assay.eval.collections.formats.places import find_section
from assay.eval.collections.formats.rows import RowError
from assay.eval.collections.living import rewording
from assay.eval.collections.living.findings import KEPT, Finding, Proposal, Status, judge_edit
from assay.eval.collections.living.search import find_everywhere, find_in, is_distinctive
from assay.eval.collections.living.selectors import (
    Anchor,
    digest_lines,
    list_headings,
    measure_support,
    stands_beside,
)
from assay.retrievers.base import Document
from assay.retrievers.base.quotes import QuoteSpan

LEAST = 0.25  # of the lines: with less of them a document is not proposed
MARGIN = 8  # characters of context that distinguish one of several equal places from the others


def locate_all(anchors: Sequence[Anchor], given: Mapping[str, Document]) -> list[Finding]:
    """Return the finding on each judgment in the present documents, `given` by id.

    A text that is found verbatim (but for white space) in one place is taken. Among several places
    the context on both sides decides, if one has 8 equal characters more than any other; then the
    headings above. The same holds for a text of less than six words or 32 characters, and for one
    that was in several places before: the text found may belong to another passage.
    """
    texts = {name: document.text for name, document in given.items()}
    found: dict[int, Finding] = {}
    for i, anchor in enumerate(anchors):
        if finding := _find_by_name(anchor, given, texts):
            found[i] = finding
    rest = {i: anchor for i, anchor in enumerate(anchors) if i not in found}
    whole = {i: anchor for i, anchor in rest.items() if anchor.is_document}
    found |= _locate_renamed(whole, texts)
    rest = {i: anchor for i, anchor in rest.items() if anchor.exact}
    places = _find_places(rest, texts)
    for i, anchor in rest.items():
        if places[i]:
            found[i] = _decide(anchor, places[i], texts)
    lost = {i: anchor for i, anchor in rest.items() if i not in found}
    for i, proposals in rewording.propose(lost, texts).items():
        shown = tuple(Proposal(place, similarity) for place, similarity in proposals)
        found[i] = Finding(Status.REWORDED, proposals=shown)
    return [found.get(i, Finding(Status.GONE)) for i in range(len(anchors))]


def _find_by_name(
    anchor: Anchor, given: Mapping[str, Document], texts: Mapping[str, str]
) -> Finding | None:
    """Return a finding that needs no search: a text at its offsets, or a name that is kept."""
    if anchor.path not in texts:
        return None
    text = texts[anchor.path]
    if anchor.is_document:
        whole = QuoteSpan(anchor.path, 0, len(text))
        if not anchor.lines:
            return Finding(Status.IN_PLACE, whole)
        return judge_edit(whole, _share_lines(anchor.lines, digest_lines(text)))
    if anchor.section:
        try:
            place = QuoteSpan(anchor.path, *find_section(anchor.section, given[anchor.path]))
        except RowError:
            return None
        piece = text[place.start : place.end]
        if anchor.exact in ("", piece):
            return Finding(Status.IN_PLACE, place)
        return judge_edit(place, rewording.compare(anchor.exact, piece))
    piece = text[anchor.start : anchor.end]
    if not piece.strip() or (anchor.exact and piece.strip() != anchor.exact):
        return None
    start = anchor.start + len(piece) - len(piece.lstrip())
    place = QuoteSpan(anchor.path, start, start + len(piece.strip()))
    if not stands_beside(anchor, text, place.start, place.end):
        return None  # an equal text may have come to these offsets
    return Finding(Status.IN_PLACE, place)


def _find_places(
    anchors: Mapping[int, Anchor], texts: Mapping[str, str]
) -> dict[int, list[QuoteSpan]]:
    """Return all places of each anchor's text.

    For a short text, they are those in its own document, in the two documents to which most texts
    of that document have moved, and wherever its context is the same.
    """
    wide = {i: f"{item.prefix}{item.exact}{item.suffix}" for i, item in anchors.items()}
    distinctive = {i for i, item in anchors.items() if is_distinctive(item.exact)}
    wanted = {i: anchors[i].exact if i in distinctive else wide[i] for i in anchors}
    everywhere = find_everywhere(wanted.values(), texts)
    found: dict[int, list[QuoteSpan]] = {}
    became: dict[str, Counter[str]] = defaultdict(Counter)
    for i, anchor in anchors.items():
        places = everywhere.get(wanted[i], [])
        if i not in distinctive:
            size, ahead = len(anchor.exact), len(anchor.prefix)
            places = [
                QuoteSpan(place.doc_id, place.start + ahead, place.start + ahead + size)
                for place in places
                if place.end - place.start == len(wide[i])
            ]
        found[i] = places
        if places and all(place.doc_id != anchor.path for place in places):
            became[anchor.path].update({place.doc_id for place in places})
    for i, anchor in anchors.items():
        if i not in distinctive:
            likely = [path for path, _ in became[anchor.path].most_common(2)]
            for path in {anchor.path, *likely} & texts.keys():
                found[i] += find_in(anchor.exact, path, texts[path])
            found[i] = sorted(set(found[i]), key=lambda place: (place.doc_id, place.start))
    return found


def _decide(anchor: Anchor, places: Sequence[QuoteSpan], texts: Mapping[str, str]) -> Finding:
    """Return the finding on a judgment whose text is found at `places`."""
    support = {
        place: measure_support(anchor, texts[place.doc_id], place.start, place.end)
        for place in places
    }
    most = max(support.values())
    rivals = [place for place in places if most - support[place] < MARGIN]
    certain = is_distinctive(anchor.exact) and anchor.copies <= 1
    own = [place for place in places if place.doc_id == anchor.path]
    unmoved = [place for place in own if place.start == anchor.start]
    headed = _list_under_headings(anchor, own, texts) if len(rivals) > 1 else []
    for narrower in (headed, own, unmoved):
        if len(rivals) > 1 and (fewer := [place for place in rivals if place in narrower]):
            rivals = fewer
            certain |= narrower is headed and len(rivals) == 1
    certain |= support[rivals[0]] >= MARGIN or (unmoved == places and anchor.copies <= 1)
    if len(rivals) > 1 or not certain:
        listed = sorted(places, key=lambda place: (-support[place], place.doc_id, place.start))
        return Finding(Status.AMBIGUOUS, proposals=tuple(Proposal(i, 1.0) for i in listed[:5]))
    (place,) = rivals
    if place.doc_id != anchor.path:
        return Finding(Status.ELSEWHERE, place)
    stays = place.start == anchor.start or anchor.start < 0
    return Finding(Status.IN_PLACE if stays else Status.MOVED, place)


def _list_under_headings(
    anchor: Anchor, places: Sequence[QuoteSpan], texts: Mapping[str, str]
) -> list[QuoteSpan]:
    return [
        place
        for place in places
        if anchor.headings
        and tuple(list_headings(place.doc_id, texts[place.doc_id], place.start)) == anchor.headings
    ]


def _share_lines(lines: Collection[str], digests: Collection[str]) -> float:
    """Return the share of `lines` that are among those of another text; 1 for no lines."""
    return sum(line in digests for line in lines) / len(lines) if lines else 1.0


def _locate_renamed(anchors: Mapping[int, Anchor], texts: Mapping[str, str]) -> dict[int, Finding]:
    """Return the findings on whole documents whose ids are gone: their new ids, by key.

    It is the document with most of the lines, if it has half of them and no other has as many.
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
