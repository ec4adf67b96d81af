"""Numbers and texts as reports print them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.eval.statistics.estimates import OpenEstimate


@dataclass(frozen=True, slots=True)
class Figure:
    """An estimate in words: its value and its 95 % interval."""

    value: str
    interval: str


def figure(estimate: OpenEstimate, shape: Callable[[float], str]) -> Figure:
    """Return `estimate` with each number formatted by `shape`."""
    return Figure(shape(estimate.value), interval(estimate, shape))


def interval(estimate: OpenEstimate, shape: Callable[[float], str], between: str = " – ") -> str:
    """Return the ends of an interval: `1.2 – 3.4`, `≥ 1.2` without an upper one; else a dash."""
    low, high = (None if end is None else shape(end) for end in (estimate.low, estimate.high))
    if low and high:
        return f"{low}{between}{high}"
    return f"≥ {low}" if low else f"≤ {high}" if high else "–"


def score(value: float) -> str:
    """Return a measure to three decimals; one that counts things, such as tokens, to units."""
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.0f}"


def signed(value: float) -> str:
    """Return a difference of a measure with its sign; without one if it rounds to zero."""
    text = score(abs(value))
    if not float(text.replace(",", "")):
        return text
    return f"{'−' if value < 0 else '+'}{text}"


def p_value(value: float | None) -> str:
    """Return a p-value to three decimals; a dash if there is none."""
    if value is None:
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def amount(value: float) -> str:
    """Return a duration or a rate to about three significant digits, never in powers of ten."""
    for limit, digits in ((1, 3), (10, 2), (100, 1)):
        if abs(value) < limit:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"


def percent(share: float) -> str:
    """Return a share in percent, unbreakable."""
    return f"{100 * share:.0f}\u00a0%"


def size(count: int) -> str:
    """Return a number of bytes in the decimal unit that fits; 0 is what no server reported."""
    if not count:
        return "–"
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} B" if unit == "B" else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:,.2f} GB"


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number of things: `1 query`, `1,200 queries`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def enumerate_words(words: Sequence[str]) -> str:
    """Return words as a sentence lists them: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def adjusted(tests: int, where: str) -> str:
    """Describe what p-values are adjusted for; empty if nothing was tested."""
    if tests <= 1:
        return f"adjusted for the 1 difference {where}" if tests else ""
    return f"adjusted for all {tests:,} differences {where} (Westfall and Young)"


def retried(number: int) -> str:
    """Describe the number of calls that failed and were repeated."""
    verb = "was" if number == 1 else "were"
    return f"{count(number, 'call')} that failed {verb} made again; what that cost is in no latency"


def shorten(text: str, limit: int) -> str:
    """Return `text` on one line and of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
