"""The cards of the judged sets below $ASSAY_DATA, against the data itself."""

import os

import pytest

from assay.eval.collections.catalog import find_card
from assay.eval.collections.check import check
from assay.eval.collections.loading import load

SETS = (
    "anthropic_codebase",
    "anthropic_docs",
    "cranfield",
    "dccode_t42",
    "legalbench_contractnli",
    "scifact",
)

pytestmark = pytest.mark.skipif(
    not os.path.isdir(os.path.join(os.environ.get("ASSAY_DATA", "/nowhere"), "scifact")),  # noqa: PTH112, PTH118
    reason="ASSAY_DATA is not set to the folder of the judged sets",
)


@pytest.mark.parametrize("name", SETS)
def test_the_data_is_what_the_card_says(name):
    errors = [str(item) for item in check(find_card(name)) if item.severity == "error"]
    assert errors == []


def test_variants():
    assert len(load("scifact").queries) == 300
    train = load("scifact:train")
    assert (train.name, len(train.queries)) == ("scifact:train", 809)
    assert load("cranfield:without_code_minus1").judgments == 1611
    assert load("anthropic_codebase:content_equal").judgments == 332
