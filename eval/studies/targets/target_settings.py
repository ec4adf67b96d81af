"""Reading `targets.yaml`, and refusing what can never be measured before any work starts."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.eval.collections.catalog import find
from assay.eval.configs.overrides import read_override
from assay.eval.scoring.measures import check_ranking
from assay.eval.studies.targets.measurement_base import COMPLEMENT
from assay.eval.studies.targets.measurements import Change, Score
from assay.eval.studies.targets.measurer import ProjectTargetMeasurer
from assay.eval.studies.targets.settings import Target, TargetsSettings
from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.settings import validate
from assay.retrievers.settings.errors import naming_place
from assay.retrievers.settings.files import read_mapping
from assay.retrievers.settings.trust import check_values


def load_settings(path: Path) -> TargetsSettings:
    """Read the targets at `path`. Raises AssayError naming the file, the id and the key."""
    settings = validate(TargetsSettings, read_mapping(path), str(path))
    for name, pipeline in settings.pipelines.items():
        changes = dict(map(read_override, pipeline.overrides))
        check_values(path, {"pipelines": {name: {"overrides": changes}}})
    return settings


def check(settings: TargetsSettings, measurer: ProjectTargetMeasurer, path: Path) -> None:
    """Raise AssayError unless all configs, collections and measures that are named exist.

    That a collection's data or a model is not here is no error of the file.
    """
    for name, target in settings.targets.items():
        for i, measurement in enumerate(target.measurements):
            place = f"{path}: {name}: measurements.{i}"
            with naming_place(f"{place}.dataset"):
                find(measurement.dataset)
            for key, pipeline in measurement.pipelines.items():
                with naming_place(f"{place}.{key}"):
                    measurer.config(pipeline, measurement.dataset)
            if isinstance(measurement, Score | Change):
                with naming_place(f"{place}.measure"):
                    check_ranking([measurement.measure.removeprefix(COMPLEMENT)])


def choose(settings: TargetsSettings, ids: Sequence[str], path: Path) -> Mapping[str, Target]:
    """Return the targets with these ids, in the order of the file; all where none is given."""
    if unknown := [name for name in ids if name not in settings.targets]:
        there = ", ".join(settings.targets)
        near = suggest(unknown[0], settings.targets)
        raise AssayError(f"{path}: there is no target {unknown[0]}; there are: {there}{near}")
    return {name: item for name, item in settings.targets.items() if not ids or name in ids}
