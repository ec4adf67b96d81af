"""What the page of changed passages asks for and sends: where judgments stand now, by people."""

from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from typing import Any

from assay.eval.collections.living.review import OpenJudgment, ReviewFile
from assay.eval.collections.living.search import split_words
from assay.eval.report.page import render_page
from assay.retrievers.base import AssayError


class ReviewSession:
    """The session of a person who decides. Raises AssayError for what the page must not send."""

    def __init__(self, review: ReviewFile, judge: str) -> None:
        self._review = review
        self._judge = judge
        if not review.read():
            raise AssayError(f"{review.path}: no judgment waits; `assay dataset sync` says so too")

    @property
    def page(self) -> str:
        """The page, as HTML."""
        return render_page(
            "studies/judging/templates/review.html.j2",
            ("studies/judging/templates/requests.js", "studies/judging/templates/review.js"),
            ("studies/judging/templates/judging.css",),
            requests="'self'",
        )

    @property
    def reads(self) -> Mapping[str, Callable[[dict[str, str]], dict[str, Any]]]:
        """What the page asks for, by address."""
        return {"/state": lambda _: self.state()}

    @property
    def writes(self) -> Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        """What the page sends, by address."""
        return {"/decide": self.decide}

    def state(self) -> dict[str, Any]:
        """Return who decides, and all judgments that wait."""
        items = [_show(item) for item in self._review.read().values()]
        return {
            "judge": self._judge,
            "title": f"Changed passages of {self._review.path.parent.name}",
            "items": items,
        }

    def decide(self, given: dict[str, Any]) -> dict[str, Any]:
        """Keep a decision: `id`, and `decision`, the number of a place, 0 of none, or null."""
        id_, decision = given.get("id"), given.get("decision")
        if not isinstance(id_, str) or not (decision is None or type(decision) is int):
            raise AssayError("id must be a text, and decision a whole number or null")
        self._review.decide(id_, decision, self._judge)
        return {}


def _show(item: OpenJudgment) -> dict[str, Any]:
    """Return what the page shows of a judgment: for each place, which words differ."""
    shown = item.model_dump(include={"id", "query", "query_id", "path", "headings", "decision"})
    shown |= item.model_dump(include={"grade", "judged_by", "judged_on"})
    places = []
    for place in item.places:
        old, new = _mark(item.text, place.text)
        about = place.model_dump(include={"path", "similarity"})
        places.append(about | {"old": old, "parts": new})
    return shown | {"places": places}


def _mark(old: str, new: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the parts of two texts, each with whether the other has it too."""
    one, other = split_words(old), split_words(new)
    left, right = list[dict[str, Any]](), list[dict[str, Any]]()
    for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        for parts, words in ((left, one[a:b]), (right, other[c:d])):
            if words:
                parts.append({"text": "".join(words), "same": tag == "equal"})
    return left, right
