"""A study that measures published figures again."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.eval.report.blocks import Block, Cell, Column, Facts, Prose, Report, Table, Tone
from assay.eval.report.files import write_beside
from assay.eval.report.formats import count
from assay.eval.running.study import Argument, Lab, Option, Study, StudyOptions, Written
from assay.eval.running.study_options import RERUN
from assay.eval.shipped import find_shipped
from assay.eval.studies.reproduction.analysis import (
    DIGITS,
    Reproduction,
    Row,
    SetResult,
    Verdict,
)
from assay.eval.studies.reproduction.running import log_reproduction, read_request, reproduce
from assay.eval.studies.reproduction.settings import load_settings


class ReproductionOptions(StudyOptions):
    """The sets and systems of a file to measure, and the folder of the figures."""

    sets: Annotated[tuple[str, ...], Argument("[SET[=COLLECTION]]...")] = ()
    systems: Annotated[tuple[str, ...], Option(("--system",), metavar="NAME")] = Field(
        (), description="This system alone. Repeatable."
    )
    file: Annotated[Path | None, Option(path="file")] = Field(
        None, description="The figures.  [default: configs/published.yaml]"
    )
    rerun: Annotated[bool, RERUN] = Field(
        False, description="Search again, though a run is stored."
    )
    output: Annotated[Path | None, Option(path="folder")] = Field(
        None,
        description="Folder of published.md, .html and .json.  [default: published below the "
        "reports]",
    )


def find(asked: ReproductionOptions, lab: Lab) -> Reproduction:
    """Measure systems on public sets, with the figures that others published.

    SET is one of the file, such as scifact or nfcorpus; all where none is given. It is looked for
    as a collection of that name, then in ir_datasets; =COLLECTION says where else it is: a name, a
    folder in BEIR's layout, or irds:ID. Each figure is OK, close, or differs, with the reason where
    it is known; it is shown without a verdict where the published system is another one.

    Exit code: 0 done; 1 where a figure differs and the file knows no reason; 2 for an error to fix,
    or where none of the sets is here.
    """
    settings = load_settings(asked.file or find_shipped("configs") / "published.yaml")
    chosen = read_request(asked.sets, asked.systems, settings)
    return reproduce(settings, chosen, asked.systems, asked.rerun, lab.progress)


def write(found: Reproduction, told: Report, asked: ReproductionOptions, lab: Lab) -> Written:
    """Write the figures into one folder, the same for all choices of sets and systems."""
    place = (asked.output or lab.reports / "published") / "published"
    *_, text = files = write_beside(found, told, place)
    return Written({"report": text}, files)


METHOD = (
    "The verdict says how far apart figures are: OK within {ok:g}, close within {close:g}, differs "
    "beyond that. Both are means over the same queries, so code or weights differ, not chance. The "
    "reasons are known causes, not measured shares. Beside has no verdict: the published system is "
    "another one. Figures and sources are in configs/published.yaml."
)


def report(found: Reproduction) -> Report:
    """Return the report of a reproduction."""
    here = [one for one in found.sets if one.collection]
    return Report(
        id=found.id,
        kind="reproduction",
        title="Published figures",
        subject=[*(f"{one.title} (n = {one.queries:,})" for one in here), found.created[:10]],
        verdict=list(_tell(found)),
        warnings=list(_warn(found)),
        blocks=[
            *(block for one in here for block in _show(found, one)),
            *_show_missing(found),
            Facts(
                "How each is run",
                [(system["title"], system["command"]) for system in found.systems.values()],
                brief=False,
            ),
            _show_sources(found),
            Prose("What the verdicts mean", METHOD.format(**found.tolerance.model_dump())),
        ],
        environment=found.environment,
    )


def _tell(found: Reproduction) -> Iterator[str]:
    """Yield the number of figures met, and the number of figures of other systems."""
    rows = [row for one in found.sets for row in one.rows if row.measured is not None]
    given = Counter(row.verdict for row in rows)
    judged = len(rows) - given["beside"]
    limits: Mapping[Verdict, str] = {
        "OK": f"within {found.tolerance.ok:g}",
        "close": f"within {found.tolerance.close:g}",
        "differs": "by more than that",
    }
    told = [f"{given[name]} {name} ({limit})" for name, limit in limits.items() if given[name]]
    if judged:
        yield f"of {count(judged, 'published figure')} measured again: {', '.join(told)}"
    if other := given["beside"]:
        yield f"{count(other, 'figure')} of another system stand beside, without a verdict"


def _warn(found: Reproduction) -> Iterator[str]:
    if number := len(found.unexplained):
        differ = "1 figure differs" if number == 1 else f"{number} figures differ"
        yield (
            f"{differ}, and the file knows no reason: look at what differs before you trust other "
            "figures of the system"
        )


def _show(found: Reproduction, one: SetResult) -> Iterator[Block]:
    """Yield the figures of a set, the known causes of differences, and what was not measured."""
    measured = [row for row in one.rows if row.measured is not None]
    left_out = [row for row in one.rows if row.measured is None]
    key = one.name.replace(":", "_")
    published = Column(
        "published", "Published", "precise", lambda row: row.figure.value,
        link=lambda row: found.sources[row.figure.source]["link"],
    )  # fmt: skip
    named = [
        Column("system", "System", value=lambda row: row.figure.system),
        Column("title", "What it is", value=partial(_find_title, found), brief=False),
        Column("measure", "Measure", value=lambda row: row.figure.measure),
        published,
    ]
    columns = [
        *named,
        Column("measured", "Here", "precise"),
        Column("difference", "Difference", "precise difference"),
        Column("verdict", "Verdict", tone=_colour),
    ]
    place = "" if one.collection == one.name else f", found as {one.collection}"
    note = f"{count(one.queries, 'query', 'queries')} of {one.name}{place}."
    yield Table(f"figures_{key}", f"{one.title} (n = {one.queries:,})", columns, measured, note)
    causes = [(_name(row), "; ".join(row.reasons)) for row in measured if row.reasons]
    if causes:
        yield Facts(f"Known causes on {one.title}", causes)
    if left_out:
        why = Column("why_not", "Why not")
        title = f"Not measured on {one.title}"
        yield Table(f"left_out_{key}", title, [*named, why], left_out, brief=False)


def _find_title(found: Reproduction, row: Row) -> Cell:
    return found.systems[row.figure.system]["title"]


def _name(row: Row) -> str:
    return f"{row.figure.system} {row.figure.measure}, published {row.figure.value:.{DIGITS}f}"


def _colour(row: Row) -> Tone:
    return "better" if row.verdict == "OK" else "worse" if row.verdict == "differs" else ""


def _show_missing(found: Reproduction) -> Iterator[Block]:
    """Yield the sets that are not available, with the reasons."""
    pairs = [
        (one.title, f"{one.missing}. The file has {count(len(one.rows), 'figure')} of it.")
        for one in found.sets
        if one.missing
    ]
    if pairs:
        yield Facts("Sets without a figure here", pairs, brief=False)


def _show_sources(found: Reproduction) -> Table:
    columns = [
        Column("title", "Source", value=itemgetter("title"), link=itemgetter("link")),
        Column("link", "Address", value=itemgetter("link")),
    ]
    return Table("sources", "Sources", columns, [*found.sources.values()], brief=False)


STUDY = Study(
    "reproduce",
    ReproductionOptions,
    find,
    report,
    write=write,
    log=lambda found, files, _: log_reproduction(found, report(found), files),
    status=lambda found: 1 if found.unexplained else 0,
)
