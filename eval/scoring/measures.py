"""Measures by name, and the scores of a run's queries.

A measure has one name, which is shown and stored: the one people say (`Hit@3`, `MRR@10`,
`Recall@20`) where they do not say ir-measures' (`nDCG@10`, `P@5`, `Judged@10`). Wherever one is
asked for, ir-measures' (`Success@3`, `RR@10`, `R@20`) is taken too. Five more are ours: because
chunks differ in length, `Tokens@k`, the tokens of the first k chunks, and `Recall@<n>tok`, recall
within the chunks that fit into n tokens of a prompt; `hit_nDCG@k`, nDCG with a hit counting once
however many gold items it covers; `Unwanted@k`, the share of the first k that must not be returned;
and `Empty`, 1 where nothing is returned, which is right for a query that nothing answers. Those of
assay.eval.scoring.generated are of a run's answers, if it has any. An installed package may add its
own (see assay.eval.scoring.own).
"""

import re
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache

from assay.eval.scoring import calculation, generated, own
from assay.eval.scoring.calculation import Gold, Joined, Scores
from assay.eval.scoring.grid import Grid, lay_out
from assay.eval.scoring.kinds import KINDS, SHOWN, Unwanted, choose, show_name
from assay.eval.scoring.measure import Measure
from assay.eval.scoring.standard import MOST, TrecMeasure, parse
from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.settings.plugins import find_parts

DEFAULT = (
    "Hit@1",
    "Hit@3",
    "Hit@5",
    "Hit@10",
    "MRR@10",
    "nDCG@10",
    "Recall@1",
    "Recall@5",
    "Recall@10",
    "Recall@20",
    "P@5",
    "Judged@10",
    "Recall@2000tok",
    "Tokens@10",
)
UNWANTED = "Unwanted@10"  # added where a collection names documents that must not be returned
HEADLINE = "nDCG@10"  # what a run is called good or bad by, where it is among its measures

FORM = re.compile(r"(\w+)(?:@([0-9]{1,9})(tok)?)?")


@lru_cache(maxsize=1000)
def find(name: str) -> Measure:
    """Return the measure of a name, the one shown or ir-measures'.

    Raises AssayError where there is none that is computed.
    """
    stem, number, unit = match.groups() if (match := FORM.fullmatch(name)) else (name, "", "")
    kind = KINDS.get(show_name(stem)) or generated.KINDS.get(stem)
    if kind and ("@ktok" if unit else "@k" if number else "") in kind.forms:
        size = int(number) if number else None
        if size is not None and not 1 <= size <= MOST:
            raise AssayError(
                f"measures: {name}: the number after @ must be from 1 to {MOST}, not {size}"
            )
        return kind(budget=size) if unit else kind(cutoff=size)
    if parsed := parse(name):
        measure = choose(parsed)(parsed)
        if not measure.check(name):
            raise _refuse(name, ())
        return measure
    parts = find_parts(own.GROUP)
    if name in parts:
        return own.load(name)
    raise _refuse(name, parts)


def check_names(names: Iterable[str]) -> list[str]:
    """Return the names of measures as they are shown, each once.

    Raises AssayError unless all are computed.

    >>> check_names(["Hit@5", "Success@5", "RR@10"])
    ['Hit@5', 'MRR@10']
    """
    if isinstance(names, str):
        raise AssayError(f'measures: must be a list of names, as ["{names}"], not one string')
    return list(dict.fromkeys(find(name).name for name in names))


def check_ranking(names: Iterable[str]) -> list[str]:
    """Check names as `check_names` does, and raise AssayError for a measure of answers."""
    shown = check_names(names)
    for name in shown:
        if find(name).of_answers:
            raise generated.refuse(name)
    return shown


def check_rising(name: str) -> str:
    """Return the shown name of a measure. Raises AssayError where more is not better."""
    check_ranking([name])
    measure = find(name)
    if measure.sign < 0 or not measure.is_ranked:
        why = "lower is better" if measure.is_ranked else "neither more nor less is better"
        raise AssayError(f"measures: {name}: {why}; allowed: a measure that is to rise")
    return measure.name


def split_names(text: str) -> list[str]:
    """Return the names in a list with commas, as `check_names` does."""
    return check_names(name.strip() for name in re.split(r",(?![^(]{0,100}\))", text))


def list_standard(names: Iterable[str]) -> dict[str, str]:
    """Return ir-measures' names of the measures that it has, by those they are shown under.

    >>> list_standard(["Hit@5", "nDCG@10", "Recall@2000tok"])
    {'Hit@5': 'Success@5', 'nDCG@10': 'nDCG@10'}
    """
    return {name: standard for name in names if (standard := find(name).standard)}


def list_within(names: Iterable[str], depth: int) -> list[str]:
    """Return the measures `names` that look at no more than `depth` hits.

    >>> list_within(["Recall@5", "AP", "Recall@1000"], 100)
    ['Recall@5', 'AP']
    """
    return [name for name in names if (find(name).cutoff or 0) <= depth]


def find_deepest(names: Iterable[str]) -> str:
    """Return the measure that looks at the most hits; "" where none has a cutoff."""
    return max(names, key=lambda name: find(name).cutoff or 0, default="")


def find_reach(names: Iterable[str]) -> int:
    """Return the number of hits that the deepest measure looks at; 0 if none has a cutoff."""
    return max((find(name).cutoff or 0 for name in names), default=0)


def choose_depth(names: Sequence[str], default: int, given: int | None = None) -> int:
    """Return the number of hits per query that a run keeps in order to report `names`.

    It is `given`, or else `default` or the reach of the deepest measure, whichever is more. Raises
    AssayError if fewer are `given` than a measure looks at.
    """
    if given is not None:
        check_reach(names, given, "depth")
    return given or max(default, find_reach(names))


def check_reach(names: Sequence[str], depth: int, what: str) -> None:
    """Raise AssayError where a measure looks at more than the `depth` hits that `what` keeps."""
    if (wanted := find_reach(names)) > depth:
        raise AssayError(
            f"{what}: {depth:,} hits of a query are kept, and {find_deepest(names)} looks at "
            f"{wanted:,}; allowed: measures up to @{depth}, or depth={wanted}"
        )


def add_unwanted(names: Sequence[str], unwanted: int, depth: int) -> list[str]:
    """Return measures by default and, if a collection has `unwanted` documents, their share."""
    return [*names, *(list_within([UNWANTED], depth) if unwanted else ())]


def check_unwanted(names: Iterable[str], unwanted: int, collection: str) -> None:
    """Raise AssayError for a measure of unwanted documents where a collection names none."""
    for name in () if unwanted else names:
        if isinstance(find(name), Unwanted):
            raise AssayError(
                f"measures: {name}: the card of {collection} names no documents that must not be "
                "returned; allowed: `unwanted`, a list of ids or a filter, in its dataset.yaml"
            )


def choose_headline(names: Iterable[str]) -> str:
    """Return the headline measure of `names`: the one that decides if a run is good or bad."""
    listed = list(names)
    return HEADLINE if HEADLINE in listed else listed[0]


def score(names: Sequence[str], joined: Joined, gold: Gold) -> Scores:
    """Return {measure: {query id: score}} for every query of `gold`, by the names shown.

    A query whose ranking is empty scores 0 in every measure but `Empty`, `NumRel` and those that
    packages add. Raises AssayError where a measure has no name, or cannot score these judgments.
    """
    found = {item.name: item for item in map(find, names)}
    columnar = [item for item in found.values() if item.columnar]
    scores = score_columns(columnar, lay_out(joined, gold)) if columnar else {}
    others = [item for item in found.values() if item.name not in scores]
    trec = [item for item in others if isinstance(item, TrecMeasure) and not item.of_hits]
    if trec:
        deepest = max(item.cutoff or sys.maxsize for item in trec)
        first = {query: hits[:deepest] for query, hits in joined.items()}
        qrels, run = calculation.qrels(first, gold), calculation.run(first)
        alone = [item for item in trec if item.options or item.find_scorer()]
        scores |= {item.name: item.score_trec(qrels, run) for item in alone}
        together = {item.standard: item.name for item in trec if item not in alone}
        calculated = calculation.calculate(list(together), qrels, run)
        scores |= {name: calculated[standard] for standard, name in together.items()}
    return {
        name: scores[name]
        if name in scores
        else item.score_queries({query: item.cut(hits) for query, hits in joined.items()}, gold)
        for name, item in found.items()
    }


def score_columns(measures: Iterable[Measure], grid: Grid) -> Scores:
    """Return {measure: {query id: score}} of measures that are columnar."""
    return {
        item.name: dict(zip(grid.queries, item.score_columns(grid).tolist(), strict=True))
        for item in measures
    }


def _refuse(name: str, parts: Iterable[str]) -> AssayError:
    """Return the error for an unknown name of a measure: it lists similar and allowed names."""
    stem, rest = re.match(r"(\w*)(.*)", name, re.S).groups()  # type: ignore[union-attr]
    near = suggest(stem, sorted({*KINDS, *SHOWN, *(() if rest else generated.KINDS)}), rest)
    added = "".join(f", {part}" for part in parts)
    return AssayError(
        f"measures: {name!r} is not a measure that can be computed here"
        f"{near}; allowed: what ir-measures names and "
        "supports, such as nDCG@10, Hit@3 or Success@3, MRR@10, Recall@20, P@5, AP, Judged@10; and "
        f"Recall@2000tok, Tokens@10, hit_nDCG@10, Unwanted@10, Empty{added}"
    )
