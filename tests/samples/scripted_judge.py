"""Judgments that a language model server gives to the prompts of ragas, and a run to judge."""

from dataclasses import replace

from doubles.language_model_server import Say
from samples.planned_runs import make_collection, make_run

from assay.eval.studies.ragas.metrics import METRICS

QUERIES = 4
HITS = 5
TEXT = [metric.name for metric in METRICS if not metric.judged]
# Calls a query; both metrics that need an answer of the model's share the call that makes it.
CALLS = {
    "ContextPrecisionWithReference": HITS,
    "ContextPrecisionWithoutReference": HITS + 1,
    "ContextRecall": 1,
    "ContextRelevance": 2,
    "Faithfulness": 2,
}
MEANS = {
    "ContextPrecisionWithReference": 1,
    "ContextPrecisionWithoutReference": 1,
    "ContextRecall": 1,
    "ContextRelevance": 0.5,
    "Faithfulness": 0.5,
}


def judge(call):
    """Answer each kind of prompt as it asks to be answered."""
    text = "\n".join(call.texts)
    if "<passage>" in text:
        return Say("It is so.")
    if '"classifications"' in text:
        return Say('{"classifications": [{"statement": "s", "reason": "r", "attributed": 1}]}')
    if '"rating"' in text:
        return Say('{"rating": 1}')
    if '"verdict"' in text and '"statements"' in text:
        rows = '{"statement": "s", "reason": "r", "verdict": 1}, '
        return Say(f'{{"statements": [{rows}{rows.replace("1", "0")[:-2]}]}}')
    if '"verdict"' in text:
        return Say('{"reason": "r", "verdict": 1}')
    return Say('{"statements": ["It is so.", "It is not."]}')


def make_judged(reports, *, answers=True):
    """Return a run of `QUERIES` queries, with reference answers if `answers`, in `reports`."""
    collection = make_collection(QUERIES + 3)
    metadata = {"answer": "It is written."} if answers else {}
    queries = tuple(replace(query, metadata=metadata) for query in collection.queries[:QUERIES])
    gold = {query.id: collection.gold[query.id] for query in queries}
    collection = replace(collection, queries=queries, gold=gold)
    # No two queries have the same passages in the same order, so no two prompts are the same.
    return make_run(reports, "judged", [5, 4, 1, 0], collection=collection)
