"""ragas' judged metrics with scripted judgments: what is asked, what counts, what fails."""

import json
import threading
from collections.abc import Callable
from importlib.util import find_spec

import pytest

from assay.eval.llm.question import Ask, NoAnswerError, Question, Reply
from assay.eval.studies.ragas import judging
from assay.eval.studies.ragas.judging import RESPOND, UNREADABLE
from assay.eval.studies.ragas.metrics import METRICS, choose
from assay.eval.studies.ragas.samples import Sample
from assay.eval.studies.ragas.scores import Scores
from assay.retrievers.base import AssayError, Quiet

pytestmark = pytest.mark.skipif(not find_spec("ragas"), reason="needs the extra `ragas`")

JUDGED = [metric for metric in METRICS if metric.judged]
PASSAGES = ("Ferries leave hourly.", "Dogs travel free.", "Tickets are sold on board.")
SAMPLE = Sample("q", "do dogs pay?", (), PASSAGES, PASSAGES, (), (), "Dogs are free. So are cats.")


def judge(question: Question) -> Reply:
    """Find passages about dogs useful, and one of two statements borne out."""
    about, text = question.rest.rpartition("input: ")[2], f"{question.beginning}{question.rest}"
    if RESPOND in text:
        return Reply("Dogs travel free. The passages do not tell of cats.")
    if '"classifications"' in text:
        rows = [{"statement": "s", "reason": "r", "attributed": i} for i in (1, 0)]
        return Reply(json.dumps({"classifications": rows}))
    if '"rating"' in text:
        return Reply('{"rating": 2}' if "world class" in text else '{"rating": 1}')
    if '"verdict"' in text and '"statements"' in text:
        rows = [{"statement": "s", "reason": "r", "verdict": i} for i in (1, 1, 0, 1)]
        return Reply(json.dumps({"statements": rows}))
    if '"verdict"' in text:
        verdict = int("Dogs travel free" in json.loads(about.rpartition("\nOutput")[0])["context"])
        return Reply(f'Sure:\n```json\n{{"reason": "r", "verdict": {verdict}}}\n```')
    return Reply('{"statements": ["Dogs travel free.", "Nothing of cats."]}')


def score(name: str, sample: Sample = SAMPLE, ask: Ask = judge) -> Scores:
    (found,) = judging.score(choose([name], judge=True), [sample], ask, 2, Quiet())
    return found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ContextPrecisionWithReference", 1 / 2),  # useful at rank 2 alone
        ("ContextPrecisionWithoutReference", 1 / 2),
        ("ContextRecall", 1 / 2),
        ("ContextRelevance", 3 / 4),  # (2/2 + 1/2) / 2
        ("Faithfulness", 3 / 4),
    ],
)
def test_each_metric_is_worked_out_from_the_judgments(name: str, value: float) -> None:
    assert score(name).values == {"q": pytest.approx(value)}


def test_each_question_is_what_ragas_asks() -> None:
    """Cut in two at a line break, and whole again when it is joined by one."""
    asked: list[Question] = []

    def ask(question: Question) -> Reply:
        asked.append(question)
        return judge(question)

    score("ContextPrecisionWithReference", ask=ask)
    from ragas.metrics.collections.context_precision import util

    prompts = [
        util.ContextPrecisionPrompt().to_string(
            util.ContextPrecisionInput(question=SAMPLE.text, context=text, answer=SAMPLE.answer)
        )
        for text in PASSAGES
    ]
    assert [f"{item.beginning}\n{item.rest}" for item in asked] == prompts
    assert len({item.beginning for item in asked}) == 1
    assert all(item.shared for item in asked)
    assert "verdict" in json.loads(asked[0].example)


@pytest.mark.parametrize("name", [metric.name for metric in JUDGED])
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply("I think that is quite right."), UNREADABLE),
        (Reply('{"verdict": '), UNREADABLE),
        (Reply('{"verdict": 1', "cut off"), "cut off"),
        (Reply("", "the model refused: no"), "the model refused: no"),
        (Reply(""), "an empty answer"),
    ],
)
def test_what_cannot_be_read_is_no_score_and_never_0(name: str, reply: Reply, reason: str) -> None:
    def ask(question: Question) -> Reply:
        return judge(question) if RESPOND in question.rest else reply

    found = score(name, ask=ask)
    assert found.values == {}
    assert found.reasons == {reason: 1}


def test_one_unreadable_judgment_of_many_is_no_score() -> None:
    """ragas' own ContextRelevance would go on with the other judge."""

    def ask(question: Question) -> Reply:
        return Reply("hm") if "world class" in question.beginning else judge(question)

    assert score("ContextRelevance", ask=ask).missing == {"q": UNREADABLE}


def test_a_verdict_out_of_range_is_no_score() -> None:
    found = score("ContextRecall", ask=lambda _: Reply('{"classifications": []}'))
    assert found.missing == {"q": "ragas gave no score between 0 and 1"}
    found = score("ContextRelevance", ask=lambda _: Reply('{"rating": 9}'))
    assert found.missing == {"q": "ragas gave no score between 0 and 1"}


def test_no_hits_score_0_unasked_and_have_no_faithfulness() -> None:
    nothing = Sample("q", "?", (), (), (), (), (), "An answer.")

    def ask(question: Question) -> Reply:
        raise AssertionError

    assert score("ContextRelevance", nothing, ask).values == {"q": 0.0}
    assert score("ContextRelevance", nothing, ask).empty == ("q",)
    assert score("Faithfulness", nothing, ask).missing == {"q": "nothing was returned"}


def test_without_a_reference_answer_only_metrics_without_one_are_scored() -> None:
    bare = Sample("q", SAMPLE.text, (), PASSAGES, PASSAGES, (), (), "")
    scored = {metric.name for metric in JUDGED if score(metric.name, bare).values}
    assert scored == {"ContextPrecisionWithoutReference", "ContextRelevance", "Faithfulness"}
    assert score("ContextRecall", bare).missing == {"q": "no reference answer"}


def raising(error: Exception) -> Callable[[Question], Reply]:
    def ask(question: Question) -> Reply:
        raise error

    return ask


def test_a_question_without_an_answer_is_counted_and_other_errors_end_all() -> None:
    for metric in JUDGED:
        found = score(metric.name, ask=raising(NoAnswerError("too long")))
        assert found.missing == {"q": "too long"}
        with pytest.raises(AssayError, match="the budget"):
            score(metric.name, ask=raising(AssayError("the budget")))


def test_questions_are_asked_at_once() -> None:
    both = threading.Barrier(2, timeout=30)

    def ask(question: Question) -> Reply:
        both.wait()
        return judge(question)

    samples = [SAMPLE, Sample("q2", SAMPLE.text, (), PASSAGES, PASSAGES, (), (), "x")]
    (found,) = judging.score(choose(["ContextRelevance"], judge=True), samples, ask, 2, Quiet())
    assert set(found.values) == {"q", "q2"}
