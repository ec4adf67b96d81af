"""A study that measures published figures again."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.eval.report.blocks import Report
from assay.eval.report.files import write_beside
from assay.eval.running.study import Argument, Lab, Option, Study, StudyOptions, Written
from assay.eval.running.study_options import RERUN
from assay.eval.shipped import find_shipped
from assay.eval.studies.reproduction.analysis import Reproduction
from assay.eval.studies.reproduction.report import report
from assay.eval.studies.reproduction.running import log_reproduction, read_request, reproduce
from assay.eval.studies.reproduction.settings import load_settings


class ReproductionOptions(StudyOptions):
    """Which sets and systems of which file, and where the figures go."""

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
    """Measure systems on public sets, beside the figures that others published.

    SET is one of the file, such as scifact or nfcorpus; all where none is given. It is looked for
    as a collection of that name, then in ir_datasets; =COLLECTION says where else it is: a name, a
    folder in BEIR's layout, or irds:ID. Each figure is OK, close, or differs, with the reason where
    it is known; it is shown beside, without a verdict, where the published system is another one.

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


STUDY = Study(
    "reproduce",
    ReproductionOptions,
    find,
    report,
    write=write,
    log=lambda found, files, _: log_reproduction(found, report(found), files),
    status=lambda found: 1 if found.unexplained else 0,
)
