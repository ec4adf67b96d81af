"""Miss analysis of two runs: the step at which each lost each gold item."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.eval.report.formats import count
from assay.eval.report.run_page.attribution import Segment, name_style, stack
from assay.eval.runs.summary.attribution import MEANINGS, STATUSES, Attribution

FOUND = STATUSES[0]


@dataclass(frozen=True)
class StatusName:
    """A status, its class in the style sheet, and what it means."""

    status: str
    style: str
    meaning: str


@dataclass(frozen=True)
class FlowCell:
    """Gold items of one status in the base and one in the other; `key` names both."""

    key: str
    items: int
    tone: str


@dataclass(frozen=True)
class FlowRow:
    """The gold items of one status in the base, by their status in the other."""

    status: StatusName
    cells: tuple[FlowCell, ...]
    items: int


@dataclass(frozen=True)
class Flow:
    """Statuses in the base against statuses in the other, of every relevant gold item."""

    k: int
    statuses: tuple[StatusName, ...]
    rows: tuple[FlowRow, ...]
    base: tuple[Segment, ...]
    other: tuple[Segment, ...]
    items: int
    gained: int
    lost: int

    def tell(self, base: str, other: str) -> str:
        """Return a sentence with the numbers of gold items won and lost."""
        return (
            f"Of {count(self.items, 'correct passage')}, {other} finds {self.gained:,} in its "
            f"first {self.k} that {base} does not, and misses {self.lost:,} that {base} finds."
        )


def make_flow(base: Attribution, other: Attribution) -> Flow:
    """Return the flow between the statuses of two runs on the same gold."""
    moves = Counter(move for query in base.items for move in _moves(base, other, query))
    before = {status: sum(moves[status, to] for to in STATUSES) for status in STATUSES}
    after = {status: sum(moves[of, status] for of in STATUSES) for status in STATUSES}
    names = tuple(
        StatusName(status, name_style(status), meaning.format(k=base.k))
        for status, meaning in MEANINGS.items()
        if before[status] or after[status]
    )
    return Flow(
        k=base.k,
        statuses=names,
        rows=tuple(
            FlowRow(
                name,
                tuple(_cell(moves, name.status, to.status) for to in names),
                before[name.status],
            )
            for name in names
            if before[name.status]
        ),
        base=stack(before) if moves else (),
        other=stack(after) if moves else (),
        items=sum(before.values()),
        gained=sum(moves[of, FOUND] for of in STATUSES if of != FOUND),
        lost=sum(moves[FOUND, to] for to in STATUSES if to != FOUND),
    )


def list_movers(
    base: Attribution, other: Attribution, queries: Sequence[str]
) -> dict[str, list[int]]:
    """Return the places in `queries` of those with items in a cell, by the key of the cell."""
    found: dict[str, list[int]] = {}
    for i, query in enumerate(queries):
        for old, new in dict.fromkeys(_moves(base, other, query)):
            found.setdefault(_key(old, new), []).append(i)
    return found


def _moves(base: Attribution, other: Attribution, query: str) -> list[tuple[str, str]]:
    """Return the (status in the base, status in the other) of each gold item of a query."""
    statuses = other.statuses[query]
    return [(status, statuses[item]) for item, status in base.statuses[query].items()]


def _cell(moves: Mapping[tuple[str, str], int], old: str, new: str) -> FlowCell:
    return FlowCell(_key(old, new), moves[old, new], _tone(old, new))


def _key(old: str, new: str) -> str:
    return f"{old} → {new}"


def _tone(old: str, new: str) -> str:
    if old == new:
        return "same"
    return "better" if new == FOUND else "worse" if old == FOUND else "open"
