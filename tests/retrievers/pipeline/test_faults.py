"""What a pipeline makes of indexes that are broken on disk and of legs that fail."""

import os

import pytest

from assay.retrievers.base import AssayError, Document
from assay.retrievers.legs.keyword import KeywordLeg
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.pipeline.pipeline import Pipeline
from assay.retrievers.settings import Resources
from assay.retrievers.store import seals
from assay.retrievers.store.cache import META, Cache, default_root

DOCUMENTS = [
    Document("a.md", "# Ferry\n\nThe ferry sails in winter, see [[b]]."),
    Document("b.md", "# Refunds\n\nA cancelled sailing is refunded.\n\n```python\nrefund()\n```"),
    Document("c.md", "# Dogs\n\nDogs travel on deck."),
]
HYBRID = {
    "legs": {"meaning": {"type": "dense"}, "words": {"type": "bm25", "variant": "lucene"}},
    "fusion": {"type": "rrf"},
}
LEGS = {
    "bm25": {"legs": {"words": {"type": "bm25", "variant": "lucene"}}},
    "bm25f": {"legs": {"words": {"type": "bm25", "weights": {}, "variant": "lucene"}}},
    "code": {"legs": {"words": {"type": "code"}}},
    "graph": {
        "legs": {"words": {"type": "bm25", "variant": "lucene"}, "links": {"type": "graph"}},
        "fusion": {"type": "rrf"},
    },
}


def build(retriever, cache):
    config = PipelineConfig.model_validate({"name": "p", "retriever": retriever})
    pipeline = config.build(Resources(Cache(cache)))
    assert isinstance(pipeline, Pipeline)
    return pipeline


def fail(*_):
    raise OSError("the disk\nwent away")


def truncate(index):
    largest = max(index.iterdir(), key=lambda path: path.stat().st_size)
    largest.write_bytes(largest.read_bytes()[:50])


def scribble(index):
    for file in index.iterdir():
        if file.name != META:
            file.write_bytes(b"nonsense" * 99)


def empty(index):
    for file in index.iterdir():
        if file.name != META:
            file.unlink()


def flip(index):
    """Change a bit in the middle of each file, and keep its size and times."""
    for file in index.iterdir():
        before, content = file.stat(), bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        seals._whole.clear()


def lose_note(index):
    (index / META).unlink()


def break_note(index):
    (index / META).write_text("{")


@pytest.mark.parametrize("name", LEGS)
@pytest.mark.parametrize("damage", [truncate, scribble, empty, flip, lose_note, break_note])
def test_a_broken_index_is_built_again(name, damage, tmp_path):
    def search():
        pipeline = build(LEGS[name], tmp_path)
        report = pipeline.index(DOCUMENTS)
        ranking = pipeline.search("ferry refund()", 3)
        assert ranking.degraded == ()
        cached.append(any(step.startswith(("words", "links")) for step in report.cached))
        return [hit.chunk.id for hit in ranking.hits]

    cached = []
    whole = search()
    assert whole
    (index,) = (path for path in (tmp_path / name).iterdir() if path.is_dir())
    damage(index)
    assert [search(), search()] == [whole, whole]
    assert cached[0] is False
    assert cached[2] is True
    if name != "graph":  # whose keyword leg is whole
        assert cached[1] is False


def test_thresholds_hold_for_the_legs_that_remain(monkeypatch):
    recipe = {
        **HYBRID,
        "fusion": {"type": "linear"},
        "stages": [{"type": "calibrate"}, {"type": "threshold", "minimum": 0.6}],
    }
    found = []
    for broken in (False, True):
        if broken:
            monkeypatch.setattr(KeywordLeg, "index", fail)
        pipeline = build(recipe, default_root())
        pipeline.index(DOCUMENTS)
        found.append(pipeline.search("ferry", 1))
    assert found[1].hits
    assert found[1].degraded == (
        "the keyword leg words cannot be built: the disk went away; searched without it",
    )


def test_a_leg_that_is_not_a_keyword_leg_is_not_left_out(monkeypatch):
    monkeypatch.setattr("assay.retrievers.legs.dense.DenseLeg.search", fail)
    pipeline = build(HYBRID, default_root())
    pipeline.index(DOCUMENTS)
    with pytest.raises(OSError, match="went away"):
        pipeline.search("ferry", 1)


@pytest.mark.parametrize("what", ["index", "search"])
def test_a_lone_keyword_leg_stops_with_one_line(what, monkeypatch, tmp_path):
    monkeypatch.setattr(KeywordLeg, what, fail)
    pipeline = build(LEGS["bm25"], tmp_path)
    with pytest.raises(AssayError, match=r"^the keyword leg words cannot be \w+: the disk went"):
        search_all(pipeline, ["ferry"])


def test_a_fault_that_passes_is_told_of_its_queries_alone(monkeypatch):
    pipeline = build(HYBRID, default_root())
    pipeline.index(DOCUMENTS)
    with monkeypatch.context() as patch:
        patch.setattr(KeywordLeg, "search", fail)
        during = pipeline.search("ferry", 3)
    after = pipeline.search("ferry", 3)
    assert len(during.degraded) == 1
    assert [entry.name for entry in during.trace] == ["meaning.encode", "meaning", "fusion"]
    assert after.degraded == ()
    assert "words" in {name for hit in after.hits for name in hit.legs}
    # A leg that is down comes back with the next indexing.
    with monkeypatch.context() as patch:
        patch.setattr(KeywordLeg, "index", fail)
        pipeline.index(DOCUMENTS)
    assert pipeline.search("ferry", 3).degraded
    assert pipeline.without_query_cache().search("ferry", 3).degraded
    pipeline.index(DOCUMENTS)
    assert pipeline.search("ferry", 3).degraded == ()


def search_all(pipeline, queries):
    pipeline.index(DOCUMENTS)
    for query in queries:
        pipeline.search(query, 3)
