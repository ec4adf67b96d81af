"""The query cache, in process and in a real Redis, against pipelines without one."""

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tools.recording_progress import RecordingProgress

from assay.retrievers.base import (
    AssayError,
    Chunk,
    Document,
    Hit,
    Passage,
    Quiet,
    Ranking,
    StageTrace,
)
from assay.retrievers.pipeline import query_cache as answers
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.pipeline.pipeline import Pipeline
from assay.retrievers.pipeline.query_cache import (
    Answer,
    MemoryStore,
    RedisCacheSettings,
    RedisStore,
)
from assay.retrievers.settings import Resources
from assay.retrievers.settings.filters import Filter
from assay.retrievers.store.cache import Cache

MEMORY = {"type": "memory"}
REDIS = {"type": "redis", "ttl": 60}
TEXTS = ("ferry winter", "refund ferry", "dogs on deck", "winter dogs", "ferry ferry", "bicycle")
QUERIES = ("ferry", "winter dogs", "refund")


def make_document(id_, text):
    return Document(id_, text, passages=(Passage(id_, 0, len(text)),))


DOCUMENTS = [make_document(f"{n}.md", text) for n, text in enumerate(TEXTS)]


def build(cache, resources, documents=(), **more):
    leg = {"type": "bm25", "variant": "lucene"}
    retriever = {"legs": {"keyword": leg}, "cache": cache, **more}
    config = PipelineConfig.model_validate({"name": "p", "retriever": retriever})
    pipeline = config.build(resources)
    assert isinstance(pipeline, Pipeline)
    if documents:
        pipeline.index(documents)
    return pipeline


def count_searches(pipeline):
    """Return a list to which each search that is really made adds its query."""
    made = []
    search = pipeline._search

    def counted(query, k):
        made.append(query)
        return search(query, k)

    pipeline._search = counted  # type: ignore[method-assign]
    return made


@pytest.fixture
def resources(tmp_path):
    return Resources(Cache(tmp_path), RecordingProgress())


@pytest.fixture
def redis(redis_url, monkeypatch):
    monkeypatch.setenv("REDIS_URL", redis_url)
    return redis_url


@pytest.fixture(params=["memory", "redis"])
def cache(request):
    if request.param == "redis":
        request.getfixturevalue("redis")
        return REDIS
    return MEMORY


def test_an_answer_is_found_once(cache, resources):
    # A document of this test alone: a Redis that others use too may have answered before.
    pipeline = build(
        cache, resources, [*DOCUMENTS, make_document("own", str(resources.cache.root))]
    )
    made = count_searches(pipeline)
    first = [pipeline.search(query, k) for query in QUERIES for k in (1, 3)]
    assert [pipeline.search(query, k) for query in QUERIES for k in (1, 3)] == first
    assert len(made) == len(first)
    timed = pipeline.without_query_cache()
    assert [timed.search(QUERIES[0], 1).hits for _ in range(2)] == [first[0].hits] * 2
    assert len(made) == len(first) + 2
    assert [pipeline.search("ferry \udce9", 3).hits for _ in range(2)][1]  # which has no encoding


@pytest.mark.parametrize(
    "change",
    [
        {"legs": {"keyword": {"type": "bm25", "k1": 2.0}}},
        {"stages": [{"type": "per_document", "limit": 1}]},
        {"query": [{"type": "classify"}]},
        {},  # another revision
    ],
)
def test_other_settings_have_other_answers(change, cache, resources, monkeypatch):
    documents = [*DOCUMENTS, make_document("own", str(resources.cache.root))]
    build(cache, resources, documents).search("ferry", 3)
    if not change:
        monkeypatch.setattr("assay.retrievers.pipeline.pipeline.REVISION", 99)
    other = build(cache, resources, documents, **change)
    made = count_searches(other)
    other.search("ferry", 3)
    assert made == ["ferry"]


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["edit", "remove", "add", "undo"]),
        st.integers(0, 7),
        st.sampled_from(TEXTS),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


def check_edits(cache, edits):
    """Edit documents at random; of two pipelines on one store, each is indexed anew at times.

    Whatever either of them answers is what a pipeline without a cache answers on its documents.
    """
    with tempfile.TemporaryDirectory() as folder:
        resources = Resources(Cache(Path(folder)))
        history = [list(DOCUMENTS)]
        indexed = [history[0], history[0]]
        cached = [build(cache, resources, documents) for documents in indexed]
        plain = build(None, resources)
        for what, i, text, which in edits:
            documents = list(history[-1])
            i %= len(documents)
            if what == "undo":
                documents = history[max(0, len(history) - 2)]
            elif what == "edit":
                documents[i] = make_document(documents[i].id, text)
            elif what == "add":
                documents.append(make_document(f"new{len(history)}.md", text))
            elif len(documents) > 1:
                del documents[i]
            history.append(documents)
            indexed[which] = documents
            cached[which].index(documents)
            for one, known in zip(cached, indexed, strict=True):
                plain.index(known)
                for query in QUERIES:
                    assert one.search(query, 4).hits == plain.search(query, 4).hits


@settings(max_examples=15, deadline=None)
@given(EDITS)
def test_no_stale_answer_from_memory(edits):
    check_edits(MEMORY, edits)


@pytest.mark.slow
def test_no_stale_answer_from_redis(redis):
    @settings(max_examples=15, deadline=None)
    @given(EDITS)
    def check(edits):
        check_edits(REDIS, edits)

    check()


SCRIPT = """
import sys
from pathlib import Path
from assay.retrievers.base import Document
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache
leg = {"type": "bm25", "variant": "lucene"}
retriever = {"legs": {"keyword": leg}, "cache": {"type": "redis"}}
config = PipelineConfig.model_validate({"name": "p", "retriever": retriever})
pipeline = config.build(Resources(Cache(Path(sys.argv[1]))))
pipeline.index([Document(f"{n}.md", text) for n, text in enumerate(sys.argv[2:])])
if sys.argv[2] == "seen":
    pipeline._search = lambda *_: sys.exit("searched")
print([hit.chunk.text for hit in pipeline.search("ferry", 3).hits])
"""


@pytest.mark.slow
def test_two_processes_share_answers_and_no_stale_ones(redis, tmp_path):
    def ask(*texts):
        command = (sys.executable, "-c", SCRIPT, str(tmp_path), *texts)
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "REDIS_URL": redis}
        )
        return done.stdout.strip() or done.stderr.strip()

    own = f"ferry {tmp_path}"
    assert ask("Seen", own, "ferry") == f"['ferry', '{own}']"
    # What this process answers is answered to another without a search.
    first = build(
        REDIS, Resources(Cache(tmp_path)), [Document("0.md", "seen"), Document("1.md", own)]
    )
    made = count_searches(first)
    assert [hit.chunk.text for hit in first.search("ferry", 3).hits] == [own]
    assert made == ["ferry"]
    assert ask("seen", own) == f"['{own}']"


def make_answer(**epochs):
    chunk = Chunk("c", "d", 0, 1, "é\n", headings=("h",), parent=(0, 4))
    trace = (StageTrace("leg", "leg", 1.5, (("c", 0.1 + 0.2),), "note", {"in": 1}),)
    return Answer(Ranking((Hit(chunk, 1 / 3),), trace, (chunk,)), epochs)


def test_an_answer_comes_back_from_redis_as_it_was(redis):
    store = RedisStore(60, Quiet())
    store.put("key", make_answer(d="1"))
    assert store.get("key") == make_answer(d="1")
    assert store.get("another key") is None
    assert 50 < store._client.ttl(f"{answers.PREFIX}key") <= 60
    store._client.set(f"{answers.PREFIX}key", b"\xff not an answer")
    assert store.get("key") is None


def test_a_degraded_answer_is_not_kept(resources):
    pipeline = build(MEMORY, resources, DOCUMENTS)
    made = count_searches(pipeline)
    found = pipeline._search
    pipeline._search = lambda query, k: replace(found(query, k), degraded=("fault",))  # type: ignore
    pipeline.search("ferry", 3)
    pipeline.search("ferry", 3)
    assert len(made) == 2


def test_memory_keeps_what_was_used_last():
    store = MemoryStore(2)
    one, two, three = (make_answer(d=str(n)) for n in range(3))
    store.put("1", one)
    store.put("2", two)
    assert store.get("1") is one
    store.put("3", three)
    assert (store.get("1"), store.get("2"), store.get("3")) == (one, None, three)


def test_an_answer_goes_to_those_alone_who_may_read_it(cache, resources):
    documents = [replace(item, metadata={"who": item.id}) for item in DOCUMENTS]
    pipeline = build(cache, resources, documents)
    for id_ in ("0.md", "1.md"):
        (hit,) = pipeline.restrict(Filter(field="who", equals=id_)).search("ferry", 3).hits
        assert hit.chunk.doc_id == id_


def test_an_answer_from_other_content_is_not_believed(cache, resources):
    pipeline = build(cache, resources, DOCUMENTS)
    kept = pipeline._answers
    ranking, key = pipeline.search("ferry", 3), kept.key("ferry", 3)
    for other in ({"0.md": "another content"}, {"gone.md": "1"}):
        kept._store.put(key, Answer(ranking, other))
        assert kept.find(key) is None
    assert pipeline.search("ferry", 3).hits == ranking.hits
    assert kept.find(key) is not None


def test_a_redis_that_is_down_is_no_degradation(resources, monkeypatch):
    pytest.importorskip("redis", reason="the extra `redis` is not installed")
    monkeypatch.setenv("REDIS_URL", "redis://user:secret@127.0.0.1:1/0")
    pipeline = build(REDIS, resources, DOCUMENTS)
    plain = build(None, resources, DOCUMENTS)
    for query in QUERIES * 2:
        ranking = pipeline.search(query, 3)
        assert (ranking.hits, ranking.degraded) == (plain.search(query, 3).hits, ())
    assert isinstance(resources.progress, RecordingProgress)
    (line,) = (line for line in resources.progress.lines if "Redis" in line)
    assert line.startswith("warning: Redis does not answer: ")
    assert "secret" not in line


def test_a_redis_that_comes_back_is_used_again(redis, monkeypatch):
    store = RedisStore(60, Quiet())
    store._pause(OSError("gone"))
    store.put("back", make_answer())
    assert store.get("back") is None
    monkeypatch.setattr(store, "_paused_until", 0.0)
    store.put("back", make_answer())
    assert store.get("back") == make_answer()


@pytest.mark.parametrize(
    ("url", "reason"),
    [(None, "needs the environment variable REDIS_URL"), ("http://u:secret@h", "no address")],
)
def test_refuses_no_or_another_address(url, reason, resources, monkeypatch):
    pytest.importorskip("redis", reason="the extra `redis` is not installed")
    monkeypatch.delenv("REDIS_URL", raising=False)
    if url:
        monkeypatch.setenv("REDIS_URL", url)
    with pytest.raises(AssayError, match=reason) as raised:
        RedisCacheSettings(type="redis").build(resources)
    assert "secret" not in str(raised.value)
