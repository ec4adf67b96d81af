"""A verdict for questions as a log of real ones has them."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from samples.planned_runs import make_run

from assay.eval.collections.collection import Query
from assay.eval.runs.json_form import to_json
from assay.eval.studies.comparison.analysis import compare
from assay.eval.studies.comparison.asked import describe_kind, read_log, weigh
from assay.eval.studies.comparison.page import write
from assay.eval.studies.comparison.report import report
from assay.retrievers.base import AssayError

SHORT, LONG = "ferry times", "How do I get my money back when the ferry is late?"


def make_log_file(tmp_path, short, long):
    path = tmp_path / "log.txt"
    path.write_text("".join([f"{SHORT}\n"] * short + [f"{LONG}\n"] * long))
    return path


def make_queries(short, long):
    texts = [SHORT] * short + [LONG] * long
    return {f"q{i}": Query(f"q{i}", text) for i, text in enumerate(texts)}


@pytest.mark.parametrize(
    ("text", "length", "form", "names"),
    [
        ("error E17", "1 to 3 words", "keywords", "with a number or code"),
        ("max_tokens or getUser", "1 to 3 words", "keywords", "with a number or code"),
        ("when does it sail", "4 to 7 words", "a question", "in words alone"),
        ("the last one sails late?", "4 to 7 words", "a question", "in words alone"),
        (" ".join(["word"] * 16), "16 words or more", "keywords", "in words alone"),
    ],
)
def test_a_question_has_a_length_and_a_form(text, length, form, names):
    assert describe_kind(text) == {"length": length, "form": form, "names": names}


def test_weights_give_each_kind_the_share_that_the_log_has(tmp_path):
    queries = make_queries(30, 10)
    weights = weigh(read_log(make_log_file(tmp_path, 2, 6)), queries)
    assert sum(weights.by_query.values()) == pytest.approx(1)
    by_text = Counter()
    for id_, weight in weights.by_query.items():
        by_text[queries[id_].text] += weight
    assert by_text[LONG] == pytest.approx(0.75)
    # Kish: 1 / (30 · (.25 / 30)² + 10 · (.75 / 10)²).
    assert weights.effective == pytest.approx(1 / (0.25**2 / 30 + 0.75**2 / 10))
    assert weights.uncovered == 0


def test_a_log_like_the_set_changes_no_weight(tmp_path):
    weights = weigh(read_log(make_log_file(tmp_path, 3, 1)), make_queries(30, 10))
    assert weights.effective == pytest.approx(40)


def test_a_log_outside_the_set_is_refused_and_a_little_of_it_told(tmp_path):
    queries = make_queries(30, 4)
    with pytest.raises(AssayError, match=r"log\.txt: 50\s% of its questions are of kinds that are"):
        weigh(read_log(make_log_file(tmp_path, 5, 5)), queries)
    weights = weigh(read_log(make_log_file(tmp_path, 19, 1)), queries)
    assert weights.uncovered == pytest.approx(0.05)
    assert weights.effective == pytest.approx(30)
    (tmp_path / "log.txt").write_text("\n  \n")
    with pytest.raises(AssayError, match="no question; it takes one a line"):
        read_log(tmp_path / "log.txt")


def make_compared(tmp_path, short, long):
    """Compare a run that gains on long questions and loses on short ones, 30 of each."""
    runs = []
    for name, ranks in (("base", [1] * 20 + [2] * 40), ("other", [2] * 20 + [1] * 40)):
        run = make_run(tmp_path, name, ranks)
        texts = [SHORT] * 30 + [LONG] * 30
        queries = {
            id_: replace(query, text=text)
            for (id_, query), text in zip(run.queries.items(), texts, strict=True)
        }
        runs.append(replace(run, queries=queries))
    log = read_log(make_log_file(tmp_path, short, long))
    return replace(compare(runs, ["MRR@10"]), asked=log)


@pytest.mark.parametrize(
    ("short", "long", "said"),
    [(1, 9, "it holds: +"), (9, 1, "it is not shown: −"), (1, 0, "it is not shown: −")],
)
def test_the_verdict_says_whether_it_holds_for_the_log(tmp_path, short, long, said):
    compared = make_compared(tmp_path, short, long)
    assert compared.pairs[0].headline.verdict == "better"
    assert said in compared.verdict[-1]
    (found,) = compared.reweighted
    values = np.array([b - a for a, b in compared.pairs[0].scores("MRR@10").values()])
    shares = np.repeat([short / (short + long), long / (short + long)], 30) / 30
    assert found.difference.value == pytest.approx(float(shares @ values))


def test_json_page_and_markdown_have_it(tmp_path):
    compared = make_compared(tmp_path, 1, 9)
    told = to_json(compared)["asked"]
    assert told["questions"] == 10
    page = write(compared, tmp_path)
    line = "For questions as long and of such forms as the 10 in log.txt, it holds"
    assert line in page.read_text()
    assert line in page.with_name("report.md").read_text()
    assert compared.id != replace(compared, asked=None).id


def test_differences_are_told_by_the_words_in_common(tmp_path):
    compared = make_compared(tmp_path, 1, 1)
    overlaps = {id_: i / 60 for i, id_ in enumerate(compared.base.run.queries)}
    object.__setattr__(compared, "overlaps", overlaps)
    rows = report(compared).tables["by_overlap"].rows
    assert [row.n for row in rows] == [20, 20, 20]
    assert [round(row.difference.value, 2) for row in rows] == [-0.5, 0.5, 0.5]
