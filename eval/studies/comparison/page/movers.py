"""The queries that a comparison moves most."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.eval.report.formats import score, signed
from assay.eval.statistics.significance import TIE
from assay.eval.studies.comparison.analysis import Pair
from assay.eval.studies.comparison.page.differences import headline

MOST = 10


@dataclass(frozen=True)
class Mover:
    """A query with its headline measure in the base and in the other."""

    id: str
    text: str
    type: str
    base: str
    other: str
    difference: str


def list_gains(pair: Pair) -> tuple[Mover, ...]:
    """Return the ten queries that gain most, the most first."""
    return _name_movers(pair, [change for change in reversed(_order(pair)) if change[1] > TIE])


def list_losses(pair: Pair) -> tuple[Mover, ...]:
    """Return the ten queries that lose most, the most first."""
    return _name_movers(pair, [change for change in _order(pair) if change[1] < -TIE])


def _order(pair: Pair) -> list[tuple[str, float]]:
    """Return every query with what it gains, the least first."""
    scores = pair.scores(headline(pair).measure)
    gains = [(query, other - base) for query, (base, other) in scores.items()]
    return sorted(gains, key=lambda entry: entry[1])


def _name_movers(pair: Pair, changes: Sequence[tuple[str, float]]) -> tuple[Mover, ...]:
    scores = pair.scores(headline(pair).measure)
    movers = []
    for id_, gain in changes[:MOST]:
        query, (base, other) = pair.base.run.queries[id_], scores[id_]
        shown = score(base), score(other), signed(gain)
        movers.append(Mover(id_, query.text, query.type, *shown))
    return tuple(movers)
