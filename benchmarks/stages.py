"""Time per query step, leg and stage of the reference pipelines, at 10,000 chunks."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from assay.eval.configs.config import RunConfig, load_config
from assay.eval.report.formats import amount, interval
from assay.eval.runs.latency import LatencySettings, measure
from assay.eval.studies.ingestion.running import forgetful
from assay.eval.studies.targets import synthetic_corpus as growth
from assay.retrievers.base import Progress
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root
from benchmarks import texts
from benchmarks.experiment import CONFIGS
from benchmarks.memory import check_memory
from benchmarks.report import Times, make_times

REFERENCE = ("hierarchical_document", "markdown_ragdocs", "combine_split")
CHUNKS = 10_000
SECONDS = 300.0
WANTED_P95 = 50.0  # of a single step; reranking and the embedding of the query have their own


@dataclass(frozen=True, slots=True)
class Timed:
    """A pipeline at a number of chunks: the times of its steps by name, `total` first."""

    name: str
    chunks: int
    steps: dict[str, Times]


def run(chunks: int, queries: int, progress: Progress) -> list[Timed]:
    """Time every step of the reference pipelines. Raises AssayError as the other benchmarks do."""
    check_memory(chunks)
    configs = [load_config(CONFIGS / f"{name}.yaml") for name in REFERENCE]
    with forgetful(Resources(Cache(default_root()), progress, threads=1)) as resources:
        sources, _ = texts.read_sources(resources)
        asked = texts.sample_queries(sources, queries)
        progress.say(f"composing {chunks:,} passages and their vectors …")
        passages = growth.compose(sources, chunks)
        growth.embed(growth.find_encoders(configs), passages, resources)
        return [_time(config, passages, asked, resources) for config in configs]


def as_json(pipelines: Sequence[Timed]) -> list[dict[str, Any]]:
    """Return the figures as JSON values."""
    return [asdict(pipeline) for pipeline in pipelines]


def print_stages(pipelines: Sequence[Timed]) -> None:
    """Print a table a pipeline."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for one in pipelines:
        title = f"{one.name}, {one.chunks:,} chunks: milliseconds of each step"
        table = Table(title=title, title_justify="left", title_style="bold", min_width=len(title))
        table.add_column("")
        for heading in ("p50", "95 % interval", "p95", "95 % interval", ""):
            table.add_column(heading, justify="right")
        for name, times in one.steps.items():
            cells = [
                text
                for estimate in (times.p50, times.p95)
                for text in (amount(estimate.value), interval(estimate, amount))
            ]
            slow = name != "total" and times.p95.value > WANTED_P95
            table.add_row(name, *cells, f"over {WANTED_P95:g}" if slow else "")
        console.print(table)
    console.print(
        "Steps by the traces of searches of 100 passages, every per-query cache off. Composed "
        "passages stand alone: they have no headings, links, neighbours or parents, so that steps "
        "that follow those have less to do than in documents."
    )


def _time(
    config: RunConfig, passages: Sequence[str], queries: Sequence[str], resources: Resources
) -> Timed:
    resources.progress.say(f"{len(passages):,} chunks: indexing {config.name} …")
    limits = LatencySettings(queries=len(queries), warm_up=3, seconds=SECONDS, concurrency=1)
    with config.build(resources) as retriever:
        retriever.index(growth.make_documents(passages))
        asked = [(str(number), text) for number, text in enumerate(queries)]
        timed = measure(retriever, asked, 100, limits, resources.progress)
    names = dict.fromkeys(name for sample in timed.samples for name in sample.milliseconds)
    steps = {
        name: make_times([sample.milliseconds.get(name, 0.0) for sample in timed.samples])
        for name in names
    }
    return Timed(config.name, len(passages), steps)
