"""Making a run: index, search every query, time some, and store all of it."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.eval.collections.check import check_judged
from assay.eval.collections.collection import Collection, GoldItem
from assay.eval.collections.permissions import list_allowed
from assay.eval.runs import environment
from assay.eval.runs.code_identity import describe_class
from assay.eval.runs.contract import name_retriever, naming
from assay.eval.runs.execution.run_changes import WORDS
from assay.eval.runs.execution.searching import answer, index, sample
from assay.eval.runs.latency import Latency, LatencySettings, measure
from assay.eval.runs.manifest import (
    FORMAT,
    MANIFEST,
    CollectionFacts,
    Manifest,
    RisingScores,
    read_manifest,
)
from assay.eval.runs.rows import Flaws, as_row
from assay.eval.runs.run_folder import RunFolder
from assay.eval.runs.stored import StoredRun, find_time, load
from assay.eval.scoring import measures
from assay.eval.scoring.join import RULE
from assay.retrievers.base import IndexReport, Progress, Retriever
from assay.retrievers.base.adapted import AdaptedRetriever
from assay.retrievers.store.digest import digest
from assay.retrievers.store.files import LONGEST, writing


@dataclass(frozen=True)
class RunSpec:
    """The specification of a run, without the retriever and the collection themselves.

    `config` is the resolved config as JSON values. `limit` searches only that number of queries,
    evenly spaced, for a quick look. `rerun` makes a new run though an equal one is stored.
    """

    name: str
    config: Mapping[str, Any]
    depth: int
    limit: int | None
    latency: LatencySettings
    rerun: bool = False


@dataclass(frozen=True)
class RunOutcome:
    """The folder of a stored run, and whether it had been made before this call."""

    folder: Path
    reused: bool

    @cached_property
    def run(self) -> StoredRun:
        """The run, each part read when it is first asked for. Raises AssayError as `load` does."""
        return load(self.folder)


def execute(
    plan: RunSpec,
    retriever: Retriever,
    collection: Collection,
    reports: Path,
    progress: Progress,
) -> RunOutcome:
    """Run `retriever` on `collection` and store the run in a folder of its own below `reports`.

    A finished run of the same identity (config, collection, facts, code) is returned as it is.
    An interrupted run is resumed. A degraded run is neither returned nor resumed: the parts that
    failed may work by now. If two processes make the same run, the second waits.
    """
    from filelock import FileLock

    begin = time.perf_counter()
    ready = make_ready(plan, retriever, collection)
    with writing(reports):
        (reports / ".locks").mkdir(parents=True, exist_ok=True)
        lock = FileLock(reports / ".locks" / ready.identity).acquire()
    with lock:
        if not plan.rerun and (found := find_finished(ready, retriever, reports)):
            return RunOutcome(found, reused=True)
        stored = [] if retriever.nondeterministic else _list_stored(ready.identity, reports)
        begun = [path for path in stored if not (path / MANIFEST).exists()]
        partial = [path for path in begun if not RunFolder(path).find_flaws().degraded]
        path = partial[-1] if partial else _new_folder(plan, collection, ready.identity, reports)
        _make(RunFolder(path), plan, retriever, collection, ready, begin, progress)
        return RunOutcome(path, reused=False)


@dataclass(frozen=True)
class Ready:
    """The report of indexing, and the digests of everything that the rankings depend on.

    `subject` is the digest of all of that but this project's code, `identity` with the code.
    """

    indexed: IndexReport
    subject: str

    @cached_property
    def identity(self) -> str:  # noqa: D102
        return digest(self.subject, environment.digest_code())


def make_ready(plan: RunSpec, retriever: Retriever, collection: Collection) -> Ready:
    """Let `retriever` index the documents, and identify the run it is to make."""
    check_judged(collection)
    measures.check_unwanted(
        plan.config.get("measures") or (), len(collection.unwanted), collection.name
    )
    indexed = index(retriever, collection)
    # Everything that rankings depend on, apart from the code.
    settings = {key: value for key, value in plan.config.items() if key not in WORDS}
    packages = {name: i for name, i in environment.packages().items() if name != "mlflow"}
    return Ready(indexed, digest(settings, collection.digest, _find_facts(retriever), packages))


def find_finished(ready: Ready, retriever: Retriever, reports: Path) -> Path | None:
    """Return the folder of the last finished run of this identity; None where that is degraded."""
    return None if retriever.nondeterministic else find_stored(ready.identity, reports)


def find_stored(identity: str, reports: Path) -> Path | None:
    """Return the folder of `find_finished`, for a retriever that always gives the same answers."""
    stored = _list_stored(identity, reports)
    finished = [path for path in stored if (path / MANIFEST).exists()]
    return finished[-1] if finished and not read_manifest(finished[-1]).degraded else None


def _list_stored(identity: str, reports: Path) -> list[Path]:
    return sorted(reports.glob(f"*-{identity[:8]}"), key=lambda path: find_time(path.name))


def _make(
    folder: RunFolder,
    plan: RunSpec,
    retriever: Retriever,
    collection: Collection,
    ready: Ready,
    begin: float,
    progress: Progress,
) -> None:
    import yaml

    queries = sample(collection.queries, plan.limit)
    done = folder.finished_queries()
    missing = [query for query in queries if query.id not in done]
    answered = answer(missing, plan.depth, retriever, collection)
    with folder:
        for item in progress.track(answered, "searching", len(missing)):
            folder.add_gold_ranks(item.query.id, item.gold_ranks)
            folder.add_ranking(
                item.query.id, item.ranking, collection.prescribed, collection.unwanted
            )
    gold = [item for query in queries for item in collection.gold[query.id]]
    folder.write_text(
        "config.yaml", yaml.safe_dump(dict(plan.config), sort_keys=False, allow_unicode=True)
    )
    folder.write_rows("queries.jsonl", (as_row(query) for query in queries))
    folder.write_rows("gold.jsonl", (_gold_row(item, collection.texts) for item in gold))
    latency = measure(
        retriever,
        [(query.id, query.text) for query in queries],
        plan.depth,
        plan.latency,
        progress,
        list_allowed(collection),
    )
    folder.write_rows("latency.jsonl", (as_row(sample) for sample in latency.samples))
    folder.finish(
        describe_run(
            folder.path.name,
            plan,
            retriever,
            collection,
            ready,
            latency,
            folder.find_flaws(),
            searched=len(queries),
            provenance=environment.describe(),
            seconds=time.perf_counter() - begin,
        )
    )


def describe_run(
    id_: str,
    plan: RunSpec,
    retriever: Retriever,
    collection: Collection,
    ready: Ready,
    latency: Latency,
    flaws: Flaws,
    *,
    searched: int,
    provenance: Mapping[str, Any],
    seconds: float,
) -> Manifest:
    """Return the manifest of a run, whose rankings have the `flaws`."""
    rising = flaws.rising
    return Manifest(
        format=FORMAT,
        id=id_,
        name=plan.name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        identity=ready.identity,
        config=dict(plan.config),
        collection=CollectionFacts.of(collection),
        facts=_find_facts(retriever),
        environment=dict(provenance),
        index=ready.indexed,
        degraded=dict(flaws.degraded),
        rising_scores=RisingScores(queries=len(rising), searched=searched, first=rising[0])
        if rising
        else None,
        retries=flaws.retries + latency.retries,
        cut=dict(flaws.cut),
        depth=plan.depth,
        sampled=searched < len(collection.queries),
        join_rule=RULE,
        throughput=latency.throughput,
        concurrency=latency.concurrency,
        seconds=seconds,
        load=latency.load,
    )


def _gold_row(item: GoldItem, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the row of a gold item, with its text where it is relevant.

    It names a judge only where one is known.
    """
    row = as_row(item)
    if not item.judged_by:
        del row["judged_by"]
    if item.grade > 0:
        row["text"] = texts.get(item.doc_id, "")[item.start : item.end]
    return row


def _find_facts(retriever: Retriever) -> dict[str, Any]:
    """Return a retriever's metadata, and the source of its class if that is a user's."""
    with naming(f"{name_retriever(retriever)}: facts"):
        own = retriever.adapted if isinstance(retriever, AdaptedRetriever) else retriever
        facts = {**retriever.metadata(), **describe_class(own)}
        json.dumps(facts, sort_keys=True)
    return facts


def _new_folder(plan: RunSpec, collection: Collection, identity: str, reports: Path) -> Path:
    """Return the folder of a new run, whose name is its id: pipeline, collection, time, identity.

    Two of one identity differ by a second at least; the caller holds the lock of the identity.
    """
    name = collection.name.replace(":", ".").replace("/", ".")
    now = datetime.now(UTC)
    while True:
        id_ = f"{plan.name[:LONGEST]}-{name[:LONGEST]}-{now:%Y%m%d-%H%M%S}-{identity[:8]}"
        if not (reports / id_).exists():
            return reports / id_
        now += timedelta(seconds=1)
