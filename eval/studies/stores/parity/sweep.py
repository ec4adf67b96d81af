"""Where an engine is asked: its lists apart, its own fusion, ours, and every alternative."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from assay.eval.collections.collection import Query
from assay.eval.configs.engine_settings import ConfiguredEngine
from assay.eval.runs import environment
from assay.eval.studies.stores.engines.engine_bench import Bench, index_engine, timed
from assay.eval.studies.stores.engines.timing import TimingTable, time_systems
from assay.eval.studies.stores.parity.examples import Example, FusedLists, make_example
from assay.eval.studies.stores.parity.fusions import FusionScores, compare_fusions
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
from assay.eval.studies.stores.parity.verdicts import (
    QueryVerdict,
    Trial,
    compare,
    diagnose,
    find_repeated,
)
from assay.eval.studies.stores.recall.filters import measure_recalls
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.engines.base import Engine, EngineLists
from assay.retrievers.engines.hybrid_semantics import describe_hybrid
from assay.retrievers.engines.parity.list_parity import ListObservation, vary_list
from assay.retrievers.engines.parity.parity import (
    Formulation,
    Observation,
    list_alternatives,
    state,
)
from assay.retrievers.fusion.fusion import LinearSettings, RrfSettings
from assay.retrievers.fusion.ranking import Scored

DEPTH = 100  # hits a timed query asks for
SECONDS = 30.0  # no further round of timing is begun after that
EXAMPLES = 3
OURS_K = 60
# As configs/hybrid.yaml has it.
HYBRID_FUSION = LinearSettings(type="linear", normalisation="min-max", confidence=True)

# By query id.
Seen = Mapping[str, Observation]


class QueryVerdicts(NamedTuple):
    """The verdict on each query by its id, and what was tried where some differ."""

    verdicts: dict[str, QueryVerdict]
    trials: tuple[Trial, ...]


def examine(
    bench: Bench, configured: ConfiguredEngine, engine: Engine, progress: Progress
) -> Parity:
    """Index the bench in an engine, which is built of `configured`, and find what its hybrid is.

    Raises AssayError when the engine cannot be asked, or a list of it holds a text twice.
    """
    index = index_engine(bench, engine)
    name = str(engine.metadata()["engine"])
    seen = observe(bench, engine, progress)
    found = find_parity(engine, seen, progress)
    scores = score_systems(bench.collection, bench.queries, rank_systems(bench, engine, seen))
    fusing = [FusionScores((configured.label,), engine.formula.statement, "", scores)]
    against = compare_fusions(fusing)[0].against if "hybrid" in engine.searches else {}
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
        verdicts=found.verdicts,
        diagnosis=diagnose(found.verdicts, found.trials),
        trials=found.trials,
        examples=_pick_examples(bench, engine, seen, found.verdicts),
        quality=measure_quality(scores),
        against=against,
        timing=_time(bench, engine, progress, configured.settings.capabilities.server),
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
    look = Observation if "hybrid" in engine.searches else ListObservation
    seen = {}
    for query in progress.track(bench.asked, f"{name}: asking", len(bench.asked)):
        item = look(engine, query.text, bench.encoded[query.id], bench.vectors)
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


def find_parity(engine: Engine, seen: Seen, progress: Progress) -> QueryVerdicts:
    """Judge what was `seen` of an engine by its own formula, and where it fails by others."""
    verdicts = judge(state(engine.formula), seen)
    if "different" not in verdicts.values():
        return QueryVerdicts(verdicts, ())
    if "hybrid" in engine.searches:
        formulations = list(list_alternatives(engine.formula, engine.depth, list(seen.values())))
    else:
        formulations = list(vary_list(engine))
    tried = progress.track(formulations, "trying alternatives", len(formulations))
    return QueryVerdicts(verdicts, tuple(_try(item, seen) for item in tried))


def judge(formulation: Formulation, seen: Seen) -> dict[str, QueryVerdict]:
    """Return for each query whether `formulation` gives what the engine returned.

    Equal scores within a list may have entered fusion in any order.
    """
    verdicts: dict[str, QueryVerdict] = {}
    for query, item in seen.items():
        limit = formulation.limit(item)
        verdict = compare(item.returned, formulation.fuse(item), limit)
        if verdict == "different":
            settled = compare(item.returned, formulation.settle(item), limit)
            verdict = "different" if settled == "different" else "ties"
        verdicts[query] = verdict
    return verdicts


def fuse_ours(lists: EngineLists) -> list[Scored]:
    """Return our fusion of two lists: reciprocal ranks, k = 60, ranks from 1."""
    return RrfSettings(k=OURS_K).fuse(lists._asdict())


def fuse_hybrid(lists: EngineLists) -> list[Scored]:
    """Return what the config `hybrid` makes of two lists."""
    return HYBRID_FUSION.fuse(lists._asdict())


def rank_systems(bench: Bench, engine: Engine, seen: Seen) -> dict[str, Rankings]:
    """Return the rankings of each system; of an engine of one list, of that alone."""
    if "hybrid" not in engine.searches:
        (system,) = engine.searches
        return {system: bench.rank({query: item.returned for query, item in seen.items()})}
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


def _try(formulation: Formulation, seen: Seen) -> Trial:
    agreed = (query for query, i in judge(formulation, seen).items() if i != "different")
    return Trial(formulation.family, formulation.label, frozenset(agreed), formulation.inferred)


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


def _time(bench: Bench, engine: Engine, progress: Progress, server: bool) -> TimingTable | None:
    """Time searches for vectors that are there; encoding the query is the same for all."""
    if not bench.timed:
        return None
    calls: dict[str, Callable[[Query], object]] = {
        DENSE: lambda query: engine.dense(bench.encoded[query.id], DEPTH),
        KEYWORD: lambda query: engine.keyword(query.text, DEPTH),
        NATIVE: lambda query: engine.hybrid(query.text, bench.encoded[query.id], DEPTH),
        OURS: lambda query: fuse_ours(engine.lists(query.text, bench.encoded[query.id]))[:DEPTH],
    }
    if "hybrid" not in engine.searches:
        calls = {name: call for name, call in calls.items() if name in engine.searches}
    systems = {name: timed(call) for name, call in calls.items()}
    return time_systems(systems, bench.timed, SECONDS, progress, server)
