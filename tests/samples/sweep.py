"""A small sweep with a hostile value, a point that failed and one that was not timed."""

from dataclasses import replace

from assay.eval.running.figures import Figures, PointResult
from assay.eval.runs.summary.cost import Cost
from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.tuning.sweep import Sweep

HOSTILE = "</title><script>window.hacked = 1</script>"


def make_sweep(*, timed=True, failed=False):
    """Return a sweep of three points on `lamps`, and three on `tides`, of which one failed."""
    results = [
        make_result(10, "lamps", 0.4, 2.0 if timed else None),
        make_result(30, "lamps", 0.5, 30.0 if timed else None),
        make_result(60, "lamps", 0.6, 9.0 if timed else None),
        make_result(10, "tides", 0.7, 3.0 if timed else None),
        make_result(30, "tides", 0.6, None),
        PointResult(make_point(60), "tides", failure="the model is away"),
    ]
    if failed:
        results = [PointResult(item.settings, item.collection, failure="no") for item in results]
    return Sweep(
        id="sweep-sample-0123abcd",
        name="sample",
        description="a sample",
        headline="nDCG@10",
        created="2024-05-17T00:00:00+00:00",
        environment={"command": ["assay", "sweep", "sample.yaml"]},
        results=tuple(results),
    )


def make_grid():
    """Return a sweep over two axes, of whose four points one failed."""
    figures = {mean: make_result(10, "lamps", mean, 2.0).figures for mean in (0.25, 0.5, 0.75)}
    cells = [(10, "a", 0.25), (10, "b", 0.5), (60, "a", 0.75)]
    points = [PointResult({"k": k, "leg": leg}, "lamps", figures[mean]) for k, leg, mean in cells]
    failed = PointResult({"k": 60, "leg": "b"}, "lamps", failure="no")
    return replace(make_sweep(), results=(*points, failed))


def make_priced(*, timed=True):
    """Return a sweep of four points, of which one runs here and of one no price is known."""
    results = [
        make_result(k, "lamps", mean, p95 if timed else None, cost)
        for k, mean, p95, cost in (
            (10, 0.4, 2.0, Cost(2.0, None, None, ())),
            (30, 0.5, 30.0, None),
            (60, 0.6, 9.0, Cost(4.0, None, None, ())),
            (90, 0.9, 1.0, Cost(None, None, None, ("rerank",))),
        )
    ]
    return replace(make_sweep(), results=tuple(results))


def make_point(k):
    return {"fusion.k": k, "legs": HOSTILE}


def make_result(k, collection, mean, p95, cost=None):
    scores = {"q1": mean - 0.1, "q2": mean + 0.1}
    estimate = Estimate(mean, mean - 0.1, mean + 0.1, 2)
    latency = {} if p95 is None else {"p95": Estimate(p95, p95 * 0.8, p95 * 1.2, 2)}
    figures = Figures(
        run=f"run-{k}",
        means={"nDCG@10": estimate, "Tokens@10": Estimate(900, 800, 1000, 2)},
        scores={"nDCG@10": scores, "Tokens@10": {"q1": 800.0, "q2": 1000.0}},
        latency=latency,
        degraded={"the keyword leg is down": 2} if k == 60 else {},
        cost=cost,
    )
    return PointResult(make_point(k), collection, figures)
