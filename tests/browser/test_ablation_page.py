"""The page of an ablation in a real browser: its tables are no wider than the page."""

import pytest
from samples.ablation import RERANK, make_ablation, row

from assay.eval.report.files import write_blocks
from assay.eval.studies.ablation.analysis import MEASURES
from assay.eval.studies.ablation.study import report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    named = row(RERANK, 0.4, 0.6, MEASURES)
    found = make_ablation(named, 3, MEASURES)
    return write_blocks(found, report(found), tmp_path_factory.mktemp("reports")).as_uri()


def test_tables_are_no_wider_than_the_page(page):
    tables = page.locator(".scroll")
    assert tables.count() == 4
    for i in range(tables.count()):
        assert tables.nth(i).evaluate("box => box.scrollWidth - box.clientWidth") <= 0
