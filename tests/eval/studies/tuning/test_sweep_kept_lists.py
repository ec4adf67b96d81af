"""What points that differ only after their legs share, in one sweep and from one to the next."""

import json
import random

import pytest
from tools.open_legs import count_open_legs

from assay.eval.running import runner as module
from assay.eval.running.runner import Runner
from assay.eval.studies.tuning.sweep_running import list_tasks, read_sweep
from assay.retrievers.base import Quiet
from assay.retrievers.legs.keyword import KeywordLeg
from assay.retrievers.models.base import CrossEncoder
from assay.retrievers.models.cross_encoders import CrossEncoderSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

QUICK = ("limit=4", "latency.queries=0")
RETRIEVER = """retriever:
  legs: {a: {type: bm25}, b: {type: bm25, analyzer: words}}
  fusion: {type: rrf}
  stages: [{type: rerank, depth: 3}]
"""
FUSED = "{retriever.fusion.k: [1, 60], retriever.stages.0.depth: [3, 6]}"
OTHERS = (
    "[{retriever.fusion.k: [9], retriever.stages.0.depth: [4, 7]},"
    " {retriever.fusion.weights.a: [0.2, 3.0]}]"
)


class Reader(CrossEncoder):
    """Scores texts by their length, and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    @property
    def identity(self):
        return "reader"

    def score(self, query, texts):
        self.asked += [(query, text) for text in texts]
        return [len(text) % 97 / 10 for text in texts]


@pytest.fixture
def reader(monkeypatch):
    made = Reader()
    monkeypatch.setattr(CrossEncoderSettings, "build", lambda *_: made)
    return made


@pytest.fixture
def searches(monkeypatch):
    """Every query that a leg searched for."""
    made = []
    real = KeywordLeg.search

    def search(self, query, depth):
        made.append(query)
        return real(self, query, depth)

    monkeypatch.setattr(KeywordLeg, "search", search)
    return made


def write_collection(folder):
    """Write 30 passages of six words each and four queries of three."""
    draw = random.Random(1)
    words = [f"word{i}" for i in range(20)]
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    (folder / "dataset.yaml").write_text("name: small\ntitle: Small\nformat: beir\n")
    for name, count, size in (("corpus", 30, 6), ("queries", 4, 3)):
        rows = [
            json.dumps({"_id": f"{name}{i}", "text": " ".join(draw.sample(words, size))})
            for i in range(count)
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(rows))
    judged = "".join(f"queries{i}\tcorpus{i}\t1\n" for i in range(4))
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")


def list_points(folder, axes, *, overrides=QUICK):
    dataset = folder / "small"
    if not dataset.exists():
        write_collection(dataset)
    (folder / "config.yaml").write_text(f"name: fused\ndataset: {dataset}\n{RETRIEVER}")
    path = folder / "points.yaml"
    path.write_text(f"base: config.yaml\naxes: {axes}\n")
    return list_tasks(path, read_sweep(path), overrides)


def run(tasks, cache):
    """Return the scores of the points, all of which must have run."""
    resources = Resources(Cache(cache), Quiet())
    done = Runner("nDCG@10", resources, cache / "reports", stored=False).run(tasks)
    return [figures_of(one).scores for one in done]


def figures_of(done):
    assert done.result.figures, done.result.failure
    return done.result.figures


def test_legs_search_and_pairs_are_read_once(tmp_path, reader, searches):
    run(list_points(tmp_path, FUSED), tmp_path / "cache")
    assert len(searches) == 2 * 4, "each of two legs once a query"
    others = list_points(tmp_path, OTHERS)
    found = run(others, tmp_path / "cache")
    assert len(searches) == 2 * 4, "a later sweep finds the lists of the first"
    assert len(reader.asked) == len(set(reader.asked)), "each pair is read once"
    assert found == run(others, tmp_path / "another cache")
    assert len(searches) == 4 * 4


def test_lists_of_other_settings_and_chunks_are_found_anew(tmp_path, reader, searches):
    axes = "{retriever.fusion.k: [1]}"
    for override in ("retriever.legs.a.k1=2", "retriever.legs.a.k1=3", "retriever.legs.b.depth=7"):
        run(list_points(tmp_path, axes, overrides=(*QUICK, override)), tmp_path / "cache")
    a = b = 4
    assert len(searches) == (a + b) + a + (a + b), "with the last, a is as it was in no sweep"
    with (tmp_path / "small" / "corpus.jsonl").open("a") as file:
        file.write('\n{"_id": "more", "text": "word1 word2"}')
    run(list_points(tmp_path, axes, overrides=(*QUICK, override)), tmp_path / "cache")
    assert len(searches) == 2 * (a + b) + a + (a + b), "the chunks are others"


def test_lists_of_a_leg_alone_are_not_kept(tmp_path, searches):
    leg = ("retriever.legs={a: {type: bm25}}", "retriever.fusion=null", "retriever.stages=[]")
    for measure in ("nDCG@10", "MRR@5"):
        tasks = list_points(tmp_path, "{retriever.legs.a.b: [0.3]}", overrides=(*QUICK, *leg))
        resources = Resources(Cache(tmp_path / "cache"), Quiet())
        Runner(measure, resources, tmp_path, stored=False).run(tasks)
    assert len(searches) == 2 * 4, "the search is cheaper than what would be written"


def test_no_more_indexes_are_open_than_legs_need(tmp_path, reader, monkeypatch):
    held = count_open_legs(monkeypatch)
    axes = "retriever.fusion.k: [1, 60], retriever.legs.a.k1: [0.5, 1.0, 2.0]"
    points = list_points(tmp_path, f"{{{axes}, documents.headings: [true, false]}}")
    run(points, tmp_path / "cache")
    assert max(held) == 2, "of 4 for each way to cut the documents"


def test_many_points_are_timed_in_groups(tmp_path, reader, monkeypatch):
    monkeypatch.setattr(module, "MOST_TOGETHER", 2)
    groups = []
    real = module.find_config_timing

    def find(path, configs, *rest):
        groups.append(len(configs))
        return real(path, configs, *rest)

    monkeypatch.setattr(module, "find_config_timing", find)
    axes = "{retriever.fusion.k: [1, 2, 3, 4, 5]}"
    tasks = list_points(tmp_path, axes, overrides=("limit=4", "latency.queries=3"))
    made = Runner("nDCG@10", Resources(Cache(tmp_path / "c"), Quiet()), tmp_path, stored=False)
    timed = made.time(tasks, made.run(tasks), tmp_path / "sweep")
    assert groups == [2, 2, 1]
    assert all(figures_of(one).p95 for one in timed)
