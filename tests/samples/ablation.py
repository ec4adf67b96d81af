"""An ablation of made-up runs."""

from samples.claims import make_claims

from assay.eval.studies.ablation.analysis import Ablation
from assay.eval.studies.ablation.variants import PipelinePart, Variant
from assay.eval.studies.ablation.weighing import RunScores, judge, weigh


def observe(run, score, first, milliseconds):
    queries = [f"q{number}" for number in range(20)]
    return RunScores(
        run=run,
        scores={
            "nDCG@10": {query: score + i / 1000 for i, query in enumerate(queries)},
            "Hit@1": {query: score + i / 2000 for i, query in enumerate(queries)},
            "Recall@20": {query: score + i / 3000 for i, query in enumerate(queries)},
            "Tokens@10": dict.fromkeys(queries, 100 * score),
        },
        hits={query: (first if i < 5 else "same",) for i, query in enumerate(queries)},
        latency={
            "q1": {"total": milliseconds, "dense": 2.0, "dense.encode": 6.0, "rerank": 3.0},
            "q2": {"total": milliseconds, "dense": 2.0, "dense.encode": 8.0, "rerank": 5.0},
        },
        times=[milliseconds] * 3,
        degraded={},
    )


DENSE_PART, RERANK = (
    PipelinePart("leg", 0, "dense", "dense"),
    PipelinePart("stage", 0, "rerank", "rerank"),
)


def row(part, without, with_, measures=("nDCG@10",)):
    pair = observe("a", without, "x", 10.0), observe("b", with_, "y", 14.0)
    (found,) = judge(
        [weigh(Variant(part), [DENSE_PART, RERANK], pair, measures)],
        make_claims(pair[0].hits),
    )
    return found


def make_ablation(part, rows, measures=("nDCG@10",)):
    """Return an ablation in which `part` stands in so many rows."""
    return Ablation(
        "id", "x", "tiny", 20, "2024-01-01", {}, tuple(measures), "a",
        dict.fromkeys(measures, 0.5), (part,) * rows, make_claims([f"q{i}" for i in range(20)]),
    )  # fmt: skip
