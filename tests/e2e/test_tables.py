"""Every command that prints a table, on a terminal of 80 columns and in a pipe: nothing is cut."""

import re
from collections import Counter
from pathlib import Path

import pytest
from tools.processes import ROOT
from tools.project_files import declare_committed

WIDTH = 80
BM25 = "configs/bm25.yaml"
K1 = "retriever.legs.keyword.k1"
QUICK = ("limit=8", "latency.queries=0")
CUT = re.compile(r"[\d.]…|…[\d.]")  # a figure, not the dots between the ends of an interval
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
PLACES = re.compile(r"^(report|MLflow|page|json|config|scores|baseline) ")

SMALL = """name: small
retriever:
  legs:
    a_keyword_leg_of_a_long_name: {type: bm25}
    exact: {type: exact}
  fusion: {type: rrf}
"""
SWEEP = f"""base: {ROOT}/configs/bm25.yaml
axes: {{{K1}: [0.5, 3.0]}}
collections: [harbourline]
"""
TARGETS = f"""
pipelines:
  bm25: {{config: {ROOT}/configs/bm25.yaml, overrides: [latency.queries=0, limit=20]}}
targets:
  HIT:
    criterion: something is found
    as_written: always in the first hundred, of every type of query
    measurements:
      - {{label: "", type: score, pipeline: bm25, dataset: harbourline, measure: Hit@100,
         at_least: 0.5}}
"""
COMMANDS = {
    "run": ("run", BM25, *QUICK, "--no-track"),
    "compare": ("compare", BM25, "configs/hybrid_rrf.yaml", *QUICK, "--no-track"),
    "explain": ("explain", "{run}"),
    "verify": ("verify", "{run}"),
    "sweep": ("sweep", "{folder}/sweep.yaml", *QUICK, "--no-track"),
    "ablate": ("ablate", "{folder}/small.yaml", *QUICK, "--timed", "0", "--no-track"),
    "tune": ("tune", BM25, *QUICK, "--over", f"{K1}=0.5,1.2,5", "--repeats", "2", "--no-track"),
    "tune a grid": (
        "tune", BM25, *QUICK, "--over", f"{K1}=0.5,5", "--over", "retriever.legs.keyword.b=0.1,0.6",
        "--repeats", "2", "--no-track",
    ),
    "gate": ("gate", "{run}", "--baselines", "{folder}/baselines"),
    "targets": ("targets", "--file", "{folder}/targets.yaml", "--no-track"),
    "parity": ("parity", "sqlite", "harbourline", "--limit", "4", "--no-track"),
    "recall": (
        "recall", "qdrant-edge", "harbourline", "m=2", "--sweep", "ef=1", "--limit", "4",
        "--no-track",
    ),
    "search": ("search", BM25, "water"),
    "ingest": ("ingest", "harbourline", "--config", BM25, "--no-track"),
    "dataset list": ("dataset", "list"),
    "models list": ("models", "list"),
    "engines list": ("engines", "list"),
}  # fmt: skip
# Their tables are made by the same code as those of the others, and take seconds to fill.
SLOW = ("ablate", "compare", "gate", "parity", "recall", "sweep", "targets", "tune", "tune a grid")
# When a report was made differs from call to call.
MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?")
# Their milliseconds differ from call to call.
TIMED = ("parity", "recall", "search")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for name, text in (("small", SMALL), ("sweep", SWEEP), ("targets", TARGETS)):
        (folder / f"{name}.yaml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def run_id(folder, assay, assay_json, places):
    """The id of a run of the whole collection, which is a baseline."""
    run = str(assay_json("run", BM25, "latency.queries=0", "--no-track")["run"])
    declare_committed(Path(places["ASSAY_REPORTS"]) / run)
    done = assay("baseline", "accept", run, "--baselines", str(folder / "baselines"))
    assert done.returncode == 0, done.stderr
    return run


def blur(line):
    """Return a line without its figures: times differ from call to call."""
    return re.sub(r"[\d.,+−-]+", "#", line)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in COMMANDS]
)
def test_figures_stand_whole(name, folder, run_id, assay):
    arguments = [item.format(folder=folder, run=run_id) for item in COMMANDS[name]]
    shown = []
    for environment in ({}, {"COLUMNS": str(WIDTH)}):
        done = assay(*arguments, **environment)
        assert done.returncode in (0, 1), done.stderr
        assert not CUT.search(done.stdout)
        text = MOMENT.sub("", done.stdout)
        shown.append([line for line in text.splitlines() if not PLACES.match(line)])
    piped, narrow = shown
    assert piped
    # Sentences are left to the terminal to wrap; tables are not.
    sentences = set(map(blur, piped))
    wide = [line for line in narrow if len(line.rstrip()) > WIDTH and blur(line) not in sentences]
    assert wide == []
    whole, other = (Counter(NUMBER.findall("\n".join(lines))) for lines in (piped, narrow))
    if name in TIMED:
        assert other.total() >= whole.total()
    else:
        assert whole <= other  # headings may stand in every row
    words = [set(re.findall(r"[\w@.-]{4,}", blur("\n".join(lines)))) for lines in (piped, narrow)]
    assert words[0] <= words[1]
