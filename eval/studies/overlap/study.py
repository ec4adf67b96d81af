"""A study of how much the first hits of two pipelines agree, and where they differ most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field

from assay.eval.report.blocks import Column, Plot, Report, Table
from assay.eval.report.formats import count, percent, shorten
from assay.eval.running.study import Argument, Lab, Study, StudyOptions
from assay.eval.runs import environment
from assay.eval.runs.json_form import in_json
from assay.eval.statistics.estimates import SHARE, Estimate, estimate_mean
from assay.retrievers.base import AssayError, Ranking
from assay.retrievers.store.digest import digest

SHOWN = 40  # characters of a query


class OverlapOptions(StudyOptions):
    """The runs whose first hits are compared, and how many hits."""

    runs: Annotated[tuple[str, ...], Argument("RUN RUN [KEY.PATH=VALUE]...")]
    k: int = Field(10, ge=1, le=1000, description="How many first hits are looked at.")
    by: Literal["passages", "documents"] = Field(
        "passages", description="What must be the same: pipelines that cut alike share passages."
    )


@dataclass(frozen=True)
class Agreement:
    """The agreement of the hits of a query; `first` is True if the first hit is the same."""

    query: str
    text: str
    jaccard: float
    rbo: float
    first: bool


@in_json(..., "means")
@dataclass(frozen=True)
class Overlap:
    """The agreement of two runs by query."""

    id: str
    names: tuple[str, str]
    collection: str
    k: int
    by: str
    queries: tuple[Agreement, ...]
    environment: Mapping[str, Any] = field(default_factory=environment.describe)

    @cached_property
    def means(self) -> dict[str, Estimate]:
        """The means of Jaccard, RBO and of the share of queries with the same first hit."""
        return {
            name: estimate_mean([float(getattr(item, name)) for item in self.queries], SHARE)
            for name in ("jaccard", "rbo", "first")
        }


def find(asked: OverlapOptions, lab: Lab) -> Overlap:
    """Show how much the first hits of two pipelines agree.

    Each is a config or a stored run, as `assay compare` has it. Where two pipelines hardly agree,
    fusing them can gain most; where they agree, the cheaper will do.
    """
    runs = lab.run_all(asked.runs)
    if len(runs) != 2:
        raise AssayError(f"overlap: compares two runs, not {len(runs)}")
    one, other = runs
    if one.manifest.collection.digest != other.manifest.collection.digest:
        raise AssayError("overlap: the runs are of different collections, or contents of one")
    shared = [query for query in one.queries if query in other.queries]
    if not shared:
        raise AssayError("overlap: the runs share no query")
    found = []
    for id_ in shared:
        mine, theirs = (_list_names(run.rankings[id_], asked) for run in runs)
        measured = find_jaccard(mine, theirs), find_rbo(mine, theirs)
        text, first = one.queries[id_].text, mine[:1] == theirs[:1]
        found.append(Agreement(id_, text, *measured, first))
    ids = (one.manifest.id, other.manifest.id)
    return Overlap(
        f"overlap-{digest(ids, asked.k, asked.by)[:8]}",
        (one.manifest.name, other.manifest.name),
        one.manifest.collection.name,
        asked.k,
        asked.by,
        tuple(found),
    )


def report(found: Overlap) -> Report:
    """Return the report of an overlap."""
    names, means = " and ".join(found.names), found.means
    figures = {
        f"shared of the first {found.k} (Jaccard)": means["jaccard"],
        "rank-biased overlap": means["rbo"],
        "same first hit": means["first"],
    }
    columns = [Column("figure", "", value=lambda pair: pair[0]),
               Column("mean", "Mean", "score", lambda pair: pair[1])]  # fmt: skip
    rows = sorted(found.queries, key=lambda item: (item.rbo, item.query))
    by_query = [
        Column("words", "Query", value=lambda item: shorten(item.text, SHOWN)),
        Column("rbo", "RBO", "score"),
        Column("jaccard", "Jaccard", "score"),
        Column("first", "Same first"),
        Column("query", "Id", brief=False),
    ]
    among = f"first {found.k} {found.by}" if found.k > 1 else f"first {found.by}"
    share = f"{percent(means['jaccard'].value)} of their {among}"
    first = f"the first is the same for {percent(means['first'].value)} of the queries"
    return Report(
        id=found.id,
        kind="overlap",
        title=names,
        subject=(f"on {found.collection}", count(len(found.queries), "query", "queries")),
        verdict=[f"They share {share}; {first}"],
        blocks=[
            Table("means", "In the mean", columns, list(figures.items()),
                  plot=Plot("mean", "whisker")),
            Table("queries", "Where they agree least", by_query, rows, most=10),
        ],
        environment=found.environment,
    )  # fmt: skip


def _list_names(ranking: Ranking, asked: OverlapOptions) -> list[str]:
    """Return the documents or passages of the first `k` hits, each once."""
    chunks = (hit.chunk for hit in ranking.hits)
    whole = asked.by == "documents"
    names = (i.doc_id if whole else f"{i.doc_id}:{i.start}:{i.end}" for i in chunks)
    return list(dict.fromkeys(names))[: asked.k]


STUDY = Study("overlap", OverlapOptions, find, report)


PERSISTENCE = 0.9  # of a user who looks at ten hits on average


def find_jaccard(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the Jaccard index: the share of the union that both have; 1 if both are empty."""
    either = {*one, *other}
    return len({*one} & {*other}) / len(either) if either else 1.0


def find_rbo(one: Sequence[str], other: Sequence[str], p: float = PERSISTENCE) -> float:
    r"""Return the rank-biased overlap of two rankings, each without repetitions, extrapolated.

    It is `RBO_ext` of Webber, Moffat and Zobel, "A similarity measure for indefinite rankings"
    (TOIS 2010), equation 32, which takes lists of unequal lengths; 1 if both are empty.
    """
    short, long = sorted((one, other), key=len)
    if not long:
        return 1.0
    seen_short: set[str] = set()
    seen_long: set[str] = set()
    total, common, at_short = 0.0, 0, 0
    for depth, item in enumerate(long, start=1):
        seen_long.add(item)
        if depth <= len(short):
            seen_short.add(short[depth - 1])
        common = len(seen_long & seen_short)
        total += common / depth * p**depth
        if depth == len(short):
            at_short = common
        elif depth > len(short) > 0:
            total += at_short * (depth - len(short)) / (depth * len(short)) * p**depth
    tail = (common - at_short) / len(long) + (at_short / len(short) if short else 0.0)
    return total * (1 - p) / p + tail * p ** len(long)
