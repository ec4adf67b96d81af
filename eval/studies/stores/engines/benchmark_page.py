"""The page of stores side by side, with its JSON."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter

from assay.eval.report.formats import amount, score, size
from assay.eval.report.markdown import render_markdown
from assay.eval.runs.files import encode_json, write_together
from assay.eval.studies.stores.engines.benchmark import (
    CALLERS,
    MEASURE,
    Benchmark,
    SearchMeasurement,
    StoreResult,
)
from assay.eval.studies.stores.engines.changes import ChangesResult, Sight
from assay.retrievers.base import AssayError

BENCHMARK = "engine_bench"


def write_benchmark(found: Benchmark, folder: Path) -> Path:
    """Write the page and its JSON into `folder`, which is made; return the path of the page."""
    name = name_benchmark(found)
    text = render_markdown(
        "studies/stores/templates/engine_bench.md.j2",
        found=found,
        name=name,
        command=shlex.join(found.command),
        score=score,
        headings=list_headings(),
        rows=list(list_rows(found)),
        change_headings=list_change_headings(),
        changes=list(list_change_rows(found)),
        lacking=list_lacking(found),
        measured=group_measurements(found),
    )
    files = {f"{name}.md": text.encode(), f"{name}.json": encode_json(found.as_json())}
    return write_together(folder, files)[0]


def read_stores(like: Benchmark, folder: Path) -> tuple[StoreResult, ...]:
    """Return what `folder` holds of engines on the same bench as that of `like`.

    Raises AssayError where the file that should have it is no benchmark.
    """
    path = folder / f"{name_benchmark(like)}.json"
    try:
        found = TypeAdapter(Benchmark).validate_json(path.read_bytes())
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise AssayError(
            f"{path}: cannot be read: {reason}; remove it, or give another --output"
        ) from None
    return found.stores if found.identity == like.identity else ()


def name_benchmark(found: Benchmark) -> str:
    """Return the name of the files of a benchmark, which tells collection and passages."""
    place = found.collection.replace(":", ".").replace("/", ".")
    return f"{BENCHMARK}-{place}-{found.passages}"


def list_lacking(found: Benchmark) -> dict[str, str]:
    """Return by engine and search what is left out, with the reason; not what it never has."""
    return {
        f"{store.engine}: {part}": reason
        for store in found.stores
        for part, reason in store.lacking.items()
        if " search" not in reason or " has no " not in reason
    }


def group_measurements(found: Benchmark) -> dict[str, list[str]]:
    """Return the engines with their versions, by when and where they were measured."""
    groups: dict[str, list[str]] = {}
    for store in found.stores:
        environment = store.environment
        git = environment.get("git") or {}
        told = f"on {store.created[:10]}"
        if commit := git.get("commit"):
            told += f" at commit {commit[:12]}{', with changes' if git.get('dirty') else ''}"
        told += f", {environment['cores']} cores of {environment['processor']}"
        groups.setdefault(told, []).append(f"{store.engine} {store.version}")
    return groups


def list_headings() -> list[str]:
    """Return the headings of the figures of a row."""
    alone, *many = CALLERS
    speeds = [f"{name} ms, {alone} caller" for name in ("p50", "p95")]
    speeds += [f"queries/s, {callers} callers" for callers in many]
    return ["search", MEASURE, "recall", *speeds, "index s", "size", "memory"]


def list_rows(found: Benchmark) -> Iterator[tuple[str, ...]]:
    """Yield a row of each search; what is of the whole engine stands in the first of its rows."""
    for store in found.stores:
        for number, item in enumerate(store.searches):
            yield _row(store, item, first=number == 0)


def list_change_headings() -> list[str]:
    """Return the headings of the figures of rows that change."""
    beside = ("p50 ms, beside puts", "rows put/s, beside searches")
    return ["rows put/s", "p50 ms", *beside, "deletions seen at once", "updates"]


def list_change_rows(found: Benchmark) -> Iterator[tuple[str, ...]]:
    """Yield a row of each store whose rows were changed."""
    for store in found.stores:
        if store.changes:
            yield (store.engine, *_list_changes(store.changes))


def _list_changes(changes: ChangesResult) -> Iterator[str]:
    yield amount(changes.rate)
    yield amount(changes.latency["p50"].value)
    yield amount(changes.latency_beside["p50"].value)
    yield amount(changes.rate_beside)
    yield _describe_sight(changes.deletions)
    yield _describe_sight(changes.updates)


def _describe_sight(sight: Sight) -> str:
    """Return how many changes the next search saw, and how long the others took to be seen."""
    told = f"{sum(waited == 0 for waited in sight.seconds)}/{len(sight.seconds)}"
    late = [waited for waited in sight.seconds if waited]
    never = sum(waited is None for waited in sight.seconds)
    more = [f"{len(late)} within {max(late):.2g} s"] if late else []
    return "; ".join([told, *more, *([f"{never} never"] if never else [])])


def _row(store: StoreResult, item: SearchMeasurement, *, first: bool) -> tuple[str, ...]:
    by_callers = {speed.callers: speed for speed in item.speeds}
    alone, *many = (by_callers.get(callers) for callers in CALLERS)
    speeds = [amount(figure.value) for figure in alone.latency.values()] if alone else ["", ""]
    speeds += [amount(speed.throughput) if speed else "" for speed in many]
    memory = "–" if store.memory is None else size(store.memory)
    own = (amount(store.index.seconds), size(store.index.bytes), memory) if first else ("",) * 3
    quality = score(item.quality.value) if item.quality else ""
    recall = score(item.recall.value) if item.recall else ""
    return (store.engine if first else "", item.search, quality, recall, *speeds, *own)
