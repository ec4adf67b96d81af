"""The page of `assay label --serve` in a real browser, on a text that tries to break out of it."""

import threading

import pytest
from samples.report import HOSTILE
from tools.browser import PHONE, overflow

from assay.eval.collections.authoring.worksheet import Pair
from assay.eval.studies.judging.annotation_session import AnnotationSession
from assay.eval.studies.judging.grades import GradeFile
from assay.eval.studies.judging.server import JudgingServer
from assay.eval.studies.judging.sheet import Sheet

pytestmark = pytest.mark.slow

TEXT = (
    f"# Tides\n\nSpring 🌑 tides come at new moon. Neap tides come later. {HOSTILE}\n\nThe end.\n"
)
PASSAGES = ("Spring 🌑 tides come at new moon. Neap tides come later.", HOSTILE, "The end.")
PAIRS = tuple(
    Pair("q", f"when {HOSTILE}?", "", "tides.md", f"Tides {HOSTILE}", i, i + len(text), text)
    for text in PASSAGES
    for i in [TEXT.index(text)]
)
SHEET = Sheet("Tides", f"Judge. {HOSTILE}", 3, True, PAIRS, {"tides.md": TEXT})
FIRST, SECOND, THIRD = SHEET.order("anna", 0)


@pytest.fixture
def grades(tmp_path):
    file = GradeFile(tmp_path / "pool.csv.grades.db")
    yield file
    file.close()


@pytest.fixture
def page(browser, grades):
    """The open page of anna, which must neither complain nor ask another server for anything."""
    with JudgingServer(AnnotationSession(SHEET, grades, "anna", 0), 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        context = browser.new_context(viewport=PHONE, color_scheme="dark")
        opened = context.new_page()
        opened.set_default_timeout(5000)
        said = []
        asked = []
        opened.on("console", lambda message: said.append(message.text))
        opened.on("pageerror", lambda error: said.append(str(error)))
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto(server.address)
        wait_for(opened, "Pair ")  # keys count once a pair is shown
        yield opened
        assert opened.evaluate("window.hacked") is None
        context.close()
        server.shutdown()
        home = f"http://127.0.0.1:{server.server_port}/"
    assert said == []
    assert [url for url in asked if not url.startswith(home)] == []


def wait_for(page, text):
    page.locator("#told").get_by_text(text).wait_for()


def read(grades):
    return {id_: by["anna"].grade for id_, by in grades.read_grades().items() if "anna" in by}


def test_judging_by_keyboard(page, grades):
    assert "token" not in page.url
    assert overflow(page) <= 0
    wait_for(page, "Pair 1 of 3")
    assert HOSTILE in page.locator("#query").text_content()
    assert page.locator("#passage").bounding_box()["y"] < PHONE["height"]
    page.keyboard.press("2")
    wait_for(page, "Saved: 2. Pair 2 of 3.")
    assert read(grades) == {FIRST: 2}
    page.keyboard.press("7")  # no grade here
    page.keyboard.press("0")
    wait_for(page, "Saved: 0. Pair 3 of 3.")
    page.keyboard.press("u")
    wait_for(page, "Undone.")
    assert read(grades) == {FIRST: 2}
    assert page.locator("#passage").text_content() == SHEET.by_digest[SECOND].text
    page.keyboard.press("c")
    page.keyboard.type("1 of 2")
    page.get_by_text("Note saved").wait_for()
    assert grades.read_notes() == {SECOND: {"anna": "1 of 2"}}
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    wait_for(page, "Pair 3 of 3")
    assert page.locator("#note").input_value() == ""
    page.reload()
    wait_for(page, "Pair 2 of 3. Not judged yet.")
    assert page.locator("#count").text_content() == "1 of 3 judged"
    assert page.locator("#note").input_value() == "1 of 2", "it goes on where it was"
    page.locator("summary").click()
    assert HOSTILE in page.locator("#guidelines").text_content()
    assert page.locator("img").count() == 0
    assert overflow(page) <= 0
    for control in page.locator("button:visible").all():
        assert (control.text_content() or "").strip()


def test_markdown_is_shown_by_what_it_means(page):
    text = "## Tides\n\nA **spring** `tide` comes.\n~~~\n```\n# no heading\n~~~\n[Neap](n.md)"
    shown = page.evaluate(
        """text => {
            const box = document.getElementById("passage");
            showMarkdown(box, text, [6, 21]);
            const of = kind => [...box.querySelectorAll("." + kind)].map(one => one.textContent);
            return [box.textContent, box.querySelector("mark").textContent,
              ["heading", "strong", "code", "link"].map(of)];
        }""",
        text,
    )
    assert shown == [
        text,
        text[6:21],
        [
            ["## Tid", "es\n"],
            ["**spring*", "*"],
            ["`tide`", "~~~\n", "```\n", "# no heading\n", "~~~\n"],
            ["[Neap](n.md)"],
        ],
    ]


def test_a_span_by_keyboard_and_by_mouse(page, grades):
    spring = PAIRS[0]
    for place in range(2, 2 + SHEET.order("anna", 0).index(spring.digest)):
        page.keyboard.press("n")
        wait_for(page, f"Pair {place} of 3")
    page.keyboard.press("s")
    page.keyboard.press("ArrowDown")
    assert page.locator("#passage mark").text_content() == "Neap tides come later."
    page.keyboard.press("Enter")
    wait_for(page, "Span marked")
    page.keyboard.press("3")
    wait_for(page, "Saved: 3")
    start, end = grades.read_grades()[spring.digest]["anna"].span or (0, 0)
    assert TEXT[start:end] == "Neap tides come later."
    page.keyboard.press("p")
    wait_for(page, "Your grade: 3.")
    for key in ("s", "ArrowUp", "s"):
        page.keyboard.press(key)
    assert page.locator("#passage mark").text_content() == "Spring 🌑 tides come at new moon."
    page.keyboard.press("Escape")
    wait_for(page, "Dropped.")
    assert page.locator("#passage mark").text_content() == "Neap tides come later."
    assert grades.read_grades()[spring.digest]["anna"].span == (start, end), "as it was saved"
    page.keyboard.press("u")
    wait_for(page, "Undone.")
    page.evaluate(
        """() => {
            const text = document.getElementById("passage").firstChild;
            const at = text.data.indexOf("new moon");
            getSelection().setBaseAndExtent(text, at, text, at + 8);
        }"""
    )
    page.get_by_role("button", name="Select the span").click()
    wait_for(page, "Span marked")
    words = page.locator("#grades button").all_text_contents()
    assert words == ["0 not relevant", "1 partly relevant", "2 mostly relevant", "3 fully relevant"]
    page.get_by_role("button", name="Grade 2 of 3").click()
    wait_for(page, "Saved: 2")
    start, end = grades.read_grades()[spring.digest]["anna"].span or (0, 0)
    assert TEXT[start:end] == "new moon"


def test_disagreements_are_listed_and_settled(page, grades):
    for id_, mine, theirs in ((FIRST, 2, 0), (SECOND, 1, 1)):
        grades.add(id_, "anna", mine)
        grades.add(id_, "bo", theirs)
    grades.add(THIRD, "bo", 3)
    page.keyboard.press("d")
    page.get_by_role("row", name="bo 2 50 %").wait_for()
    listed = page.locator("#disagreements button")
    assert listed.count() == 1, "nothing is told of what anna has not judged"
    assert "anna 2, bo 0" in listed.text_content()
    listed.click()
    page.get_by_role("note").get_by_text("settles it").wait_for()
    page.keyboard.press("1")
    page.locator("#disagreements").get_by_text("settled as 1").wait_for()
    assert grades.read_settled()[FIRST].grade == 1
    assert read(grades)[FIRST] == 2, "what a judge gave stays"
