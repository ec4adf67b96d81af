"""The report of a sweep: `sweep.json`, `report.md` and `report.html`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.eval.report.files import write_report
from assay.eval.report.formats import Figure, amount, count, figure, score
from assay.eval.report.plots import LinearAxis, Whisker, whisker
from assay.eval.running.figures import COST, Figures, PointResult
from assay.eval.running.search_space import describe
from assay.eval.runs.config_keys import shorten
from assay.eval.runs.execution.interleaved_timing import MOST_TOGETHER
from assay.eval.runs.summary.cost import tell_queries
from assay.eval.studies.comparison.analysis import BESIDE, DEFAULT
from assay.eval.studies.sweep.grid_search import Margin, Sweep
from assay.eval.studies.sweep.heatmap import Heatmap, make_heatmap
from assay.eval.studies.sweep.pareto import FrontPlot, plot_cost, plot_front

OPTIMISM = (
    "The best of many points, chosen and judged on the same queries, looks better than it is: "
    "`assay tune` measures what such a choice gains on queries that had no part in it."
)


@dataclass(frozen=True)
class PointRow:
    """A point as the table shows it; `figures` are of the other measures, `run` is its run's id."""

    number: int
    values: tuple[str, ...]
    headline: Figure
    figures: tuple[Figure, ...]
    latency: Figure | None
    usd: str
    front: bool
    run: str


@dataclass(frozen=True)
class MarginRow:
    """One value of an axis as the table shows it."""

    key: str
    value: str
    points: int
    mean: Figure
    whisker: Whisker | None
    best: str
    latency: str


@dataclass(frozen=True)
class CollectionView:
    """The points on one collection, best first. `charged`: some ask services that may charge;
    `front` says in words what no point on it is beaten in.
    """

    name: str
    queries: int
    rows: tuple[PointRow, ...]
    margins: tuple[MarginRow, ...]
    charged: bool
    front: str
    plot: FrontPlot | None
    cost_plot: FrontPlot | None
    heatmap: Heatmap | None


def write(sweep: Sweep, folder: Path) -> Path:
    """Write the three files into `folder`, which is made; return the path of the page."""
    names = shorten(sweep.keys)
    values = {
        "sweep": sweep,
        "facts": _facts(sweep),
        "headline": sweep.headline,
        "axes": [names[key] for key in sweep.keys],
        "measures": _shown(sweep),
        "collections": [_view(sweep, name) for name in sweep.collections if sweep.on(name)],
        "failed": [
            (_describe(sweep, item), item.collection, item.failure) for item in sweep.failed
        ],
        "degraded": [
            f"{figures.run or _describe(sweep, item)} is degraded: {line}"
            for item, figures in sweep.done
            for line in figures.degraded
        ],
        "optimism": OPTIMISM,
    }
    return write_report("studies/sweep/templates/sweep", sweep, folder, values)


def _facts(sweep: Sweep) -> tuple[str, ...]:
    points = count(len(sweep.results), "point")
    facts = [points, count(len(sweep.collections), "collection")]
    if any(len(sweep.on(name)) > MOST_TOGETHER for name in sweep.collections):
        facts.append(f"timed interleaved in groups of at most {MOST_TOGETHER}")
    if sweep.failed:
        facts.append(f"{len(sweep.failed)} failed")
    return (*facts, sweep.created)


def _shown(sweep: Sweep) -> list[str]:
    """Return the measures of the table beside the headline."""
    wanted = dict.fromkeys((*DEFAULT, *BESIDE))
    return [name for name in wanted if name in sweep.measures and name != sweep.headline]


def _view(sweep: Sweep, name: str) -> CollectionView:
    ranked = sweep.rank(name)
    results = [item for item, _ in ranked]
    plot, cost_plot = plot_front(sweep, name, results), plot_cost(sweep, name, results)
    return CollectionView(
        name=name,
        queries=ranked[0][1].means[sweep.headline].n,
        rows=tuple(
            _point_row(sweep, number, item, figures)
            for number, (item, figures) in enumerate(ranked, start=1)
        ),
        margins=tuple(
            _margin_row(sweep, item) for item in sweep.margins if item.collection == name
        ),
        charged=sweep.charged(name),
        front=_say_front(plot, cost_plot),
        plot=plot,
        cost_plot=cost_plot,
        heatmap=make_heatmap(
            [(item.settings, figures.means[sweep.headline].value) for item, figures in ranked],
            score,
        ),
    )


def _point_row(sweep: Sweep, number: int, item: PointResult, figures: Figures) -> PointRow:
    return PointRow(
        number=number,
        values=_values(sweep, item),
        headline=figure(figures.means[sweep.headline], score),
        figures=tuple(figure(figures.means[name], score) for name in _shown(sweep)),
        latency=figure(figures.latency[COST], amount) if figures.latency else None,
        usd=tell_queries(figures.cost),
        front=item in sweep.front,
        run=figures.run,
    )


def _say_front(plot: FrontPlot | None, cost_plot: FrontPlot | None) -> str:
    words = [*(["as fast"] if plot else []), *(["as cheap"] if cost_plot else [])]
    return f"{', '.join(words)} and as good"


def _margin_row(sweep: Sweep, margin: Margin) -> MarginRow:
    within = margin.mean.low >= 0 and margin.mean.high <= 1
    return MarginRow(
        key=shorten(sweep.keys)[margin.key],
        value=describe(margin.value),
        points=margin.points,
        mean=figure(margin.mean, score),
        whisker=whisker(margin.mean, LinearAxis()) if within else None,
        best=score(margin.best),
        latency="" if margin.latency is None else amount(margin.latency),
    )


def _values(sweep: Sweep, item: PointResult) -> tuple[str, ...]:
    return tuple(describe(item.settings[key]) if key in item.settings else "" for key in sweep.keys)


def _describe(sweep: Sweep, item: PointResult) -> str:
    names = shorten(sweep.keys)
    pairs: Sequence[str] = [f"{names[key]} {describe(i)}" for key, i in item.settings.items()]
    return ", ".join(pairs) or sweep.name
