"""The report of two pipelines on several collections."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from assay.eval.collections.traits import NAMES
from assay.eval.report.blocks import Block, Column, Facts, Plot, Prose, Report, Table
from assay.eval.report.formats import count, enumerate_words, p_value, percent, signed
from assay.eval.runs.environment import describe as describe_environment
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.meta_analysis import FEWEST
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.comparison.collections import CollectionEffect, Collections
from assay.eval.studies.comparison.tables import TONES
from assay.eval.studies.comparison.words import MOST_LINES

EXPLANATION = (
    "Each collection has the verdict of `assay compare` on it alone. The mean is that of random "
    "effects: τ² by Paule and Mandel, the interval by Hartung and Knapp. A new collection: the 95 "
    "% prediction interval of its true difference (Nagashima, Noma and Furukawa 2019). It holds "
    "for collections that are as if drawn from where these are from; those at hand seldom are."
)


@dataclass(frozen=True)
class _Row:
    """A row for a collection, for the mean of all, or for a new collection."""

    name: str
    difference: Estimate
    effect: CollectionEffect | None = None
    foreseen: Estimate | None = None

    @property
    def verdict(self) -> str:
        return self.effect.headline.verdict if self.effect else ""

    @property
    def claim(self) -> str:
        claims = self.effect and self.effect.claims
        return claims.name(claims.leading) if claims else ""

    def read(self, key: str) -> Any:
        """Return a figure of its headline; None if the row is not of a collection."""
        return getattr(self.effect.headline, key) if self.effect else None


def report(found: Collections) -> Report:
    """Return the report of two pipelines on several collections."""
    base, other = found.names
    return Report(
        id=found.id,
        kind="collections",
        title=f"{other} against {base} on {count(len(found.effects), 'collection')}",
        subject=(enumerate_words([effect.name for effect in found.effects]),),
        verdict=[*_tell_amounts(found), *_tell(found)],
        warnings=[
            f"{effect.name}: {line}"
            for effect in found.effects
            for line in (effect.compared.warnings if effect.compared else ())
        ],
        blocks=show_effects(found),
        environment=describe_environment(),
    )


def _tell_amounts(found: Collections) -> Iterator[str]:
    """Yield the collections with unequal amounts of returned text, which limits the verdicts."""
    compared = {effect.name: effect.compared for effect in found.effects if effect.compared}
    unequal = [(name, item.tokens) for name, item in compared.items() if item.tokens]
    for name, tokens in unequal[:MOST_LINES]:
        yield f"{name}: {tokens}"
    if (more := len(unequal) - MOST_LINES) > 0:
        yield f"Unequal amounts of text on {count(more, 'more collection')}, too."


def _tell(found: Collections) -> Iterator[str]:
    """Yield the verdict on the mean, the prediction for a new collection, and the explanation."""
    base, other = found.names
    among = f"of {count(len(found.effects), 'collection')}"
    figures = f"{found.measure} {tell_mean(found)}"
    if found.verdict:
        yield f"{other} is {found.verdict} than {base} in the mean {among}: {figures}."
    else:
        yield f"No proven difference between {other} and {base} in the mean {among}: {figures}."
    yield tell_new(found)
    yield from tell_directions(found)


def tell_mean(found: Collections) -> str:
    """Return the mean difference and its likely range."""
    mean = found.combined.mean
    return f"{signed(mean.value)}, likely between {_tell_ends(mean)}"


def tell_new(found: Collections) -> str:
    """Return a sentence on what is foreseen of a new collection."""
    if found.new is None:
        few = len(found.effects)
        return f"Nothing can be foreseen of a new collection from {few}: it takes {FEWEST}."
    known = found.new.low > 0 or found.new.high < 0
    which = "so there, too" if known else "it may be better or worse there"
    return f"On a new collection: between {_tell_ends(found.new)} (95 %); {which}."


def tell_directions(found: Collections) -> Iterator[str]:
    """Yield the collections where it is better and worse, and the features that separate them."""
    better, worse = found.parted
    other, all_ = found.names[1], len(found.effects)
    if not better or not worse:
        verdict, opposite = ("better", "worse") if better else ("worse", "better")
        shown = better or worse
        if not shown:
            yield "On none of them alone is a difference shown."
        elif len(shown) == all_:
            yield f"{other} is {verdict} on each of them."
        else:
            names = enumerate_words([effect.name for effect in shown])
            yield f"{other} is shown to be {verdict} on {names}, and {opposite} on none."
        return
    listed = [enumerate_words([effect.name for effect in part]) for part in (better, worse)]
    told = f"{other} is better on {listed[0]}, and worse on {listed[1]}."
    if not found.separations:
        known = ", ".join(NAMES[trait] for trait in found.traits)
        yield f"{told} No feature of the collections explains it ({known})."
        return
    each = [
        f"{NAMES[item.trait]}: {_tell_range(item.trait, item.better)} where it is better, "
        f"{_tell_range(item.trait, item.worse)} where it is worse"
        for item in found.separations
    ]
    yield f"{told} They differ in {'; in '.join(each)}."
    if found.chance > ALPHA:
        yield (
            f"That is a guess: by chance some feature would tell {len(better) + len(worse)} "
            f"collections apart in up to {percent(found.chance)} of cases."
        )


def show_effects(found: Collections) -> list[Block]:
    """Return the difference on each collection, its features, and how far collections differ."""
    return [
        _tabulate(found),
        _tabulate_traits(found),
        Facts("How far collections differ", list(_describe_spread(found))),
        Prose("How to read the figures", EXPLANATION),
    ]


def _tabulate(found: Collections) -> Table:
    rows = [
        _Row(effect.name, effect.headline.interval, effect, foreseen)
        for effect, foreseen in zip(found.effects, found.left_out, strict=True)
    ]
    rows.append(_Row("mean", found.combined.mean))
    rows += [_Row("new collection", found.new)] if found.new else []
    base, other = found.names
    columns = [
        Column("collection", "Collection", value=lambda row: row.name),
        Column("n", "Queries", "count", lambda row: row.read("n")),
        Column("base_mean", base, "score", lambda row: row.read("base"), False),
        Column("other_mean", other, "score", lambda row: row.read("other"), False),
        Column("difference", "Difference", "difference"),
        Column("verdict", "Verdict", tone=lambda row: TONES.get(row.verdict, "")),
        Column("claim", "It holds", value=lambda row: row.claim, brief=False),
        Column("foreseen", "Foreseen by the others", "difference", brief=False),
    ]
    held, foreseen = found.held
    note = f"The others foresaw {held} of {foreseen} differences." if foreseen else ""
    title = f"{found.measure}: {other} against {base}"
    return Table("effects", title, columns, rows, note, plot=Plot("difference"))


def _tabulate_traits(found: Collections) -> Table:
    columns = [
        Column("collection", "Collection", value=lambda effect: effect.name),
        *(Column(key, NAMES[key].capitalize(), "number", _Trait(key)) for key in found.traits),
    ]
    return Table("traits", "Features", columns, found.effects, brief=False)


@dataclass(frozen=True)
class _Trait:
    """A function that returns a feature of a collection, to three digits."""

    key: str

    def __call__(self, effect: CollectionEffect) -> float:
        return float(f"{effect.traits[self.key]:.3g}")


def _describe_spread(found: Collections) -> Iterator[tuple[str, str]]:
    combined = found.combined
    yield "spread of true differences", f"τ {combined.tau:.3f} around the mean"
    yield (
        "beyond chance",
        f"{percent(combined.excess)} of the variance (I²; all equal: p {p_value(combined.p)})",
    )


def _tell_ends(estimate: Estimate) -> str:
    return f"{signed(estimate.low)} and {signed(estimate.high)}"


def _tell_range(trait: str, ends: Sequence[float]) -> str:
    """Return the values of a feature in words."""
    share = trait in ("code", "overlap")
    low, high = (f"{percent(end)}" if share else f"{end:,.0f}" for end in ends)
    return low if low == high else f"{low} to {high}"
