"""Where an engine is asked: its two lists apart, its own fusion, and ours of the same lists."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime

from assay.eval.collections.catalog import find
from assay.eval.collections.collection import Query
from assay.eval.configs.engine_settings import ConfiguredEngine, read_engine
from assay.eval.configs.locations import default_dataset
from assay.eval.runs import environment
from assay.eval.runs.summary.claims import Claims
from assay.eval.studies.stores.engines.engine_bench import Bench, index_engine, open_bench, timed
from assay.eval.studies.stores.engines.timing import TimingTable, time_systems
from assay.eval.studies.stores.parity.examples import Example, FusedLists, make_example
from assay.eval.studies.stores.parity.quality import (
    DENSE,
    HYBRID,
    KEYWORD,
    NATIVE,
    OURS,
    Rankings,
    measure_quality,
    score_systems,
)
from assay.eval.studies.stores.parity.results import Parity
from assay.eval.studies.stores.parity.verdicts import QueryVerdict, compare, find_repeated
from assay.eval.studies.stores.recall.filters import measure_recalls
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.engines.base import Engine, EngineLists
from assay.retrievers.engines.hybrid_semantics import describe_hybrid
from assay.retrievers.engines.parity.parity import Observation
from assay.retrievers.fusion.fusion import LinearSettings, RrfSettings
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.settings import Resources

DEPTH = 100  # hits a timed query asks for
SECONDS = 30.0  # no further round of timing is begun after that
EXAMPLES = 3
OURS_K = 60
# As configs/hybrid.yaml has it.
HYBRID_FUSION = LinearSettings(type="linear", normalisation="min-max", confidence=True)

# By query id.
Seen = Mapping[str, Observation]


def measure_parity(
    type_: str, words: Sequence[str], limit: int | None, resources: Resources
) -> Parity:
    """Look at the engine of a type; `words` are a collection, if not the default, and settings.

    Raises AssayError before any work starts where one of these is wrong or the engine fuses
    nothing, and where the engine cannot be asked.
    """
    names = [word for word in words if "=" not in word]
    configured = read_engine(type_, [word for word in words if "=" in word])
    can = configured.settings.capabilities
    if "hybrid" not in can.searches:
        raise AssayError(f"engine {type_}: {can.describe_lack(type_, 'hybrid')}")
    if len(names) > 1:
        raise AssayError(f"{names[1]}: one COLLECTION at a time")
    collection = names[0] if names else default_dataset()
    find(collection)
    bench = open_bench(collection, limit, resources)
    with closing(configured.build(resources)) as engine:
        return examine(bench, configured, engine, resources.progress)


def examine(
    bench: Bench, configured: ConfiguredEngine, engine: Engine, progress: Progress
) -> Parity:
    """Index the bench in an engine, which is built of `configured`, and find what its hybrid is.

    Raises AssayError when the engine cannot be asked, or a list of it holds a text twice.
    """
    index = index_engine(bench, engine)
    name = str(engine.metadata()["engine"])
    seen = observe(bench, engine, progress)
    verdicts = judge(seen)
    scores = score_systems(bench.collection, bench.queries, rank_systems(bench, seen))
    now = datetime.now(UTC)
    place = bench.collection.name.replace(":", ".").replace("/", ".")
    return Parity(
        id=f"parity-{name}-{place}-{now.strftime('%Y%m%dT%H%M%S.%f')[:-3]}",
        engine=name,
        label=configured.label,
        collection=bench.collection.name,
        queries=len(bench.queries),
        sampled=bench.sampled,
        created=now.isoformat(timespec="seconds"),
        encoder=bench.encoder,
        identity=bench.identity,
        settings=configured.settings.model_dump(mode="json"),
        facts=dict(engine.metadata()),
        meaning=describe_hybrid(configured.settings, engine),
        verdicts=verdicts,
        examples=_pick_examples(bench, engine, seen, verdicts),
        quality=measure_quality(scores, Claims.of_collection(bench.collection, bench.queries)),
        timing=_time(bench, engine, progress),
        index=index,
        recall={} if engine.metadata().get("exact") else measure_recalls(bench, engine.dense),
        environment=environment.describe(),
        command=configured.command("parity", bench.collection.name, *bench.options),
    )


def observe(bench: Bench, engine: Engine, progress: Progress) -> dict[str, Observation]:
    """Ask an engine, which has indexed the bench, every query.

    Raises AssayError where a list holds a text twice: what it was fused from cannot be told.
    """
    name = str(engine.metadata()["engine"])
    seen = {}
    for query in progress.track(bench.asked, f"{name}: asking", len(bench.asked)):
        item = Observation(engine, query.text, bench.encoded[query.id], len(bench.texts))
        lists = {
            "dense": item.lists.dense,
            "keyword": item.lists.keyword,
            "returned": item.returned,
        }
        for which, listed in lists.items():
            if (i := find_repeated(listed)) is not None:
                raise AssayError(
                    f"{name}: query {query.id}: {bench.chunks[i].id} stands twice in the {which} "
                    "list, which is a fault of the engine: no verdict is given"
                )
        seen[query.id] = item
    return seen


def judge(seen: Seen) -> dict[str, QueryVerdict]:
    """Return for each query whether the engine's formula gives what it returned.

    Equal scores within a list may have entered fusion in any order.
    """
    verdicts: dict[str, QueryVerdict] = {}
    for query, item in seen.items():
        verdict = compare(item.returned, item.fuse(), item.limit)
        if verdict == "different":
            settled = compare(item.returned, item.settle(), item.limit)
            verdict = "different" if settled == "different" else "ties"
        verdicts[query] = verdict
    return verdicts


def fuse_ours(lists: EngineLists) -> list[Scored]:
    """Return our fusion of two lists: reciprocal ranks, k = 60, ranks from 1."""
    return RrfSettings(k=OURS_K).fuse(lists._asdict())


def fuse_hybrid(lists: EngineLists) -> list[Scored]:
    """Return what the config `hybrid` makes of two lists."""
    return HYBRID_FUSION.fuse(lists._asdict())


def rank_systems(bench: Bench, seen: Seen) -> dict[str, Rankings]:
    """Return the rankings of each system."""
    listed: dict[str, Callable[[Observation], Sequence[Scored]]] = {
        DENSE: lambda item: item.lists.dense,
        KEYWORD: lambda item: item.lists.keyword,
        NATIVE: lambda item: item.returned,
        OURS: lambda item: fuse_ours(item.lists),
        HYBRID: lambda item: fuse_hybrid(item.lists),
    }
    return {
        system: bench.rank({query: choose(item) for query, item in seen.items()})
        for system, choose in listed.items()
    }


def _pick_examples(
    bench: Bench, engine: Engine, seen: Seen, verdicts: Mapping[str, QueryVerdict]
) -> tuple[Example, ...]:
    """Return the first queries that differ; where none does, the first with ties."""
    kind = "different" if "different" in verdicts.values() else "ties"
    chosen = [query for query in bench.asked if verdicts[query.id] == kind][:EXAMPLES]
    ids = [chunk.id for chunk in bench.chunks]
    return tuple(
        make_example(
            query.id,
            query.text,
            verdicts[query.id],
            FusedLists(
                seen[query.id].returned,
                engine.formula.fuse(*seen[query.id].lists),
                seen[query.id].lists.dense,
                seen[query.id].lists.keyword,
            ),
            ids,
        )
        for query in chosen
    )


def _time(bench: Bench, engine: Engine, progress: Progress) -> TimingTable | None:
    """Time searches for vectors that are there; encoding the query is the same for all."""
    if not bench.timed:
        return None
    calls: dict[str, Callable[[Query], object]] = {
        DENSE: lambda query: engine.dense(bench.encoded[query.id], DEPTH),
        KEYWORD: lambda query: engine.keyword(query.text, DEPTH),
        NATIVE: lambda query: engine.hybrid(query.text, bench.encoded[query.id], DEPTH),
        OURS: lambda query: fuse_ours(engine.lists(query.text, bench.encoded[query.id]))[:DEPTH],
    }
    systems = {name: timed(call) for name, call in calls.items()}
    return time_systems(systems, bench.timed, SECONDS, progress)
