"""Choices of a pipeline, made up."""

from samples.claims import make_claims

from assay.eval.configs.config import load_config
from assay.eval.statistics.estimates import Estimate, OpenEstimate
from assay.eval.studies.comparison.differences import Contrast, judge_family
from assay.eval.studies.tuning.candidates import CONTEXT
from assay.eval.studies.tuning.choice import Choice, JudgedPipeline, Trial


def make_choice(gain, judged=60, point=None, bm25_below=0.1):
    """Return a choice whose best gains `gain` on every second query, and more over BM25."""
    config = load_config("hybrid")
    point = {CONTEXT: "headings"} if point is None else point
    best = Trial("contexts", ("context headings",) if point else (), point, make_mean(0.6))
    before = {f"q{i}": 0.4 + 0.001 * i for i in range(judged)}
    after = {query: score + gain * (i % 2) for i, (query, score) in enumerate(before.items())}
    bm25 = {query: score - bm25_below for query, score in before.items()}
    contrasts = {
        name: Contrast("nDCG@10", "", other, after)
        for name, other in (("base", before), ("bm25", bm25))
        if judged and (name == "bm25" or point)
    }
    found = judge_family([*contrasts.values()]) if contrasts else []
    return Choice(
        config=config,
        chosen=load_config("hybrid", [f"{key}={value}" for key, value in point.items()]),
        measure="nDCG@10",
        trials=(Trial("legs", (), {}, make_mean(0.5)), best),
        best=best,
        chosen_on=60 if judged else 20,
        judged=judged,
        grouped_by="document",
        pipelines={
            "best": make_pipeline(0.5, 4.0),
            "base": make_pipeline(0.4, 3.5),
            "bm25": make_pipeline(0.3, 0.7),
        },
        differences=dict(zip(contrasts, found, strict=True)),
        opposite=dict(zip(contrasts, found, strict=True)),
        claims=make_claims(before or ["q0"]),
    )


def make_mean(value):
    return Estimate(value, value - 0.05, value + 0.05, 60)


def make_pipeline(mean, p50, tokens=800.0):
    means = {"nDCG@10": mean, "Tokens@10": tokens, "Recall@2000tok": 0.7}
    return JudgedPipeline(
        {name: make_mean(value) for name, value in means.items()},
        {"p50": OpenEstimate(p50, p50 / 2, None, 5), "p95": OpenEstimate(2 * p50, p50, None, 5)},
    )
