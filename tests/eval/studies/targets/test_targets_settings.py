"""What `targets.yaml` may say: one line names the file, the id and the key of what is wrong."""

import pytest
from tools.processes import ROOT

from assay.eval.studies.targets.lab import TargetLab
from assay.eval.studies.targets.settings import check, choose, load_settings
from assay.retrievers.base import AssayError, Quiet
from scripts import lookup_collections

CONFIGS = ROOT / "configs"
GOOD = """
targets:
  T-1:
    criterion: exact look-ups
    as_written: always first
    measurements:
      - {type: score, pipeline: bm25, dataset: harbourline, measure: Hit@1, at_least: 0.99}
  T-2:
    criterion: later
    as_written: some day
    reason: no stage does it yet
"""


def write(folder, text):
    path = folder / "targets.yaml"
    path.write_text(text)
    return path


def read_and_check(path):
    """Read targets on the configs of the project."""
    settings = load_settings(path)
    check(settings, TargetLab(settings.pipelines, CONFIGS, path.parent, False, Quiet()), path)


BAD = [
    ("as_written: always first", "asWritten: x", "targets.T-1.as_written: missing"),
    ("type: score", "type: guess", "T-1.measurements.0.type: 'guess' is not one of: 'score',"),
    ("type: score, ", "", "T-1.measurements.0: must be a mapping with the key `type`, one of: sc"),
    ("at_least: 0.99", "least: 0.99", "measurements.0.least: unknown key; allowed: at_least,"),
    ("at_least: 0.99", "at_least: high", "T-1.measurements.0.at_least: input should be a"),
    (", at_least: 0.99", "", "T-1: measurements: one of them needs a limit"),
    ("at_least: 0.99", "at_least: 1, more_than: 1", "more_than: not allowed beside at_least"),
    ("at_least: 0.99", "at_least: 0.9, alert: 0.95", "alert: must lie below the limit"),
    ("at_least: 0.99", "at_most: 1, alert: 3, page: 2", "page: must lie above the limit, and"),
    ("at_least: 0.99", "at_least: 0, at_most: 1, page: 2", "page: needs one limit that it"),
    ("    reason: no stage does it yet\n", "", "T-2: measurements: missing; or give the"),
    ("T-2", "T 2", "'T 2': an id is made of letters, digits and hyphens"),
    ("T-2", "T-1", "the key 'T-1' stands twice"),
    ("Hit@1", "Hit@x", "T-1: measurements.0.measure: measures: 'Hit@x' is not"),
    ("harbourline", "harborline", "T-1: measurements.0.dataset: harborline: there is no such"),
    ("pipeline: bm25", "pipeline: bm52", "T-1: measurements.0.pipeline: "),
    ("targets:\n", "target:\n", "targets: missing"),
    (
        "targets:",
        "pipelines: {bm25: {config: bm25.yaml, overrides: [limitt=1]}}\ntargets:",
        "T-1: measurements.0.pipeline: ",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD)
def test_what_is_wrong_is_named(tmp_path, old, new, message):
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(AssayError) as caught:
        read_and_check(path)
    told = str(caught.value)
    assert told.startswith(f"{path}: ")
    assert message in told
    assert "\n" not in told


def test_the_targets_of_the_project_are_measured_on_its_default_collection():
    settings = load_settings(CONFIGS / "targets.yaml")
    used = {item.dataset for target in settings.targets.values() for item in target.measurements}
    assert "tarnwick:test" in used
    assert not any(name.startswith("harbourline") for name in used)
    assert used >= {*lookup_collections.LOOKUPS, *lookup_collections.OFF_TOPIC}


def test_targets_are_chosen_by_id(tmp_path):
    path = write(tmp_path, GOOD)
    settings = load_settings(path)
    assert list(choose(settings, [], path)) == ["T-1", "T-2"]
    assert list(choose(settings, ["T-2"], path)) == ["T-2"]
    with pytest.raises(AssayError, match="there is no target T-3; there are: T-1, T-2"):
        choose(settings, ["T-3"], path)


def test_the_targets_of_the_project_can_be_read():
    """Every config, collection and measure that they name exists."""
    read_and_check(CONFIGS / "targets.yaml")
