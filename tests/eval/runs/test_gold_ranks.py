"""What a run stores of its gold items beside the rankings: taken once, resumed, read back."""

import json
from dataclasses import replace

import pytest
from samples.planned_runs import make_collection, make_run

from assay.eval.collections.collection import GoldItem
from assay.eval.runs.execution.execution import RunSpec, execute
from assay.eval.runs.gold_ranks import GoldRank
from assay.eval.runs.json_form import to_json
from assay.eval.runs.latency import LatencySettings
from assay.eval.runs.stored import load
from assay.eval.runs.summary.attribution import attribute
from assay.retrievers.base import (
    AssayError,
    Chunk,
    Hit,
    IndexReport,
    Quiet,
    Ranking,
    Retriever,
    StageTrace,
)

COUNT = 40


class TwoLegs(Retriever):
    """Lists documents by their numbers, in one leg only even ones, to a depth of 5; in turns.

    The document d10 is in no chunk, and no leg lists d23.
    """

    nondeterministic = False

    def __init__(self):
        self.probes = []

    def index(self, documents):
        self._chunks = [
            Chunk(item.id, item.id, 0, len(item.text), item.text)
            for item in documents
            if item.id != "d10"
        ]
        return IndexReport(len(self._chunks))

    def legs(self, depth):
        listed = [chunk for chunk in self._chunks if chunk.id != "d23"]
        even = [chunk for chunk in listed if int(chunk.id[1:]) % 2 == 0]
        return {"all": listed[:depth], "even": even[:depth]}

    def search(self, query, k):
        legs = self.legs(5)
        turns = [chunk for pair in zip(*legs.values(), strict=True) for chunk in pair]
        fused = list(dict.fromkeys(turns))
        lists = {"all": "leg", "even": "leg", "fusion": "fusion"}
        trace = [
            StageTrace(name, kind, 0.0, tuple((chunk.id, 0.0) for chunk in legs.get(name, fused)))
            for name, kind in lists.items()
        ]
        hits = tuple(Hit(chunk, float(-i)) for i, chunk in enumerate(fused[:k]))
        return Ranking(hits, tuple(trace), tuple(fused[k:]))

    def list_chunks(self):
        return self._chunks

    def probe(self, query, depth):
        self.probes.append((query, depth))
        return {name: [chunk.id for chunk in listed] for name, listed in self.legs(depth).items()}


def execute_plan(folder, retriever):
    plan = RunSpec("legs", {"name": "legs"}, 100, 12, LatencySettings(queries=2, warm_up=0))
    return execute(plan, retriever, make_collection(COUNT), folder, Quiet()).run


def told(run):
    items = attribute(run).items
    return {query: (item.status, item.where) for query, (item,) in items.items()}


def test_a_run_stores_what_its_lists_do_not_tell(tmp_path):
    retriever = TwoLegs()
    run = execute_plan(tmp_path, retriever)
    assert run.manifest.format == 2
    statuses = told(run)
    assert statuses["q0"] == statuses["q3"] == statuses["q6"] == ("found", "")
    assert statuses["q10"] == ("in no chunk", "")
    assert statuses["q13"] == ("not retrieved", "all at rank 13")
    assert statuses["q16"] == ("not retrieved", "even at rank 8, all at rank 16")
    assert statuses["q23"] == ("in no leg", "")
    assert attribute(run).causes("not retrieved") == {"all": 2, "even": 5}
    assert run.gold_ranks["q0"]["d0"] == GoldRank(True, {}), "both legs handed it on"
    assert run.gold_ranks["q3"]["d3"] == GoldRank(True, {"all": 4, "even": None})
    assert run.gold_ranks["q10"]["d10"] == GoldRank(False, {})
    asked = {query for query, _ in retriever.probes}
    unasked = [query for query in run.queries.values() if query.text not in asked]
    assert [query.id for query in unasked] == ["q0", "q10"]
    assert {depth for _, depth in retriever.probes} == {COUNT - 1}


def test_self_matches_are_left_out_of_probed_lists(tmp_path):
    """The query is itself the document d7 here, and the answer is d9."""
    collection = make_collection(COUNT)
    query = replace(collection.queries[7], id="d7")
    gold = {"d7": (GoldItem("d7", "d9", "d9", 0, 13, 1),)}
    collection = replace(collection, queries=(query,), gold=gold, drop_self_matches=True)
    plan = RunSpec("legs", {"name": "legs"}, 100, None, LatencySettings(queries=0))
    run = execute(plan, TwoLegs(), collection, tmp_path, Quiet()).run
    assert told(run)["d7"] == ("not retrieved", "all at rank 9")


class CutOffError(BaseException):
    """Stands for the kill of a process."""


class Dying(TwoLegs):
    """Is killed at the fifth search, or when it is first probed."""

    def __init__(self, at_probe):
        super().__init__()
        self._at_probe = at_probe
        self._searches = 0

    def search(self, query, k):
        self._searches += 1
        if self._searches == 5 and not self._at_probe:
            raise CutOffError
        return super().search(query, k)

    def probe(self, query, depth):
        if self._at_probe:
            raise CutOffError
        return super().probe(query, depth)


@pytest.mark.parametrize("at_probe", [True, False])
def test_a_run_that_was_killed_resumes_to_the_same(tmp_path, at_probe):
    with pytest.raises(CutOffError):
        execute_plan(tmp_path / "cut", Dying(at_probe))
    (folder,) = (tmp_path / "cut").glob("legs-*")
    rankings = (folder / "rankings.jsonl").read_text().splitlines()
    gold_ranks = folder / "placements.jsonl"
    assert len(gold_ranks.read_text().splitlines()) == len(rankings) > 0
    # Killed between a query's placements and its ranking, and in the middle of the next line.
    with gold_ranks.open("a") as file:
        file.write('{"query":"q13","items":{}}\n{"query":"q9","it')
    resumed = execute_plan(tmp_path / "cut", TwoLegs())
    whole = execute_plan(tmp_path / "whole", TwoLegs())
    assert resumed.folder == folder
    assert (folder / "rankings.jsonl").read_text().splitlines()[: len(rankings)] == rankings
    assert resumed.gold_ranks == whole.gold_ranks
    assert to_json(attribute(resumed)) == to_json(attribute(whole))


def test_a_format_that_is_not_read_is_refused_in_one_line(tmp_path):
    run = make_run(tmp_path, "old", [1])
    path = run.folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 1}))
    with pytest.raises(AssayError, match=r"format 1; this version reads 2$"):
        load(run.folder)
