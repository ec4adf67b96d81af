"""ragas' judged metrics with scripted judgments: what is asked, what counts, what fails."""

import json
from functools import partial
from importlib.util import find_spec

import pytest
from tools.llm_fixtures import end

from assay.eval.llm.job import CUT, TOO_LONG, Asking
from assay.eval.studies.ragas import judging
from assay.eval.studies.ragas.judging import RESPOND, UNREADABLE
from assay.eval.studies.ragas.metrics import METRICS, choose
from assay.eval.studies.ragas.samples import Sample
from assay.retrievers.base import AssayError
from assay.retrievers.language_models.answers import KeptAnswer
from assay.retrievers.services.errors import TooLongError

pytestmark = pytest.mark.skipif(not find_spec("ragas"), reason="needs the extra `ragas`")

JUDGED = [metric for metric in METRICS if metric.judged]
PASSAGES = ("Ferries leave hourly.", "Dogs travel free.", "Tickets are sold on board.")
SAMPLE = Sample("q", "do dogs pay?", (), PASSAGES, PASSAGES, (), (), "Dogs are free. So are cats.")


def judge(prompt):
    """Find passages about dogs useful, and one of two statements borne out."""
    about, text = prompt.question.rpartition("input: ")[2], f"{prompt.document}{prompt.question}"
    if RESPOND in text:
        return end("Dogs travel free. The passages do not tell of cats.")
    if '"classifications"' in text:
        rows = [{"statement": "s", "reason": "r", "attributed": i} for i in (1, 0)]
        return end(json.dumps({"classifications": rows}))
    if '"rating"' in text:
        return end('{"rating": 2}' if "world class" in text else '{"rating": 1}')
    if '"verdict"' in text and '"statements"' in text:
        rows = [{"statement": "s", "reason": "r", "verdict": i} for i in (1, 1, 0, 1)]
        return end(json.dumps({"statements": rows}))
    if '"verdict"' in text:
        verdict = int("Dogs travel free" in json.loads(about.rpartition("\nOutput")[0])["context"])
        return end(f'Sure:\n```json\n{{"reason": "r", "verdict": {verdict}}}\n```')
    return end('{"statements": ["Dogs travel free.", "Nothing of cats."]}')


def score(name, sample=SAMPLE, ask=judge):
    (metric,) = choose([name], judge=True)
    known = judging.settle(metric, sample)
    if known is not None:
        return known
    tasks = {"q": partial(judging.find_score, metric, sample)}
    return dict(Asking(ask, 2).each(tasks, "judging"))["q"]


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
def test_each_metric_is_worked_out_from_the_judgments(name, value):
    assert score(name) == pytest.approx(value)


def test_each_question_is_what_ragas_asks():
    """Cut in two at a line break, and whole again when it is joined by one."""
    asked = []

    def ask(prompt):
        asked.append(prompt)
        return judge(prompt)

    score("ContextPrecisionWithReference", ask=ask)
    from ragas.metrics.collections.context_precision import util

    prompts = [
        util.ContextPrecisionPrompt().to_string(
            util.ContextPrecisionInput(question=SAMPLE.text, context=text, answer=SAMPLE.answer)
        )
        for text in PASSAGES
    ]
    assert [f"{item.document}\n{item.question}" for item in asked] == prompts
    assert len({item.document for item in asked}) == 1
    assert all(item.shared for item in asked)
    assert "verdict" in json.loads(asked[0].example)


@pytest.mark.parametrize("name", [metric.name for metric in JUDGED])
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (end("I think that is quite right."), UNREADABLE),
        (end('{"verdict": '), UNREADABLE),
        (KeptAnswer('{"verdict": 1', "length"), CUT),
        (KeptAnswer("", "refusal", "no"), "the model refused: no"),
        (end(""), "an empty answer"),
    ],
)
def test_what_cannot_be_read_is_no_score_and_never_0(name, reply, reason):
    def ask(prompt):
        return judge(prompt) if RESPOND in prompt.question else reply

    assert score(name, ask=ask) == reason


def test_one_unreadable_judgment_of_many_is_no_score():
    """ragas' own ContextRelevance would go on with the other judge."""

    def ask(prompt):
        return end("hm") if "world class" in prompt.document else judge(prompt)

    assert score("ContextRelevance", ask=ask) == UNREADABLE


def test_a_verdict_out_of_range_is_no_score():
    for name, reply in (
        ("ContextRecall", '{"classifications": []}'),
        ("ContextRelevance", '{"rating": 9}'),
    ):
        assert score(name, ask=lambda _, said=reply: end(said)) == (
            "ragas gave no score between 0 and 1"
        )


def test_no_hits_score_0_unasked_and_have_no_faithfulness():
    nothing = Sample("q", "?", (), (), (), (), (), "An answer.")

    def ask(prompt):
        raise AssertionError

    assert score("ContextRelevance", nothing, ask) == 0
    assert score("Faithfulness", nothing, ask) == "nothing was returned"


def test_without_a_reference_answer_only_metrics_without_one_are_scored():
    bare = Sample("q", SAMPLE.text, (), PASSAGES, PASSAGES, (), (), "")
    scored = {metric.name for metric in JUDGED if not isinstance(score(metric.name, bare), str)}
    assert scored == {"ContextPrecisionWithoutReference", "ContextRelevance", "Faithfulness"}
    assert score("ContextRecall", bare) == "no reference answer"


def raising(error):
    def ask(prompt):
        raise error

    return ask


def test_a_question_without_an_answer_is_counted_and_other_errors_end_all():
    for metric in JUDGED:
        assert score(metric.name, ask=raising(TooLongError("9 tokens"))) == TOO_LONG
        with pytest.raises(AssayError, match="the budget"):
            score(metric.name, ask=raising(AssayError("the budget")))
