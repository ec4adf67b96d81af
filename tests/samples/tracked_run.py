"""A small run to log, and how to read it back."""

import json
from pathlib import Path

import pytest

from assay.eval.collections.collection import Collection, GoldItem, Query
from assay.eval.collections.formats.native import NativeCard
from assay.eval.runs.execution.execution import RunSpec, execute
from assay.eval.runs.latency import LatencySettings
from assay.eval.runs.summary.exports import export
from assay.eval.runs.summary.summary import summarise
from assay.eval.tracking import metric_name, tracking_uri
from assay.retrievers.base import (
    Chunk,
    Document,
    Hit,
    IndexReport,
    Quiet,
    Ranking,
    Retriever,
    StageTrace,
)

TEXTS = {"tea": "green tea is brewed at eighty degrees", "oak": "an oak lives four hundred years"}
CONFIG = {
    "name": "words",
    "dataset": "tiny",
    "measures": ["nDCG@10", "AP(rel=2)"],
    "retriever": {"legs": {"words": {"type": "overlap", "depth": 10}}, "note": "x" * 7000},
}


class Overlap(Retriever):
    """Ranks documents by the words they share with the query."""

    nondeterministic = False

    def index(self, documents):
        self.chunks = [Chunk(d.id, d.id, 0, len(d.text), d.text) for d in documents]
        return IndexReport(len(self.chunks), {"words": 0.25}, 123)

    def search(self, query, k):
        words = set(query.split())
        shared = {chunk: len(words & set(chunk.text.split())) for chunk in self.chunks}
        hits = [Hit(chunk, float(n)) for chunk, n in shared.items() if n]
        hits.sort(key=lambda hit: (hit.score, hit.chunk.id), reverse=True)
        return Ranking(tuple(hits[:k]), (StageTrace("count words", "leg", 0.1),))


def make_summary(reports, name="words"):
    documents = tuple(Document(id_, text) for id_, text in TEXTS.items())
    queries = (Query("q1", "how is tea brewed"), Query("q2", "tea or oak"), Query("q3", "nothing"))
    gold = {
        "q1": (GoldItem("q1", "tea", "tea", 0, len(TEXTS["tea"]), 1),),
        "q2": (GoldItem("q2", "oak", "oak", 0, len(TEXTS["oak"]), 2),),
        "q3": (GoldItem("q3", "oak", "oak", 0, len(TEXTS["oak"]), 1),),
    }
    card = NativeCard(name="tiny", title="Tiny", licence="CC0-1.0", format="native")
    collection = Collection("tiny", "Tiny", documents, queries, gold, card)
    plan = RunSpec(name, {**CONFIG, "name": name}, 100, None, LatencySettings(queries=3, warm_up=0))
    summary = summarise(execute(plan, Overlap(), collection, reports, Quiet()).run)
    export(summary)
    (summary.run.folder / "report.md").write_text("# Report\n")
    return summary


def client(uri=None):
    from mlflow.tracking import MlflowClient

    return MlflowClient(uri or tracking_uri())


def run_ids(tracking, status="FINISHED"):
    experiment = tracking.get_experiment_by_name("assay")
    if experiment is None:
        return set()
    found = tracking.search_runs([experiment.experiment_id], f"attributes.status = '{status}'")
    return {run.info.run_id for run in found}


def check_run(tracking, summary, run_id, parent=""):
    """All that a run holds can be read back from the store."""
    manifest = summary.run.manifest
    run = tracking.get_run(run_id)
    assert run.info.status == "FINISHED"
    assert run.info.run_name == f"{manifest.name} on tiny"
    tags = run.data.tags
    assert tags.get("mlflow.parentRunId", "") == parent
    source = tags["mlflow.source.name"]
    assert "/" not in source
    assert source.split()[-1] == tags["assay.command"].split()[-1].rpartition("/")[2]
    note = tags["mlflow.note.content"]
    assert note.startswith(f"# {manifest.name} on tiny\n")
    assert f"| nDCG@10 | {summary.means['nDCG@10'].value:.3f} (" in note
    lasted = run.info.end_time - run.info.start_time
    assert lasted == round(manifest.seconds * 1000)
    assert tags["assay.run"] == manifest.id
    assert tags["assay.identity"] == manifest.identity
    assert (tags["assay.config"], tags["assay.collection"]) == (manifest.name, "tiny")
    assert (tags["assay.degraded"], tags["assay.sampled"]) == ("false", "false")
    params = run.data.params
    assert params["retriever.legs.words.type"] == "overlap"
    assert params["retriever.legs.words.depth"] == "10"
    assert json.loads(params["measures"]) == CONFIG["measures"]
    assert params["retriever.note"] == "x" * 6000
    metrics = run.data.metrics
    names = {metric_name(measure) for measure in summary.means}
    names |= {f"latency_ms/total.{name}" for name in ("p50", "p95", "p99")}
    names |= {"nDCG_at_10.low", "nDCG_at_10.high", "throughput/queries_per_second"}
    assert set(metrics) == names | {"queries", "index/chunks"}
    path = tracking.download_artifacts(run_id, "figures.json", str(Path.cwd()))
    table = json.loads(Path(path).read_bytes())
    assert table["columns"] == ["figure", "value", "low", "high"]
    figures = {name: tuple(values) for name, *values in table["data"]}
    assert all(figures[name][0] == metrics[name] for name in names & figures.keys())
    for measure, mean in summary.means.items():
        name = metric_name(f"measures/{measure}/mean")
        assert figures[name] == (mean.value, mean.low, mean.high)
    total = summary.latency["total"]["p95"]
    assert figures["latency/total/p95"] == (total.value, total.low, None)
    assert figures["latency/count words/p50"][0] == pytest.approx(0.1)
    assert figures["statuses/found/share"][0] == pytest.approx(2 / 3)
    assert (figures["index/words/seconds"][0], figures["index/bytes"][0]) == (0.25, 123)
    assert (metrics["index/chunks"], metrics["queries"]) == (2, 3)
    (dataset,) = [entry.dataset for entry in run.inputs.dataset_inputs]
    assert dataset.name == "tiny"
    assert len(dataset.digest) == 36
    assert manifest.collection.digest.startswith(dataset.digest)
    assert json.loads(dataset.profile)["judgments"] == 3
    names = {"run.trec", "qrels.trec", "per_query.csv", "manifest.json", "report.md"}
    names |= {"config.yaml", "attribution.json", "items.csv", "figures.json"}
    assert {file.path for file in tracking.list_artifacts(run_id)} == names
    copy = Path(tracking.download_artifacts(run_id, "run.trec", str(Path.cwd())))
    assert copy.read_bytes() == (summary.run.folder / "run.trec").read_bytes()
