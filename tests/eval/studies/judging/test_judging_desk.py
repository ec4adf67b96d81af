"""What a judge is shown, in which order, and what the page may not send."""

import pytest
from samples.judged_guide import APT, GUIDE, TEN, write_table

from assay.eval.collections.authoring import worksheet
from assay.eval.collections.loading import load
from assay.eval.studies.judging.annotation_session import AnnotationSession
from assay.eval.studies.judging.sheet import make_sheet
from assay.retrievers.base import AssayError


def test_the_order_is_of_the_judge_and_holds_queries_together(sheet):
    orders = {tuple(sheet.order(judge, seed)) for judge in ("anna", "bo") for seed in range(9)}
    assert len(orders) > 1
    assert sheet.order("anna", 3) == sheet.order("anna", 3)
    for order in orders:
        assert sorted(order) == sorted(sheet.by_digest)
        asked = [sheet.by_digest[id_].query_id for id_ in order]
        assert asked in (["q", "r", "r"], ["r", "r", "q"])


def test_nothing_but_the_pair_is_shown(sheet):
    assert sheet.show(APT) == {
        "id": APT.digest, "query": "how to install", "document": "guide.md", "title": "",
        "before": GUIDE[: APT.start], "text": "Use apt.", "after": GUIDE[APT.end :],
    }  # fmt: skip


def test_a_table_that_does_not_fit_is_refused(table):
    write_table(table, {APT: "", TEN: ""}, text="x", start="1")
    with pytest.raises(AssayError, match=r"pool.csv:2: .* pool again"):
        make_sheet(worksheet.read(table), load("tiny"), None)


@pytest.mark.parametrize(
    "given",
    [
        {"pair": "sha256:0", "grade": 1},
        {"pair": ["x"], "grade": 1},
        *({"pair": APT.digest, "grade": grade} for grade in (4, True, "1")),
        *({"pair": APT.digest, "grade": 1, "span": span} for span in ([0, 99], [3, 4], "0")),
        {"pair": APT.digest, "grade": 1, "settles": True},
    ],
)
def test_what_the_page_never_sends_is_refused(sheet, grades, given):
    session = AnnotationSession(sheet, grades, "anna", 0)
    with pytest.raises(AssayError):
        session.grade(given)
    with pytest.raises(AssayError, match="surrogate"):
        session.note({"pair": APT.digest, "note": "a \ud83d"})
    assert not grades.read_grades()
    assert not grades.read_notes()


def test_a_judge_is_told_of_another_only_after_judging(sheet, grades):
    desk = AnnotationSession(sheet, grades, "anna", 0)
    grades.add(APT.digest, "bo", 3)
    assert desk.agreement() == {"judges": [], "disagreements": []}
    assert desk.pair(APT.digest)["grade"] is None
    desk.grade({"pair": APT.digest, "grade": 1})
    (open_,) = desk.agreement()["disagreements"]
    assert open_["grades"] == {"anna": 1, "bo": 3}
    desk.grade({"pair": APT.digest, "grade": 2, "settles": True})
    assert desk.agreement()["disagreements"][0]["settled"] == 2
    grades.add(APT.digest, "bo", 0)
    assert desk.agreement()["disagreements"][0]["settled"] is None, "graded anew since"
