"""The tables of a comparison: its runs, their differences, and their latency."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.eval.report.blocks import Column, Plot, Table, Tone
from assay.eval.report.formats import percent
from assay.eval.runs.summary.cost import tell_queries
from assay.eval.runs.summary.means import find_largest
from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring.measures import find
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.groups import estimate_grouped_difference
from assay.eval.statistics.paired import estimate_difference
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.differences import Difference
from assay.eval.studies.comparison.latency_pairs import LatencyPair
from assay.eval.studies.comparison.pair import Pair

TONES: dict[str, Tone] = {"better": "better", "worse": "worse"}
FEWEST_OVERLAPS = 12  # queries needed to show thirds of them
LETTERS = "Same letter: no proven difference."


@dataclass(frozen=True)
class RunRow:
    """A row for a run: `against` is its pair with the base, None for the base itself."""

    label: str
    summary: Summary
    groups: str
    against: Pair | None
    p50: float | None

    @property
    def verdict(self) -> str:
        """The verdict of the headline against the base; "" for the base itself."""
        return self.against.headline.verdict if self.against else ""


@dataclass(frozen=True)
class PairRow:
    """A row for `item`, a difference or a percentile of latency, of the run `other` from `base`."""

    base: str
    other: str
    item: Any

    @property
    def pair(self) -> str:
        """The pair in words: the other run against the base."""
        return f"{self.other} against {self.base}"


def tabulate_runs(compared: Comparison) -> Table:
    """Return a table of the runs: the headline, and the difference from the base or the letters."""
    measure = compared.pairs[0].headline.measure
    costs = any(summary.cost for summary in compared.summaries)
    rows = list_runs(compared)
    ranked = compared.all_pairs
    columns = [
        Column("run", "Run", value=lambda row: row.label),
        Column("mean", measure, "score", value=lambda row: row.summary.means[measure]),
    ]
    if ranked:
        columns += [Column("groups", "Letters")]
    else:
        columns += [
            Column(
                "difference",
                "Difference",
                "difference",
                value=lambda row: row.against and row.against.headline.interval,
            ),
            Column("verdict", "Verdict", tone=lambda row: TONES.get(row.verdict, "")),
        ]
    if any(row.p50 is not None for row in rows):
        columns.append(Column("p50", "p50 ms", "ms"))
    if costs:
        usd = "USD per 1,000 queries"
        columns.append(Column("usd", usd, value=lambda row: tell_queries(row.summary.cost)))
    title = f"Best first. {LETTERS}" if ranked else f"Runs against {compared.labels[0]}"
    plot = Plot("mean", "whisker") if ranked else Plot("difference")
    return Table("runs", title, columns, rows, plot=plot if find(measure).standard else None)


def list_runs(compared: Comparison) -> list[RunRow]:
    """Return a row for each run, the base first."""
    pairs = (None, *compared.against_base)
    times = compared.against_base[0].latency[:1]
    medians: list[float | None] = [item.base for item in times] or [None]
    medians += [pair.latency[0].other if pair.latency else None for pair in compared.against_base]
    rows = zip(compared.labels, compared.summaries, compared.groups, pairs, medians, strict=True)
    return [RunRow(*row) for row in rows]


def tabulate_measures(compared: Comparison) -> Table:
    """Return a table of the mean of each measure by run; those without a verdict come last."""
    names = (*compared.measures, *compared.beside)
    columns = [Column(name, name, "score", value=_read_estimate(name)) for name in names]
    run = Column("run", "Run", value=lambda row: row.label)
    return Table("measures", "Means", [run, *columns], list_runs(compared), brief=False)


def _read_estimate(name: str) -> Callable[[RunRow], Estimate]:
    return lambda row: row.summary.means[name]


def tabulate_differences(compared: Comparison, brief: bool = True) -> Table:
    """Return a table with a row for each pair and measure, with all figures of the test."""
    rows = _list_rows(compared, lambda pair: pair.differences)
    title = f"{compared.labels[1]} against {compared.labels[0]}"
    several = len(compared.pairs) > 1
    return Table(
        "differences",
        "Differences" if several else title,
        _list_columns(compared, "measure", "Measure"),
        rows,
        plot=Plot("difference", band=lambda row: row.item.detectable),
        brief=brief,
    )


def tabulate_types(compared: Comparison) -> Table:
    """Return a table with a row for each pair and type of query, in the headline measure."""
    return Table(
        "by_type",
        f"{compared.pairs[0].headline.measure} by type of query",
        _list_columns(compared, "type", "Type"),
        _list_rows(compared, lambda pair: pair.by_type),
        plot=Plot("difference", band=lambda row: row.item.detectable),
        brief=False,
    )


@dataclass(frozen=True)
class OverlapRow:
    """The headline difference of a pair on the questions with a `shared` range of common words."""

    pair: str
    shared: str
    n: int
    difference: Estimate


def tabulate_overlaps(compared: Comparison) -> list[Table]:
    """Return a table of the differences by thirds of the share of words in common, not tested.

    The list is empty if the share is known for fewer than `FEWEST_OVERLAPS` queries.
    """
    ordered = sorted(compared.overlaps, key=lambda id_: compared.overlaps[id_])
    if len(ordered) < FEWEST_OVERLAPS:
        return []
    cuts = [len(ordered) * i // 3 for i in range(4)]
    parts = [ordered[cuts[i] : cuts[i + 1]] for i in range(3)]
    rows = [
        OverlapRow(f"{other} against {base}", _name_share(compared, part), len(part), found)
        for (base, other), pair in zip(compared.names, compared.pairs, strict=True)
        for part in parts
        for found in [_estimate_part(compared, pair, part)]
    ]
    columns = [
        Column("shared", "Words in common"),
        *_name_columns(compared),
        Column("n", "Queries", "count"),
        Column("difference", "Difference", "difference"),
    ]
    title = f"{compared.pairs[0].headline.measure} by the words that question and answer share"
    note = "Not tested; each interval is by itself. The more words, the more keyword search gains."
    return [Table("by_overlap", title, columns, rows, note, Plot("difference"), brief=False)]


def _name_share(compared: Comparison, part: Sequence[str]) -> str:
    return f"{percent(compared.overlaps[part[0]])} to {percent(compared.overlaps[part[-1]])}"


def _estimate_part(compared: Comparison, pair: Pair, part: Sequence[str]) -> Estimate:
    """Return the mean difference over the queries in `part`, by the leading claim."""
    measure = pair.headline.measure
    scores = pair.scores(measure)
    values = [scores[id_][1] - scores[id_][0] for id_ in part]
    most, within = find_largest(measure, values) or 1.0, find(measure).change
    clusters = compared.claims.cluster(part)
    if clusters is None:
        return estimate_difference(values, most, within)
    share = clusters.share
    return estimate_grouped_difference(values, clusters.numbers, most, within, share=share)


def tabulate_latency(compared: Comparison) -> Table:
    """Return a table of latency percentiles by pair; a ratio only if timed together in one job."""
    return Table(
        "latency",
        "Latency",
        [
            *_name_columns(compared),
            Column("percentile", "Percentile", value=lambda row: f"p{row.item.percentile}"),
            Column("base_ms", _name(compared, 0, "base"), "ms", lambda row: row.item.base),
            Column("other_ms", _name(compared, 1, "other"), "ms", lambda row: row.item.other),
            Column("ratio", "Ratio", "ms", lambda row: row.item.ratio),
            Column("n", "n", "count", lambda row: row.item.ratio and row.item.ratio.n),
        ],
        _list_rows(compared, lambda pair: pair.latency),
        note=describe_timing(pair.latency for pair in compared.pairs),
        brief=False,
    )


def describe_timing(latencies: Iterable[Sequence[LatencyPair]]) -> str:
    """Return a note that latencies were timed interleaved, or that they cannot be compared."""
    if all(item.together for found in latencies for item in found):
        return "Both were timed interleaved, in one job."
    return (
        "Timed apart, perhaps under other load: these figures do not show which is faster. "
        "`assay compare` of two configs times them interleaved, in one job."
    )


def _list_columns(compared: Comparison, key: str, heading: str) -> list[Column]:
    return [
        *_name_columns(compared),
        Column(key, heading, value=lambda row: getattr(row.item, key)),
        Column("n", "n", "count", lambda row: row.item.n, brief=False),
        Column("base_mean", _name(compared, 0, "base"), "score", lambda row: row.item.base),
        Column("other_mean", _name(compared, 1, "other"), "score", lambda row: row.item.other),
        Column("difference", "Difference", "difference", lambda row: row.item.interval),
        Column("p", "p", "p", lambda row: row.item.reported_p, brief=False),
        Column("effect_size", "d", "difference", lambda row: row.item.effect_size, brief=False),
        Column("detectable", "Detectable", "score", lambda row: row.item.detectable, brief=False),
        Column("wins", "Won", "count", lambda row: row.item.wins, brief=False),
        Column("ties", "Tied", "count", lambda row: row.item.ties, brief=False),
        Column("losses", "Lost", "count", lambda row: row.item.losses, brief=False),
        Column("verdict", "Verdict", value=lambda row: row.item.verdict, tone=_find_tone),
    ]


def _find_tone(row: PairRow) -> Tone:
    item: Difference = row.item
    return TONES.get(item.verdict, "")


def _name_columns(compared: Comparison) -> list[Column]:
    """Return the column that names the pair, if there are several pairs."""
    return [Column("pair", "Pair")] if len(compared.pairs) > 1 else []


def _name(compared: Comparison, place: int, word: str) -> str:
    """Return the label of one of the two runs; `word` if there are several pairs."""
    return word if len(compared.pairs) > 1 else compared.labels[place]


def _list_rows(compared: Comparison, choose: Callable[[Pair], Iterable[Any]]) -> list[PairRow]:
    pairs = zip(compared.names, compared.pairs, strict=True)
    return [PairRow(*names, item) for names, pair in pairs for item in choose(pair)]
