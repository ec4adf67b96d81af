"""The ledger of looks: what counts, what is refused, and that no look is lost or counted twice."""

import json
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.statistics.looks import LEVEL, LOOKS, find_least, is_better
from assay.eval.studies.comparison.held_out.ledger import (
    MARKS,
    Look,
    Question,
    adding,
    check_left,
    count_left,
    mark_questions,
    read_looks,
)
from assay.retrievers.base import AssayError

TEXTS = st.sets(st.text("abcdefg ", min_size=1, max_size=8), min_size=1, max_size=60)


def make_look(**changed):
    values = {
        "date": "2026-11-28",
        "held_out": "docs:held-out",
        "marks": ["aa"],
        "content": "c",
        "pipeline": "mine",
        "pipeline_digest": "p",
        "incumbent": "bm25",
        "incumbent_digest": "b",
        "measure": "nDCG@10",
        "gain": 0.1,
        "better": False,
        "left": 9,
    }
    return Look(**{**values, **changed})


QUESTION = Question(("aa", "bb"), "c", "p", "b", "nDCG@10")


@given(TEXTS, TEXTS)
def test_the_same_questions_have_the_same_marks_and_others_none_in_common(first, second):
    marks = mark_questions(first)
    assert marks == mark_questions([f"  {text.upper()}\n" for text in sorted(first)])
    assert len(marks) <= MARKS
    said = [{" ".join(text.split()) for text in texts} for texts in (first, second)]
    if said[0].isdisjoint(said[1]):
        assert set(marks).isdisjoint(mark_questions(second))


def test_sets_that_share_half_their_questions_share_a_mark():
    sets = [[f"question {i}" for i in range(begin, begin + 200)] for begin in range(0, 3000, 100)]
    for one, other in pairwise(sets):
        assert not set(mark_questions(one)).isdisjoint(mark_questions(other))


@pytest.mark.parametrize(
    ("changed", "answers", "counts"),
    [
        ({}, True, True),
        ({"marks": ["bb", "zz"], "pipeline": "renamed", "held_out": "other"}, True, True),
        ({"marks": ["zz"]}, True, False),
        ({"content": "changed"}, False, True),
        ({"pipeline_digest": "q"}, False, True),
        ({"incumbent_digest": "q"}, False, True),
        ({"measure": "Hit@5"}, False, True),
    ],
)
def test_the_same_question_is_answered_and_all_on_these_questions_count(changed, answers, counts):
    look = make_look(**changed)
    assert (QUESTION.find_answer([look]) is look) == answers
    assert (QUESTION.list_counted([look]) == [look]) == counts


def test_after_the_last_look_it_says_what_to_do():
    looks = [make_look()] * LOOKS
    assert count_left(looks[1:]) == check_left(looks[1:], "docs:held-out") == 1
    with pytest.raises(AssayError, match=r"10 looks at docs:held-out are used up.*Write new ones"):
        check_left(looks, "docs:held-out")


@given(st.lists(st.lists(st.booleans(), max_size=3), max_size=4))
def test_what_is_added_is_read_again(tmp_path_factory, calls):
    path = tmp_path_factory.mktemp("project") / "looks.jsonl"
    for answers in calls:
        with adding(path) as looks:
            looks += [make_look(better=better) for better in answers]
    assert [look.better for look in read_looks(path)] == [*chain(*calls)]


def test_a_failure_adds_nothing_and_a_missing_end_of_line_is_no_harm(tmp_path):
    path = tmp_path / "looks.jsonl"
    path.write_text(make_look().model_dump_json())
    with suppress(KeyboardInterrupt), adding(path) as looks:
        looks.append(make_look())
        raise KeyboardInterrupt
    assert len(read_looks(path)) == 1
    with adding(path) as looks:
        looks.append(make_look(better=True))
    assert [look.better for look in read_looks(path)] == [False, True]
    assert list(tmp_path.iterdir()) == [path]


def spend(path):
    """Spend looks as long as there are any; return how many."""
    for spent in range(LOOKS + 1):
        with adding(path) as looks:
            if not count_left(looks):
                return spent
            looks.append(make_look(left=count_left(looks) - 1))
    raise AssertionError("there are no more looks than these")


def test_processes_together_spend_no_more_than_there_are(tmp_path):
    path = tmp_path / "looks.jsonl"
    with ProcessPoolExecutor(3) as pool:
        spent = list(pool.map(spend, [path] * 3))
    assert sum(spent) == LOOKS
    assert [look.left for look in read_looks(path)] == list(range(LOOKS - 1, -1, -1))


GOOD = make_look().model_dump()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (json.dumps(GOOD)[:90], "line 2: no JSON object"),
        ("", "line 2: no JSON object"),
        ("[1]", "line 2: no JSON object"),
        (json.dumps({**GOOD, "better": "maybe"}), "line 2: better"),
        (json.dumps({**GOOD, "left": -1}), "line 2: left"),
        (json.dumps({**GOOD, "p": 0.04}), "line 2: p: unknown key"),
        (json.dumps({key: GOOD[key] for key in GOOD if key != "marks"}), "line 2: marks"),
    ],
)
def test_a_spoiled_line_is_refused_with_its_place(tmp_path, line, why):
    path = tmp_path / "looks.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{line}\n")
    with pytest.raises(AssayError, match=why):
        read_looks(path)
    with pytest.raises(AssayError, match=why), adding(path):
        pass
    assert path.read_text() == f"{json.dumps(GOOD)}\n{line}\n"


@pytest.mark.parametrize(
    ("gain", "earlier", "expected"),
    [
        (0.02, [], True),
        (0.0, [], False),
        (-0.02, [], False),
        (0.02, [0.001], True),
        (0.02, [0.003], False),
        (0.02, [0.001, 0.03], False),
    ],
)
def test_a_pipeline_leads_by_a_standard_error(gain, earlier, expected):
    assert (gain > find_least(0.018, earlier)) == expected


def test_a_look_is_one_sided_at_its_part_of_the_level():
    assert is_better(0.01, 2 * LEVEL)
    assert not is_better(0.01, 2 * LEVEL + 1e-9)
    assert not is_better(-0.01, 1e-4)
    assert not is_better(0.01, None)
