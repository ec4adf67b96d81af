"""`assay baseline`: the baselines that the gate compares with."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import print_json
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument, StudyOptions

if TYPE_CHECKING:
    from assay.eval.studies.gate.baseline import Baseline


@click.group()
def baseline() -> None:
    """Accept a run as the baseline of its config and collection, or show baselines."""


class FolderOptions(StudyOptions):
    """The option for the folder of baselines."""

    baselines: Path | None = Field(
        None, description="Folder of the baselines.  [default: baselines below the reports]"
    )


class BaselineOptions(FolderOptions):
    """The options for the folder of baselines, and for the measures that score them."""

    settings: Path | None = Field(
        None, description="Settings of the gate.  [default: configs/gate.yaml]"
    )


class AcceptOptions(BaselineOptions):
    """The run that becomes a baseline."""

    run: Annotated[str, Argument()]


class ShowOptions(FolderOptions):
    """The baseline that is shown; all without a name."""

    name: Annotated[str | None, Argument()] = None


@baseline.command()
@takes(AcceptOptions)
@options.JSON
def accept(asked: AcceptOptions, as_json: bool) -> None:
    """Make RUN the baseline of its config and collection.

    RUN is the id of a run, the beginning of one, or its folder. Nothing else writes a baseline.
    Runs that are degraded, sampled, or of code that was not committed are refused. Commit the file:
    its diff shows the queries that changed.
    """
    from assay.eval.configs.locations import reports_folder
    from assay.eval.configs.named_configs import SUFFIXES
    from assay.eval.runs.stored import find, load
    from assay.eval.studies.gate import baseline as baselining
    from assay.eval.studies.gate.running import baselines_folder
    from assay.eval.studies.gate.settings import load_settings
    from assay.retrievers.base import AssayError
    from assay.retrievers.store.locks import changing

    run = asked.run
    if run.endswith(SUFFIXES):
        raise AssayError(f"{run}: a baseline is made of a run, not of a config; name the run")
    stored = load(find(reports_folder(), run))
    folder = baselines_folder(asked.baselines)
    manifest = stored.manifest
    path = baselining.locate(folder, manifest.name, manifest.collection.name)
    with changing(path):
        before = baselining.read(path) if path.exists() else None
        baselining.accept(stored, load_settings(asked.settings).scored, folder)
        after = baselining.read(path)
    if as_json:
        print_json({"baseline": str(path), "run": after.run, "means": after.means})
        return
    click.echo(f"{path}: {after.run}")
    for name, mean in after.means.items():
        old = before.means.get(name) if before else None
        was = "" if old is None else f", was {old:.3f}"
        click.echo(f"  {name:<12} {mean:.3f}{was}")


@baseline.command()
@takes(ShowOptions)
@options.JSON
def show(asked: ShowOptions, as_json: bool) -> None:
    """Show the baseline NAME, as in hybrid_rrf@scifact, or all."""
    from assay.eval.studies.gate import baseline as baselining
    from assay.eval.studies.gate.running import baselines_folder

    folder = baselines_folder(asked.baselines)
    paths = [folder / f"{asked.name}.json"] if asked.name else sorted(folder.glob("*.json"))
    found = [baselining.read(path) for path in paths]
    if as_json:
        print_json({"baselines": [_describe(item) for item in found]})
        return
    for item in found:
        means = ", ".join(f"{measure} {mean:.3f}" for measure, mean in item.means.items())
        click.echo(f"{item.label}: {means}")
        click.echo(
            f"  {len(item.scores)} queries, run {item.run}, {item.created}, code {item.code}"
        )
    if not found:
        click.echo(f"no baselines in {folder}; make one with `assay baseline accept RUN`")


def _describe(item: "Baseline") -> dict[str, object]:
    return item.model_dump(exclude={"scores", "rankings", "config", "format"})
