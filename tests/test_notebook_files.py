"""What a notebook may hold when it is committed."""

import json
import re

import pytest
from test_layout import NOT_IN_SOURCES
from tools.processes import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_both_are_there():
    assert [path.stem for path in NOTEBOOKS] == ["compare_runs", "failure_analysis"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_outputs_and_nothing_of_one_machine(path):
    text = path.read_text()
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
        assert not cell["metadata"]
    assert notebook["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert not re.search(NOT_IN_SOURCES["a path of one machine"], text)


def test_compare_runs_reads_only_mlflow():
    notebook = json.loads((ROOT / "notebooks/compare_runs.ipynb").read_text())
    code = "\n".join(
        line for cell in notebook["cells"] if cell["cell_type"] == "code" for line in cell["source"]
    )
    imported = re.findall(r"^from assay\S* import .*", code, re.MULTILINE)
    assert imported == [
        "from assay import load_tracked_runs",
        "from assay.eval.statistics.estimates import estimate_mean",
        "from assay.retrievers.base import AssayError",
    ]
    assert not re.search(r"\bopen\(|read_(?!tracked)|ASSAY_REPORTS|reports/", code)
