"""A study of an engine's hybrid search: its agreement with its formula, and its quality."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from assay.eval.report.blocks import Block, Cell, Column, Facts, Plot, Prose, Report, Table, Tone
from assay.eval.report.formats import count
from assay.eval.running.search_space import describe
from assay.eval.running.study import Argument, Lab, Study, StudyOptions
from assay.eval.running.study_options import LARGEST, LIMIT_HELP, Words
from assay.eval.studies.comparison.differences import SYMMETRY, Difference
from assay.eval.studies.stores.parity.results import Parity
from assay.eval.studies.stores.parity.running import MEASURES, NATIVE, OURS, measure_parity
from assay.eval.studies.stores.parity.verdicts import Example, ListPosition
from assay.eval.tracking.delivery import log_result


class ParityOptions(StudyOptions):
    """An engine, and the collection it is asked on."""

    engine: Annotated[str, Argument()]
    words: Words = ()
    limit: int | None = Field(None, ge=1, le=LARGEST, description=LIMIT_HELP)


def find(asked: ParityOptions, lab: Lab) -> Parity:
    """Compare an engine's hybrid search with its stated formula, and with our fusion.

    ENGINE is a type such as qdrant-edge, COLLECTION one of datasets/, KEY=VALUE changes a setting
    of the engine, as in k=2 fusion=dbsf depth.dense=20 exact=false. The engine's two lists are
    fetched separately and fused by its stated formula. The verdict on what it returns: identical,
    identical but for ties, or different. Then the quality of its lists, of its own fusion, and of
    ours (reciprocal ranks, k = 60) of the same lists.

    Exit code: 0 done, whatever the verdict; 2 for an error to fix.
    """
    return measure_parity(asked.engine, asked.words, asked.limit, lab.resources)


def log(found: Parity, files: Sequence[Path], _lab: Lab) -> str:
    """Send a parity with its files to MLflow; return the id of the MLflow run.

    The examples are left out, because ranks of single texts are no metrics. Raises TrackingError.
    """
    params = {"engine": found.settings, "collection": found.collection}
    tags = {"assay.verdict": found.verdict}
    return log_result(report(found), files, params, without=("examples",), tags=tags)


NAMES: Mapping[str, str] = {
    "dense": "dense list alone",
    "keyword": "keyword list alone",
    NATIVE: "native hybrid",
    OURS: "our RRF",
}
VERDICTS = (
    "Identical: the same passages in the same order, scores equal but for rounding. Ties: the same "
    "but for the order of equal scores, in the fused list or within one of the two."
)
SYSTEMS = (
    "All of the same two lists: our RRF is reciprocal rank fusion (k = 60, ranks from 1). "
    "`assay compare` of a config with native_hybrid and others has their times and more."
)
DIFFERENCES = (
    "Paired by query. p adjusted for the {n} measures together, for all of which the intervals "
    "hold at once. The band marks the smallest detectable difference."
)
METHOD = (
    "The engine returned its dense list, its keyword list and its own hybrid list of every query; "
    "the first two were fused by the engine's stated formula. All engines are given the same "
    "vectors, of {encoder}. Intervals at 95 %: Student's over queries."
)

Named = tuple[str, Difference]  # by the name of its row
Place = tuple[Example, ListPosition]


def report(parity: Parity) -> Report:
    """Return the report of an engine's parity."""
    return Report(
        id=parity.id,
        kind="parity",
        title=f"Parity of {parity.label} on {parity.collection}",
        subject=(
            count(parity.queries, "query", "queries"),
            count(parity.passages, "passage"),
            parity.created,
            f"version {parity.meaning['version']}",
        ),
        verdict=[
            f"{parity.verdict.capitalize()}: {describe_verdict(parity)}",
            f"Formula: {parity.meaning['formula']}",
            f"Native hybrid, {MEASURES[0]} beside our RRF: {parity.differences[0].verdict}",
            parity.claims.sentence,
        ],
        warnings=[
            *parity.warnings,
            *(
                f"{item.measure}: native {item.verdict} than ours {SYMMETRY}"
                for item in parity.differences
                if item.presumes_symmetry
            ),
        ],
        blocks=list(_list_blocks(parity)),
        environment=parity.provenance,
    )


def describe_verdict(parity: Parity) -> str:
    """Describe in words how far the results agree with the formula."""
    counts, queries = parity.counts, count(len(parity.verdicts), "query", "queries")
    if counts["different"]:
        return f"{counts['different']} of {queries} come back otherwise than by the stated formula"
    ties = f", but for the order of equal scores in {counts['ties']}" if counts["ties"] else ""
    return f"on all of {queries} the engine returns what its formula makes of its two lists{ties}"


def _list_blocks(parity: Parity) -> Iterator[Block]:
    if parity.examples:
        yield _show_examples(parity)
    yield _show_systems(parity)
    pairs = [(item.measure, item) for item in parity.differences]
    note = DIFFERENCES.format(n=len(pairs))
    yield _show_differences(pairs, note)
    yield Facts("What hybrid means here", describe_meaning(parity.meaning), brief=False)
    verdicts = [
        Column("verdict", "Queries", value=itemgetter(0)),
        Column("queries", "n", "count", itemgetter(1)),
    ]
    yield Table(
        "verdicts", "Formula and answers", verdicts, list(parity.counts.items()), VERDICTS,
        brief=False,
    )  # fmt: skip
    yield Prose("Lists and intervals", METHOD.format(encoder=parity.encoder))


def describe_meaning(meaning: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Describe in words the hybrid search of the engine."""
    depth, origin = meaning["depth"], meaning["ranks_from"]
    return (
        ("Fused", meaning["place"]),
        ("Formula", meaning["formula"]),
        ("Ties", meaning["ties"]),
        ("Ranks from", "no ranks: scores are fused" if origin is None else str(origin)),
        ("Depth", f"dense {depth['dense']}, keyword {depth['keyword']}"),
        *(("Keyword search", describe_keyword(item)) for item in meaning["keyword"]),
        ("Dense search", "exact cosine" if meaning["exact"] else "approximate"),
        ("Approximate indexes", ", ".join(meaning["approximate"]) or "none"),
    )


def describe_keyword(item: Mapping[str, Any]) -> str:
    """Return the scoring of terms in words, with its settings."""
    values = ", ".join(f"{name} {describe(value)}" for name, value in item["values"].items())
    return f"{item['says']} ({values})"


def _show_examples(parity: Parity) -> Table:
    """Return the passages of the first queries that differ, from the first difference on."""

    def read(key: str) -> Callable[[Place], Cell]:
        return lambda place: getattr(place[1], key)

    def judge(place: Place) -> Tone:
        return "worse" if place[0].verdict == "different" else ""

    columns = [
        Column("chunk", "Passage", value=read("chunk")),
        Column("query", "Query", value=lambda place: place[0].text or place[0].query, tone=judge),
        Column("query_id", "Its id", value=lambda place: place[0].query, brief=False),
        Column("verdict", "Verdict", value=lambda place: place[0].verdict, brief=False),
        Column("rank", "From rank", "count", lambda place: place[0].rank, brief=False),
        Column("returned", "Returned at", "count", read("returned")),
        Column("returned_score", "Score", "number", read("returned_score"), brief=False),
        Column("expected", "By the formula at", "count", read("expected")),
        Column("expected_score", "Its score", "number", read("expected_score"), brief=False),
        Column("dense", "Dense rank", "count", read("dense")),
        Column("keyword", "Keyword rank", "count", read("keyword")),
    ]
    rows = [(example, place) for example in parity.examples for place in example.places]
    kind = parity.examples[0].verdict
    title = "Queries that differ, from the first rank" if kind == "different" else "Queries of ties"
    return Table("examples", title, columns, rows)


def _show_systems(parity: Parity) -> Table:
    """Return the means of each kind of search."""

    def read_mean(measure: str, system: str) -> Cell:
        return parity.measures[system][measure]

    columns = [
        Column("search", "Search", value=NAMES.__getitem__),
        *(Column(name, name, "score", partial(read_mean, name)) for name in MEASURES),
    ]
    return Table("systems", "Quality", columns, list(parity.measures), SYSTEMS)


def _show_differences(pairs: list[Named], note: str) -> Table:
    """Return the differences by measure."""

    def read(name: str) -> Callable[[Named], Cell]:
        return lambda row: getattr(row[1], name)

    columns = [
        Column("measure", "Measure", value=itemgetter(0)),
        Column("difference", "Difference", "difference", _find_difference, tone=_colour),
        Column("p", "p", "p", read("reported_p")),
        Column("verdict", "Verdict", value=read("verdict"), tone=_colour),
        Column("base", "Other", "score", read("base"), brief=False),
        Column("native", "Native", "score", read("other"), brief=False),
        Column("detectable", "Detectable", "score", read("detectable"), brief=False),
        Column("effect_size", "d", "difference", read("effect_size"), brief=False),
        Column("wins", "Better", "count", read("wins"), brief=False),
        Column("ties", "Equal", "count", read("ties"), brief=False),
        Column("losses", "Worse", "count", read("losses"), brief=False),
    ]
    band = Plot("difference", band=lambda row: row[1].detectable)
    title = "Native hybrid minus our RRF"
    return Table("differences", title, columns, pairs, note, band)


def _find_difference(row: Named) -> Cell:
    item = row[1]
    return replace(item.interval, value=item.difference.value)


def _colour(row: Named) -> Tone:
    verdict = row[1].verdict
    return verdict if verdict in ("better", "worse") else ""


STUDY = Study("parity", ParityOptions, find, report, log=log)
