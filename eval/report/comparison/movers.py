"""The queries that a comparison moves most."""

from dataclasses import dataclass

from eval.analysis.comparison import Pair
from eval.report.comparison.differences import headline
from eval.report.formats import score, signed
from eval.statistics.significance import TIE

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
    return tuple(_mover(pair, query) for query, gain in reversed(_order(pair)) if gain > TIE)[:MOST]


def list_losses(pair: Pair) -> tuple[Mover, ...]:
    """Return the ten queries that lose most, the most first."""
    return tuple(_mover(pair, query) for query, gain in _order(pair) if gain < -TIE)[:MOST]


def _order(pair: Pair) -> list[tuple[str, float]]:
    """Return every query with what it gains, the least first."""
    scores = pair.scores(headline(pair).measure)
    gains = [(query, other - base) for query, (base, other) in scores.items()]
    return sorted(gains, key=lambda entry: entry[1])


def _mover(pair: Pair, id_: str) -> Mover:
    query = pair.base.run.queries[id_]
    base, other = pair.scores(headline(pair).measure)[id_]
    return Mover(id_, query.text, query.type, score(base), score(other), signed(other - base))
