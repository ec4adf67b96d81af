"""The page of a sweep in a real browser: nothing complains, nothing runs, nothing overflows."""

import pytest
from samples.sweep import HOSTILE, make_sweep

from assay.eval.report.files import write_blocks
from assay.eval.studies.tuning.sweep_study import report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    sweep = make_sweep()
    return write_blocks(
        sweep, report(sweep), tmp_path_factory.mktemp("reports") / sweep.id
    ).as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_the_page(browser, address, width, scheme):
    context = browser.new_context(
        viewport={"width": width, "height": 812}, color_scheme=scheme, java_script_enabled=True
    )
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address)
    assert page.get_by_role("heading", level=1).text_content() == "sample"
    plots = page.get_by_role("img", name="nDCG@10 against p95 ms")
    assert plots.count() == 2
    assert plots.first.locator("circle").count() == 3
    assert plots.first.locator(".dim circle").count() == 1
    first = plots.first.bounding_box()
    for i in range(3):
        mark = plots.first.locator("circle").nth(i).bounding_box()
        assert first["x"] <= mark["x"] + mark["width"] / 2 <= first["x"] + first["width"]
    assert page.get_by_role("cell", name=HOSTILE).first.is_visible()
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert said == []
    context.close()
