"""HyDE and multi-query, by a language model that answers for real over a socket."""

import re
from contextlib import ExitStack

import numpy as np
import pytest
from doubles.language_model_server import KEY, OUTPUT, Body, Hang, LanguageModelServer, Say, Status
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tools.extras import skip_without

from assay.retrievers.base import AssayError, Document
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.pipeline.variants import Variants
from assay.retrievers.query.base import StepResult
from assay.retrievers.query.hyde import HydeSettings
from assay.retrievers.query.multi_query import MultiQuerySettings

skip_without("openai", "openai")

TEXTS = {
    "boats": "The ferry to the island sails at noon from the old quay.",
    "bags": "Two suitcases are free of charge, and so is one bicycle.",
    "keys": "Authentication is by key, which each request carries in a header.",
    "food": "The kitchen serves soup and bread until nine in the evening.",
}
DOCUMENTS = [Document(id_, text, title="") for id_, text in TEXTS.items()]
KINDS = {"hyde": HydeSettings, "multi_query": MultiQuerySettings}
PRICES = {"input": 1.0, "cache_write": 1.0, "cache_read": 1.0, "output": 10.0}
WORDED_ANEW = "1. ships that leave\n2. boat timetable\n2. boat timetable"


@pytest.fixture
def ask(monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    with ExitStack() as servers:
        yield lambda react: servers.enter_context(LanguageModelServer(react))


@pytest.fixture
def resources(model_workshop):
    return model_workshop


def say(text):
    return lambda call: Say(text)


def choose(server, type_, **keys):
    model = {"type": "openai", "model": "m", "base_url": server.url, "key_variable": "MY_KEY"}
    model["timeout_seconds"] = keys.pop("timeout_seconds", 5.0)
    quick = {"attempts": 2, "backoff_seconds": 0.01}
    return {"type": type_, "model": model, **quick, **keys}


def make(server, resources, type_, **keys):
    settings = KINDS[type_].model_validate(choose(server, type_, **keys))
    return settings.build(resources, {"dense": "semantic"})


def configure(step, **retriever):
    legs = {"dense": {"type": "dense"}, "words": {"type": "bm25"}}
    fused = {"legs": legs, "fusion": {"type": "rrf"}}
    made = {**fused, "query": [step] if step else [], **retriever}
    return PipelineConfig.model_validate({"name": "made", "retriever": made})


def search(config, resources, query):
    with config.build(resources) as pipeline:
        pipeline.index(DOCUMENTS)
        return pipeline.search(query, 4)


def find_leg(ranking, name):
    """Return the documents that a leg found, with their scores."""
    chunks = [*(hit.chunk for hit in ranking.hits), *ranking.others]
    documents = {chunk.id: chunk.doc_id for chunk in chunks}
    entry = next(entry for entry in ranking.trace if entry.name == name)
    return [(documents[id_], score) for id_, score in entry.candidates]


def test_hyde_searches_by_the_mean_of_query_and_passages(ask, resources):
    told = [TEXTS["keys"], TEXTS["food"]]
    server = ask(say("".join(f"<passage>{text}</passage>\n" for text in told)))
    query = "zebra crossing"
    step = choose(server, "hyde", passages=2, prices=PRICES)
    ranking = search(configure(step), resources, query)
    encoder = EncoderSettings().build(resources)
    vectors = [encoder.encode_query(query), *encoder.encode_passages(told)]
    mean = np.mean(vectors, axis=0)
    mean /= np.linalg.norm(mean)
    chunks = encoder.encode_passages(list(TEXTS.values()))
    expected = dict(zip(TEXTS, chunks @ mean, strict=True))
    found = find_leg(ranking, "dense")
    assert len(found) == len(TEXTS)
    assert {name for name, _ in found[:2]} == {"keys", "food"}
    assert sorted(score for _, score in found) == pytest.approx(sorted(expected.values()), abs=1e-5)
    assert find_leg(ranking, "words") == [], "keyword legs keep the query"
    legs = {"dense": {"type": "engine_dense", "engine": {"type": "sqlite"}}}
    in_engine = search(configure(step, legs=legs, fusion=None), resources, query)
    assert [name for name, _ in find_leg(in_engine, "dense")] == [name for name, _ in found]
    entry = ranking.trace[0]
    assert (entry.name, entry.kind, entry.counts["added"]) == ("hyde", "query", 2)
    (call,) = server.calls
    prompt = sum(len(text.encode()) // 4 for text in call.texts)
    assert entry.counts["nano_usd"] == (prompt * 1 + OUTPUT * 10) * 1000
    assert query in call.texts[-1].rpartition("<question>")[2]


def test_multi_query_fuses_each_legs_lists_by_reciprocal_ranks(ask, resources):
    query, k = "when does it go", 7
    server = ask(say(WORDED_ANEW))
    ranking = search(configure(choose(server, "multi_query", k=k)), resources, query)
    wordings = [query, "ships that leave", "boat timetable"]
    with configure(None).build(resources) as plain:
        plain.index(DOCUMENTS)
        alone = [plain.search(wording, 4) for wording in wordings]
    for leg in ("dense", "words"):
        sums = {}
        for each in alone:
            for rank, (name, _) in enumerate(find_leg(each, leg), start=1):
                sums[name] = sums.get(name, 0.0) + 1 / (k + rank)
        assert dict(find_leg(ranking, leg)) == pytest.approx(sums)
    assert ranking.trace[0].counts["added"] == 2
    assert ranking.trace[0].counts["incomplete"] == 1, "three were asked for"


def test_answers_are_kept_and_told_as_if_they_were_new(ask, resources):
    server = ask(say("a passage"))
    config = configure(choose(server, "hyde", prices=PRICES))
    first = search(config, resources, "ferry")
    with Variants(resources) as variants:
        shared = variants.build(config)
        shared.index(DOCUMENTS)
        second = shared.search("ferry", 4)
        plain = variants.build(configure(None))
        plain.index(DOCUMENTS)
        assert find_leg(plain.search("ferry", 4), "dense") != find_leg(first, "dense")
        assert shared.search("ferry", 4).hits == second.hits == first.hits
        assert first.trace[0].counts == second.trace[0].counts
        assert len(server.calls) == 1
        assert shared.without_query_cache().search("ferry", 4).hits == first.hits
    assert len(server.calls) == 2, "timed searches ask anew"


FAULTS = {
    "throttled": (lambda call: Status(429), "HTTP 429"),
    "malformed": (lambda call: Body(b'{"choices": ['), "unreadable answer"),
    "timeout": (lambda call: Hang(1.0), "no answer in time"),
    "refused": (lambda call: Say("", "content_filter"), "refused"),
    "empty": (lambda call: Say(" \n "), "an answer without text"),
    "key": (lambda call: Status(401), "refuses MY_KEY"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("type_", KINDS)
def test_a_fault_is_one_line_or_a_declared_degradation(type_, fault, ask, resources):
    react, said = FAULTS[fault]
    server = ask(react)
    blank = StepResult(LegQuery(" "), "a blank query")
    assert make(server, resources, type_).apply(LegQuery(" ")) == blank
    assert not server.calls
    with pytest.raises(AssayError, match=said) as caught:
        make(server, resources, type_, timeout_seconds=0.1).apply(LegQuery("ferry"))
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
    step = make(server, resources, type_, timeout_seconds=0.1, on_failure="query")
    result = step.apply(LegQuery("ferry"))
    assert result.request == LegQuery("ferry")
    assert re.search(f"^{type_}: .*{said}.*; searched with the query alone$", result.degraded)


def test_a_degraded_search_says_so_and_finds_what_the_query_finds(ask, resources):
    words = {"legs": {"words": {"type": "bm25"}}, "fusion": None}
    server = ask(lambda call: Status(500))
    with pytest.raises(AssayError, match="HTTP 500"):
        search(configure(choose(server, "multi_query"), **words), resources, "ferry")
    step = choose(server, "multi_query", on_failure="query")
    ranking = search(configure(step, **words), resources, "ferry")
    plain = search(configure(None, **words), resources, "ferry")
    assert ranking.hits == plain.hits
    assert len(ranking.degraded) == 1
    assert ranking.degraded[0].startswith("multi_query: ")
    assert not plain.degraded


def test_what_does_not_fit_is_refused():
    words = {"words": {"type": "bm25"}}
    with pytest.raises(ValidationError, match=r"query\.0: hyde: no leg searches by one vector"):
        configure({"type": "hyde"}, legs=words, fusion=None)
    dense = {"dense": {"type": "dense"}}
    threshold = [{"type": "threshold", "minimum": 0.5}]
    configure({"type": "hyde"}, legs=dense, fusion=None, stages=threshold)
    with pytest.raises(ValidationError, match="multi_query leaves none"):
        configure({"type": "multi_query"}, legs=dense, fusion=None, stages=threshold)
    with pytest.raises(ValidationError, match="multi_query leaves ranks alone"):
        configure(
            {"type": "multi_query"}, fusion={"type": "linear", "normalisation": "theoretical"}
        )


@given(st.lists(st.text(), max_size=5), st.booleans())
def test_any_answer_is_read_as_texts_that_say_something(parts, cut):
    for kind in KINDS.values():
        settings = kind.model_validate({"type": next(n for n in KINDS if KINDS[n] is kind)})
        for answer in ("\n".join(parts), "".join(f"<passage>{part}</passage>" for part in parts)):
            texts = settings.read(answer, cut_off=cut)
            assert all(text.strip() == text and text for text in texts)
