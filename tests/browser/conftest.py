"""A browser, and the page of the module under test in it."""

import pytest
from tools.browser import CHROMIUM, DESKTOP, FLAGS


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on the PATH")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser, address):
    """The open page of `address`, which each module gives.

    It must neither complain nor ask for anything, whatever a test does.
    """
    context = browser.new_context(viewport=DESKTOP)
    opened = context.new_page()
    opened.set_default_timeout(5000)
    said = []
    asked = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(address)
    yield opened
    assert opened.evaluate("window.hacked") is None
    context.close()
    assert said == []
    assert {url.partition("#")[0] for url in asked} == {address}
