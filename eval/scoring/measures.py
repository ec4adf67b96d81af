"""Measures by name, and the scores of a run's queries.

A measure has one name, which is shown and stored: the one people say (`Hit@3`, `MRR@10`,
`Recall@20`) where they do not say ir-measures' (`nDCG@10`, `P@5`, `Judged@10`). Wherever one is
asked for, ir-measures' (`Success@3`, `RR@10`, `R@20`) is taken too. Four more are ours: because
chunks differ in length, `Tokens@k`, the tokens of the first k chunks, and `Recall@<n>tok`, recall
within the chunks that fit into n tokens of a prompt; `hit_nDCG@k`, nDCG with a hit counting once
however many gold items it covers; and `Empty`, 1 where nothing is returned, which is right for a
query that nothing answers. Those of assay.eval.scoring.generated are of a run's answers, if it has
any. An installed package may add its own (see assay.eval.scoring.own).
"""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from assay.eval.scoring import calculation, generated, own, standard
from assay.eval.scoring.calculation import ByQuery, Gold, Joined, Qrels, Run, Scores
from assay.eval.scoring.kinds import ANY, KINDS, SHOWN, Bounds, Kind, Range, show_name
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
HEADLINE = "nDCG@10"  # what a run is called good or bad by, where it is among its measures

OURS = re.compile(r"(?:R|Recall)@([0-9]{1,9})tok|(Tokens|hit_nDCG)@([0-9]{1,9})|Empty")
OF_HITS = ("Judged", "NumRet")  # they ask of hits, not of what these count for


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure that can be computed.

    `name` is the one it is shown and stored under, `standard` ir-measures', "" where that has none.
    `cutoff` is the number of hits it looks at, `budget` the number of tokens they must fit into;
    None where it has none. `bounds` is its kind's where they are known with these parameters.
    `compute` is there for what TREC run and qrels do not give, `compute_trec` for what they give by
    a call of its own; a measure without either is computed by ir-measures together with others.
    Measures `of_answers` are of what a language model answers, which rankings do not tell.
    """

    name: str
    kind: Kind
    standard: str = ""
    cutoff: int | None = None
    budget: int | None = None
    bounds: Bounds = ""
    compute: Callable[[Joined, Gold], ByQuery] | None = None
    compute_trec: Callable[[Qrels, Run], ByQuery] | None = None
    of_answers: bool = False

    @property
    def meaning(self) -> str:
        """What a score counts."""
        k = f"{self.budget} tokens" if self.budget else str(self.cutoff or "the last")
        first = f"the first {k}" if self.budget or self.cutoff else "all hits"
        return self.kind.meaning.format(first=first, k=k)

    @property
    def is_ranked(self) -> bool:
        """Whether runs are better or worse by it, not merely different."""
        return self.kind.direction != "neither"

    @property
    def sign(self) -> int:
        """What a difference is multiplied by to be positive where it is an improvement."""
        return -1 if self.kind.direction == "lower" else 1

    @property
    def change(self) -> Range:
        """The range of the difference of two scores of a query."""
        low, high = self.kind.within
        return low - high, high - low


@lru_cache(maxsize=1000)
def find(name: str) -> Measure:
    """Return the measure of a name, the one shown or ir-measures'.

    Raises AssayError where there is none that is computed.
    """
    if match := OURS.fullmatch(name):
        return _find_ours(name, match)
    if name in generated.KINDS:
        return Measure(
            name, generated.KINDS[name], of_answers=True, compute=partial(generated.refuse, name)
        )
    if measure := standard.parse(name):
        return _find_standard(name, measure)
    parts = find_parts(own.GROUP)
    if name in parts:
        found = own.load(name)
        meaning = found.meaning.replace("{", "{{").replace("}", "}}")
        kind = Kind(name, meaning, found.direction, found.digits, within=ANY)
        return Measure(name, kind, compute=partial(own.score_own, found))
    raise _refuse(name, parts)


def check_names(names: Iterable[str]) -> list[str]:
    """Return the names of measures as they are shown, each once.

    Raises AssayError unless all are computed.

    >>> check_names(["Hit@5", "Success@5", "RR@10"])
    ['Hit@5', 'MRR@10']
    """
    return list(dict.fromkeys(find(name).name for name in names))


def check_ranking(names: Iterable[str]) -> list[str]:
    """As `check_names`, and raise AssayError for a measure of answers, which no run begins with."""
    shown = check_names(names)
    for name in shown:
        if find(name).of_answers:
            generated.refuse(name)
    return shown


def check_rising(name: str) -> str:
    """Return the shown name of a measure. Raises AssayError where a lower score is better."""
    check_ranking([name])
    measure = find(name)
    if measure.sign < 0:
        raise AssayError(f"measures: {name}: lower is better; allowed: a measure that is to rise")
    return measure.name


def split_names(text: str) -> list[str]:
    """Return the names in a list with commas, as `check_names` does."""
    return check_names(name.strip() for name in re.split(r",(?![^(]*\))", text))


def list_standard(names: Iterable[str]) -> dict[str, str]:
    """Return ir-measures' names of the measures that it has, by those they are shown under.

    >>> list_standard(["Hit@5", "nDCG@10", "Recall@2000tok"])
    {'Hit@5': 'Success@5', 'nDCG@10': 'nDCG@10'}
    """
    return {name: standard for name in names if (standard := find(name).standard)}


def choose_headline(names: Iterable[str]) -> str:
    """Return the one of the measures `names` by which a run is called good or bad."""
    listed = list(names)
    return HEADLINE if HEADLINE in listed else listed[0]


def score(names: Sequence[str], joined: Joined, gold: Gold) -> Scores:
    """Return {measure: {query id: score}} for every query of `gold`, by the names shown.

    A query whose ranking is empty scores 0 in every measure but `Empty` and those that packages
    add. Raises AssayError where a measure has no name, or cannot score these judgments.
    """
    found = {item.name: item for item in map(find, names)}
    trec = [item for item in found.values() if item.compute is None]
    scores: Scores = {}
    if trec:
        first = _cut(joined, max(item.cutoff or sys.maxsize for item in trec))
        scores = score_run(trec, calculation.qrels(first, gold), calculation.run(first))
    return {
        name: item.compute(_cut(joined, item.cutoff), gold) if item.compute else scores[name]
        for name, item in found.items()
    }


def _cut(joined: Joined, cutoff: int | None) -> Joined:
    """Return the first hits alone: no place depends on a hit below it."""
    return {query: hits[:cutoff] for query, hits in joined.items()} if cutoff else joined


def score_run(found: Iterable[Measure], qrels: Qrels, run: Run) -> Scores:
    """Return {measure: {query id: score}}, from TREC run and qrels, of measures they give."""
    wanted = list(found)
    together = sorted({item.standard for item in wanted if item.compute_trec is None})
    calculated = calculation.calculate(together, qrels, run)
    return {
        item.name: item.compute_trec(qrels, run) if item.compute_trec else calculated[item.standard]
        for item in wanted
    }


def _find_ours(name: str, match: re.Match[str]) -> Measure:
    if name == "Empty":
        return _make("Empty", "", compute=calculation.is_empty)
    number = int(match[1] or match[3])
    if not 1 <= number <= standard.MOST:
        raise AssayError(
            f"measures: {name}: the number after @ must be from 1 to {standard.MOST}, not {number}"
        )
    if match[1]:
        compute = partial(calculation.recall_in_tokens, number)
        return _make("Recall", f"@{number}tok", budget=number, compute=compute)
    compute = (
        partial(calculation.sum_tokens, number)
        if match[2] == "Tokens"
        else partial(calculation.compute_on_hits, f"nDCG@{number}")
    )
    return _make(match[2], f"@{number}", cutoff=number, compute=compute)


def _find_standard(name: str, measure: Any) -> Measure:
    """Return what is known of a measure that ir-measures has parsed. Raises AssayError."""
    cutoff = measure.params.get("cutoff")
    options = measure.params.keys() - {"cutoff"}
    compute: Callable[[Joined, Gold], ByQuery] | None = None
    compute_trec: Callable[[Qrels, Run], ByQuery] | None = None
    if measure.NAME == "R" and not options - {"rel"}:
        least = measure.params.get("rel", 1)
        compute = partial(calculation.recall_in_ranks, least, cutoff)
    elif measure.NAME == "ERR":
        compute_trec = partial(calculation.expected_reciprocal_rank, cutoff)
    elif measure.params.get("dcg") == "exp-log2":
        if "gains" in options:
            raise AssayError(f"measures: {name}: dcg='exp-log2' and gains: give one of them")
        plain = measure(dcg="log2")
        compute_trec = partial(calculation.exponential_ndcg, repr(plain))
    elif not standard.is_supported(measure):
        raise _refuse(name, ())
    else:
        standard.try_out(measure)
        if measure.NAME in OF_HITS:
            compute = partial(calculation.compute_on_hits, repr(measure))
        elif options:
            compute_trec = partial(calculation.compute_alone, repr(measure))
    return _make(
        show_name(measure.NAME),
        repr(measure).removeprefix(measure.NAME),
        standard=repr(measure),
        cutoff=cutoff,
        bounds="" if options else None,
        compute=compute,
        compute_trec=compute_trec,
    )


def _make(
    kind_name: str,
    suffix: str,
    *,
    standard: str = "",
    cutoff: int | None = None,
    budget: int | None = None,
    bounds: Bounds | None = None,
    compute: Callable[[Joined, Gold], ByQuery] | None = None,
    compute_trec: Callable[[Qrels, Run], ByQuery] | None = None,
) -> Measure:
    kind = KINDS.get(kind_name) or Kind(kind_name, "", within=ANY)
    return Measure(
        f"{kind_name}{suffix}",
        kind,
        standard,
        cutoff,
        budget,
        kind.bounds if bounds is None else bounds,
        compute,
        compute_trec,
    )


def _refuse(name: str, parts: Iterable[str]) -> AssayError:
    """Return what is said of a name that no measure has: near ones, and what is allowed."""
    stem, rest = re.match(r"(\w*)(.*)", name, re.S).groups()  # type: ignore[union-attr]
    near = suggest(stem, sorted({*KINDS, *SHOWN, *(() if rest else generated.NAMES)}), rest)
    added = "".join(f", {part}" for part in parts)
    return AssayError(
        f"measures: {name!r} is not a measure that can be computed here"
        f"{near}; allowed: what ir-measures names and "
        "supports, such as nDCG@10, Hit@3 or Success@3, MRR@10, Recall@20, P@5, AP, Judged@10; and "
        f"Recall@2000tok, Tokens@10, hit_nDCG@10, Empty{added}"
    )
