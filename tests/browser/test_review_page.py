"""The page of changed passages in a real browser, on texts that try to break out of it."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from samples.report import HOSTILE
from tools.browser import PHONE, overflow

from assay.eval.collections.living.review import OpenJudgment, ProposedPlace, ReviewFile
from assay.eval.studies.judging.review_session import ReviewSession
from assay.eval.studies.judging.server import JudgingServer

OLD = f"The fee is twelve crowns. {HOSTILE}"
PLACES = [
    ProposedPlace(path=f"{i}{HOSTILE}.md", start=0, end=9, text=text, similarity=0.9)
    for i, text in enumerate((f"The fee is ten crowns. {HOSTILE}", OLD))
]


def make(name: str, places: list[ProposedPlace]) -> OpenJudgment:
    return OpenJudgment(
        id=name,
        query_id=name,
        query=f"cost of {name}? {HOSTILE}",
        status="reworded",
        grade=2,
        judged_by="person ben",
        path="fees.md",
        headings=["Fees", HOSTILE],
        text=OLD,
        places=places,
    )


@pytest.fixture
def review(tmp_path: Path) -> ReviewFile:
    file = ReviewFile(tmp_path / "review.jsonl")
    file.write({item.id: item for item in (make("q1", PLACES[:1]), make("q2", PLACES))})
    return file


@pytest.fixture
def page(browser: Any, review: ReviewFile) -> Iterator[Any]:
    """The open page of anna, which must neither complain nor ask another server for anything."""
    with JudgingServer(ReviewSession(review, "anna"), 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        context = browser.new_context(viewport=PHONE)
        opened = context.new_page()
        opened.set_default_timeout(5000)
        said: list[str] = []
        asked: list[str] = []
        opened.on("console", lambda message: said.append(message.text))
        opened.on("pageerror", lambda error: said.append(str(error)))
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto(server.address)
        wait_for(opened, "Not decided yet")
        yield opened
        assert opened.evaluate("window.hacked") is None
        context.close()
        server.shutdown()
        home = f"http://127.0.0.1:{server.server_port}/"
    assert said == []
    assert [url for url in asked if not url.startswith(home)] == []


def wait_for(page: Any, text: str) -> None:
    page.locator("#told").get_by_text(text).wait_for()


def test_one_key_decides_and_shows_the_next(page: Any, review: ReviewFile) -> None:
    assert page.locator("#query").inner_text().startswith("cost of q1?")
    assert page.locator("#old mark").all_inner_texts() == ["twelve"]
    assert page.locator("#places mark").all_inner_texts() == ["ten"]
    assert overflow(page) == 0
    page.keyboard.press("1")
    page.locator("#query").get_by_text("cost of q2?").wait_for()
    page.keyboard.press("3")  # there are two places
    page.keyboard.press("0")
    wait_for(page, "All are decided")
    found = {name: (item.decision, item.decided_by) for name, item in review.read().items()}
    assert found == {"q1": (1, "person anna"), "q2": (0, "person anna")}
    page.keyboard.press("u")
    wait_for(page, "Not decided yet")
    assert review.read()["q2"].decision is None
    assert review.read()["q1"].decision == 1
