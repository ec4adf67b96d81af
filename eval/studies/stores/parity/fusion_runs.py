"""The fusions that engines offer, judged on the same lists: by the engine, or by its formula."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import NamedTuple

from assay.eval.collections.catalog import find
from assay.eval.configs.engine_settings import ConfiguredEngine, list_fusions
from assay.eval.configs.locations import default_dataset
from assay.eval.runs import environment
from assay.eval.studies.stores.engines.engine_bench import Bench, index_engine, open_bench
from assay.eval.studies.stores.parity.fusions import (
    MEASURE,
    Fusions,
    FusionScores,
    FusionTable,
    compare_fusions,
)
from assay.eval.studies.stores.parity.quality import (
    DENSE,
    HYBRID,
    KEYWORD,
    NATIVE,
    OURS,
    score_systems,
)
from assay.eval.studies.stores.parity.sweep import (
    fuse_hybrid,
    fuse_ours,
    judge,
    observe,
    rank_systems,
)
from assay.eval.studies.stores.parity.verdicts import conclude
from assay.retrievers.base import AssayError
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.engines.base import EngineLists
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.engines.parity.parity import state
from assay.retrievers.fusion.ranking import Scored, best
from assay.retrievers.legs.keyword import KeywordLegSettings
from assay.retrievers.settings import Resources

# The lists of configs/hybrid.yaml: exact cosine, and this BM25, each to the same depth.
KEYWORD_LEG = KeywordLegSettings()
# Ranks to which fusions must agree to share a row: no measure here looks deeper.
HEAD = 20


class Offer(NamedTuple):
    """A fusion that an engine offers, by the formula that it states."""

    configured: ConfiguredEngine
    formula: Formula


def compare_offers(collections: Sequence[str], limit: int | None, resources: Resources) -> Fusions:
    """Judge every fusion that an engine offers on `collections`, by default the default one.

    Every formula fuses the two lists of `hybrid`; engines that run here are also asked for their
    own. Raises AssayError where a collection or its models cannot be had.
    """
    names = list(collections) or [default_dataset()]
    for name in names:
        find(name)
    offers = list(list_offers(resources))
    absent: dict[str, str] = {}
    tables = []
    for name in names:
        bench = open_bench(name, limit, resources)
        shared = compare_fusions(_fuse_shared(bench, offers, resources))
        own = compare_fusions(list(_ask_engines(bench, offers, absent, resources)))
        tables.append(
            FusionTable(
                collection=bench.collection.name,
                queries=len(bench.queries),
                sampled=bench.sampled,
                passages=len(bench.chunks),
                encoder=bench.encoder,
                shared=tuple(sorted(shared, key=lambda row: -row.means[NATIVE][MEASURE].value)),
                own=own,
            )
        )
    options = ["--limit", str(limit)] if limit else []
    return Fusions(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=shlex.join(["assay", "parity", "--fusions", *names, *options]),
        tables=tuple(tables),
        absent=absent,
        environment=environment.describe(),
    )


def list_offers(resources: Resources) -> Iterator[Offer]:
    """Yield every fusion of every engine that fuses and can be built, whether or not it can be
    asked here.
    """
    for configured in list_fusions():
        if "hybrid" not in configured.settings.searches:
            continue
        with closing(configured.build(resources)) as engine:
            yield Offer(configured, engine.formula)


def _ask_engines(
    bench: Bench, offers: Sequence[Offer], absent: dict[str, str], resources: Resources
) -> Iterator[FusionScores]:
    """Yield what each engine makes of its own two lists; those not to be had become `absent`."""
    for configured, formula in offers:
        if configured.type in absent:
            continue
        try:
            with closing(configured.build(resources)) as engine:
                index_engine(bench, engine)
                seen = observe(bench, engine, resources.progress)
                verdict = conclude(judge(state(formula), seen), None)
        except AssayError as error:
            reason = " ".join(str(error).split())
            resources.progress.say(f"left out: {reason}")
            absent[configured.type] = reason
            continue
        scores = score_systems(bench.collection, bench.queries, rank_systems(bench, engine, seen))
        yield FusionScores((configured.label,), formula.statement, verdict, scores)


def _fuse_shared(bench: Bench, offers: Sequence[Offer], resources: Resources) -> list[FusionScores]:
    """Return what each formula makes of the two lists of `hybrid`, those that rank alike as one."""
    lists = _search_legs(bench, resources)
    fixed = {
        DENSE: {query: item.dense for query, item in lists.items()},
        KEYWORD: {query: item.keyword for query, item in lists.items()},
        OURS: {query: fuse_ours(item) for query, item in lists.items()},
        HYBRID: {query: fuse_hybrid(item) for query, item in lists.items()},
    }
    ranked = {system: bench.rank(found) for system, found in fixed.items()}
    scores = score_systems(bench.collection, bench.queries, ranked)
    alike: dict[tuple[tuple[int, ...], ...], list[Offer]] = {}
    fused: list[Mapping[str, list[Scored]]] = []
    for offer in offers:
        found = {query: offer.formula.fuse(*item) for query, item in lists.items()}
        heads = tuple(tuple(i for i, _ in listed[:HEAD]) for listed in found.values())
        if heads not in alike:
            fused.append(found)
        alike.setdefault(heads, []).append(offer)
    return [
        FusionScores(
            labels=tuple(offer.configured.label for offer in group),
            formula=group[0].formula.statement,
            note="",
            scores=scores
            | score_systems(bench.collection, bench.queries, {NATIVE: bench.rank(found)}),
        )
        for group, found in zip(alike.values(), fused, strict=True)
    ]


def _search_legs(bench: Bench, resources: Resources) -> dict[str, EngineLists]:
    """Return the two lists of `hybrid` by query."""
    with closing(KEYWORD_LEG.build(resources)) as leg:
        leg.index(Corpus(bench.chunks, bench.collection.documents))
        return {
            query.id: EngineLists(
                list(best(bench.vectors @ bench.encoded[query.id], KEYWORD_LEG.depth)),
                list(leg.search(query.text, KEYWORD_LEG.depth).candidates),
            )
            for query in resources.progress.track(bench.asked, "searching", len(bench.asked))
        }
