"""Ask an engine for its two lists and its own fusion, and fuse the same lists ourselves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing

from assay.eval.configs.engine_settings import ConfiguredEngine, read_engine
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.means import estimate_scores
from assay.eval.scoring.calculation import Scores
from assay.eval.studies.comparison.differences import Contrast, Difference, judge_family
from assay.eval.studies.stores.engines.engine_bench import (
    Bench,
    index_engine,
    open_bench,
    read_words,
)
from assay.eval.studies.stores.parity.results import Parity
from assay.eval.studies.stores.parity.verdicts import (
    Example,
    QueryVerdict,
    compare,
    find_repeated,
    place_texts,
)
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.engines.base import Engine, EngineLists
from assay.retrievers.engines.hybrid_semantics import describe_hybrid
from assay.retrievers.engines.parity.parity import Observation
from assay.retrievers.fusion.fusion import RrfSettings
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.settings import Resources

EXAMPLES = 3
OURS_K = 60
DENSE, KEYWORD, NATIVE, OURS = "dense", "keyword", "native", "ours"
MEASURES = ("nDCG@10", "Recall@20", "Hit@3")

# By query id.
Seen = Mapping[str, Observation]


def measure_parity(
    type_: str, words: Sequence[str], limit: int | None, resources: Resources
) -> Parity:
    """Measure the parity of an engine type; `words` are an optional collection and settings.

    Raises AssayError before any work starts if one of these is wrong or the engine has no hybrid
    search, and later if the engine cannot be asked.
    """
    collection, overrides = read_words(words)
    configured = read_engine(type_, overrides)
    can = configured.settings.capabilities
    if "hybrid" not in can.searches:
        raise AssayError(f"engine {type_}: {can.describe_lack(type_, 'hybrid')}")
    bench = open_bench(collection, limit, resources)
    with closing(configured.build(resources)) as engine:
        return examine(bench, configured, engine, resources.progress)


def examine(
    bench: Bench, configured: ConfiguredEngine, engine: Engine, progress: Progress
) -> Parity:
    """Index the bench in `engine`, which was built from `configured`, and measure its parity.

    Raises AssayError if the engine cannot be asked, or if one of its lists has a text twice.
    """
    index_engine(bench, engine)
    name = str(engine.metadata()["engine"])
    seen = observe(bench, engine, progress)
    verdicts = judge(seen)
    scores = score_systems(bench, seen)
    claims = Claims.of_collection(bench.collection, bench.queries)
    facts = engine.metadata()
    command = configured.command("parity", bench.collection.name, *bench.options)
    return Parity(
        **bench.describe("parity", name, configured, facts, command),
        label=configured.label,
        passages=len(bench.texts),
        identity=bench.identity,
        meaning=describe_hybrid(configured.settings, engine),
        verdicts=verdicts,
        examples=tuple(_pick_examples(bench, engine, seen, verdicts)),
        measures={
            system: {
                measure: estimate_scores(measure, values.values(), claims.cluster(values))
                for measure, values in found.items()
            }
            for system, found in scores.items()
        },
        differences=tuple(compare_measures(scores, claims)),
        claims=claims,
    )


def observe(bench: Bench, engine: Engine, progress: Progress) -> dict[str, Observation]:
    """Ask an engine that has indexed the bench for every query.

    Raises AssayError if a list has a text twice, because its fusion is then undefined.
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
    """Return the verdict by query: a comparison of the engine's results with its formula.

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


def compare_measures(scores: Mapping[str, Scores], claims: Claims) -> list[Difference]:
    """Return the differences native fusion minus ours in each of MEASURES."""
    contrasts = [Contrast(name, "", scores[OURS][name], scores[NATIVE][name]) for name in MEASURES]
    return judge_family(contrasts, claims=claims)


def score_systems(bench: Bench, seen: Seen) -> dict[str, Scores]:
    """Return the scores of each system in all MEASURES."""
    listed: dict[str, Callable[[Observation], Sequence[Scored]]] = {
        DENSE: lambda item: item.lists.dense,
        KEYWORD: lambda item: item.lists.keyword,
        NATIVE: lambda item: item.returned,
        OURS: lambda item: fuse_ours(item.lists),
    }
    return {
        system: bench.score({query: choose(item) for query, item in seen.items()}, MEASURES)
        for system, choose in listed.items()
    }


def _pick_examples(
    bench: Bench, engine: Engine, seen: Seen, verdicts: Mapping[str, QueryVerdict]
) -> Iterator[Example]:
    """Yield the first queries that differ; if none does, the first with ties."""
    kind = "different" if "different" in verdicts.values() else "ties"
    chosen = [query for query in bench.asked if verdicts[query.id] == kind][:EXAMPLES]
    ids = [chunk.id for chunk in bench.chunks]
    for query in chosen:
        item = seen[query.id]
        expected = engine.formula.fuse(*item.lists)
        lists = {"returned": item.returned, "expected": expected, **item.lists._asdict()}
        yield Example(query.id, query.text, verdicts[query.id], *place_texts(lists, ids))
