"""What the page of changed passages asks for and sends, without its browser."""

from pathlib import Path
from typing import Any

import pytest

from assay.eval.collections.living.review import OpenJudgment, ProposedPlace, ReviewFile
from assay.eval.studies.judging.review_session import ReviewSession
from assay.retrievers.base import AssayError

PLACE = ProposedPlace(path="b.md", start=3, end=14, text="Ten  crowns", similarity=0.5)


@pytest.fixture
def session(tmp_path: Path) -> ReviewSession:
    file = ReviewFile(tmp_path / "own/review.jsonl")
    item = OpenJudgment(
        id="i", query_id="q", query="cost?", status="reworded", path="a.md",
        text="Six crowns", places=[PLACE],
    )  # fmt: skip
    file.write({"i": item})
    return ReviewSession(file, "anna")


def test_the_page_gets_both_texts_by_words_that_are_the_same(session: ReviewSession) -> None:
    state = session.reads["/state"]({})
    assert (state["judge"], state["title"]) == ("anna", "Changed passages of own")
    (item,) = state["items"]
    (place,) = item["places"]
    assert (item["decision"], place["path"], place["similarity"]) == (None, "b.md", 0.5)
    assert "".join(part["text"] for part in place["old"]) == "Six crowns"
    assert "".join(part["text"] for part in place["parts"]) == "Ten  crowns"
    assert place["parts"][-1] == {"text": "crowns", "same": True}


@pytest.mark.parametrize(
    "given",
    [
        {"id": "j", "decision": 1},
        {"id": "i", "decision": 2},
        {"id": "i", "decision": -1},
        {"id": "i", "decision": True},
        {"id": "i", "decision": "1"},
        {"id": 3, "decision": 1},
        {},
    ],
)
def test_what_the_page_must_not_send_is_refused(
    session: ReviewSession, given: dict[str, Any]
) -> None:
    with pytest.raises(AssayError):
        session.writes["/decide"](given)
    assert session.state()["items"][0]["decision"] is None


def test_without_anything_to_decide_there_is_no_page(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="no judgment waits"):
        ReviewSession(ReviewFile(tmp_path / "review.jsonl"), "anna")
