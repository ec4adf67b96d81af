"""The site of the documents: it builds without a warning and works from a file, offline."""

import re
import subprocess
import sys

import pytest
from tools.browser import DESKTOP, PHONE, contrast, overflow
from tools.processes import ROOT

pytestmark = pytest.mark.slow

pytest.importorskip("mkdocs", reason="the group `docs` is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; MkDocs is strict: a broken link, anchor or docstring is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING -" not in done.stderr
    return folder


@pytest.fixture
def opened(site, browser):
    """A page of a browser, that must not complain nor ask for anything but files of the site."""
    page = browser.new_page(viewport=DESKTOP)
    page.set_default_timeout(10_000)
    said = []
    asked = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    yield page
    page.close()
    assert said == []
    own = (site.as_uri(), "about:srcdoc", "data:")
    assert [url for url in asked if not url.startswith(own)] == []


def test_no_page_loads_anything_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 60
    loads = re.compile(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"?(?:https?:)?//[^\" >]*")
    found = {page.name: hits for page in pages if (hits := loads.findall(page.read_text()))}
    assert not found


def test_what_is_generated_is_there(site):
    command = (site / "commands/compare.html").read_text()
    assert "Compare with the first" in command or "compare [OPTIONS]" in command
    assert "--no-track" in command
    assert "--full" in command
    made = [*site.glob("commands/*.html"), site / "configs.html"]
    assert not [page.name for page in made if "\\&lt;" in page.read_text()], "an escape is shown"
    configs = (site / "configs.html").read_text()
    assert 'id="rrfsettings"' in configs
    assert "candidates handed on" in configs
    api = (site / "api.html").read_text()
    for section in ("Parameters:", "Returns:", "Raises:", "Examples:"):
        assert api.count(section) >= 5
    source = (site / "source/examples/heading_leg.py.html").read_text()
    assert "HeadingSettings" in source


def test_search_works_from_a_file(opened):
    opened.click(".md-search__input")
    opened.keyboard.type("randomisation")
    opened.wait_for_selector(".md-search-result__item")
    found = opened.locator(".md-search-result__list").inner_text()
    assert "randomisation test" in found.lower()


def test_every_page_fits_a_phone(site, opened):
    opened.set_viewport_size(PHONE)
    for name in ("index", "start", "configs", "commands/run", "api", "statistics"):
        opened.goto((site / f"{name}.html").as_uri())
        assert overflow(opened) <= 0, name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_links_stand_out(scheme, opened):
    """As WCAG 2 asks for at level AA; the scheme is that of the system."""
    opened.emulate_media(color_scheme=scheme)
    opened.reload()
    chosen = opened.evaluate("document.body.dataset.mdColorScheme")
    assert chosen == {"light": "default", "dark": "slate"}[scheme]
    ground = read_colour(opened, "body", "backgroundColor")
    for place in (".md-typeset p", ".md-typeset p a", ".md-typeset li a"):
        assert contrast(read_colour(opened, place, "color"), ground) >= 4.5, place


def read_colour(page, place, name):
    """Return a colour as `#rrggbb`, as it looks on white or black where it is transparent."""
    value = page.evaluate(
        """([place, name]) => {
            const canvas = document.createElement("canvas").getContext("2d")
            const draw = colour => { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1) }
            draw(getComputedStyle(document.body).backgroundColor)
            draw(getComputedStyle(document.querySelector(place))[name])
            return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)
        }""",
        [place, name],
    )
    return "#" + "".join(f"{part:02x}" for part in value)
