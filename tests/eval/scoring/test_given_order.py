"""The order in which a system returns its hits is the ranking, whatever their scores."""

import json
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas import DataFrame
from samples.planned_runs import Whole, make_collection
from tools.http_services import serving

from assay.eval.collections.collection import GoldItem
from assay.eval.configs.config import RunConfig
from assay.eval.runs.execution.python_retrievers import FunctionRetriever, ObjectRetriever
from assay.eval.runs.execution.replay import Replay
from assay.eval.runs.execution.unstored import score_queries
from assay.eval.runs.generated_answers import list_answers
from assay.eval.runs.run_files import make_run_file, read_run_file
from assay.retrievers.base import Hit, Ranking
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

COUNT = 6
GRADES = {"d2": 1, "d4": 2}
PLANNED = make_collection(COUNT)
TEXTS = {document.id: document.text for document in PLANNED.documents}
GOLD = tuple(GoldItem("q0", id_, id_, 0, len(TEXTS[id_]), grade) for id_, grade in GRADES.items())
COLLECTION = replace(PLANNED, queries=PLANNED.queries[:1], gold={"q0": GOLD})

Pairs = Sequence[tuple[str, float | None]]


class Given:
    """What a service and the retrievers of frameworks answer to any query."""

    hits: Pairs = ()


def langchain(documents):
    from langchain_core.documents import Document as Text
    from langchain_core.retrievers import BaseRetriever

    class Answering(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Text]:
            return [Text(TEXTS[id_]) for id_, _ in Given.hits]

    return Answering()


def llamaindex(documents):
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class Answering(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            nodes = [(TextNode(text=TEXTS[id_]), score) for id_, score in Given.hits]
            return [NodeWithScore(node=node, score=score) for node, score in nodes]

    return Answering()


def haystack(documents):
    from haystack import Document as Text
    from haystack import component

    @component
    class Answering:
        @component.output_types(documents=list[Text])
        def run(self, query: str) -> dict[str, list[Text]]:
            texts = [Text(content=TEXTS[id_], score=score) for id_, score in Given.hits]
            return {"documents": texts}

    return Answering()


@pytest.fixture(scope="module")
def url():
    def answer(*_):
        return {"hits": [{"id": id_, "score": score} for id_, score in Given.hits]}

    with serving(answer) as address:
        yield address


def frame(hits, *columns):
    rows = [("q0", id_, score, rank) for rank, (id_, score) in enumerate(hits)]
    return DataFrame(rows, columns=["qid", "docno", "score", "rank"])[["qid", "docno", *columns]]


@contextmanager
def build(settings, folder):
    config = RunConfig.model_validate({"name": "x", "retriever": settings})
    with config.build(Resources(Cache(folder))) as retriever:
        yield retriever


def list_roads(hits, folder, url):
    """Yield a retriever for each road by which `hits` can be given."""
    Given.hits = hits
    first = dict(reversed(hits))
    once = {id_: first[id_] for id_, _ in hits}
    rows = [{"id": id_, "score": score} for id_, score in hits]
    functions: dict[str, Any] = {
        "pairs": hits,
        "mappings": rows,
        "ids": [id_ for id_, _ in hits],
    }
    frames = [frame(hits, "rank")]
    files = {"jsonl": json.dumps({"query_id": "q0", "ranking": list(once.items())})}
    if None not in first.values():
        frames.append(frame(hits, "rank", "score"))
    frames = [item.sample(frac=1, random_state=len(hits)) for item in frames]
    scores = [score or 0.0 for score in once.values()]
    if scores == sorted(scores, reverse=True) and None not in first.values():
        # What has scores and no order.
        frames.append(frame(list(once.items()), "score"))
        functions["mapping"] = once
        lines = (f"q0 Q0 {id_} {r} {score} t" for r, (id_, score) in enumerate(once.items()))
        files["trec"] = "\n".join(lines)
    for name, answer in functions.items():
        yield f"function of {name}", FunctionRetriever(lambda query, k, answer=answer: answer)
    yield "object of pairs", ObjectRetriever(Whole(lambda chunks: hits))
    yield (
        "object of rankings",
        ObjectRetriever(
            Whole(
                lambda chunks: Ranking(
                    tuple(Hit(chunks[id_], score or 0.0) for id_, score in once.items())
                )
            )
        ),
    )
    for values in (
        {"type": "http", "url": url},
        {"type": "langchain", "object": "test_given_order:langchain"},
        {"type": "llamaindex", "object": "test_given_order:llamaindex"},
        {"type": "haystack", "object": "test_given_order:haystack"},
    ):
        with build(values, folder) as retriever:
            yield values["type"], retriever
    given_files = [make_run_file({"q0": hits}, "rankings")]
    given_files += [make_run_file(list_answers(item), f"frame of {list(item)}") for item in frames]
    for kind, text in files.items():
        path = folder / f"given.{kind}"
        path.write_text(f"{text}\n")
        given_files.append(read_run_file(path))
    for file in given_files:
        yield file.path.name, Replay(file, next(iter(file.systems)), COLLECTION)


SCORES = st.one_of(
    st.just([None] * COUNT),
    st.just([1.0] * COUNT),
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=COUNT, max_size=COUNT),
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=COUNT, max_size=COUNT).map(
        lambda scores: sorted(scores, reverse=True)
    ),
)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(
    ids=st.lists(st.sampled_from(sorted(TEXTS)), min_size=1, max_size=COUNT),
    scores=SCORES,
)
def test_the_same_order_scores_the_same_on_every_road(ids, scores, url, tmp_path_factory):
    pytest.importorskip("langchain_core")
    pytest.importorskip("llama_index")
    pytest.importorskip("haystack")
    ranks = {id_: COUNT - i for i, id_ in enumerate(dict.fromkeys(ids))}
    named = {"MRR@10": ir_measures.RR @ 10, "nDCG@10": ir_measures.nDCG @ 10}
    expected = ir_measures.calc_aggregate(list(named.values()), {"q0": GRADES}, {"q0": ranks})
    hits = list(zip(ids, scores, strict=False))
    for road, retriever in list_roads(hits, tmp_path_factory.mktemp("roads"), url):
        retriever.index(COLLECTION.documents)
        for name, measure in named.items():
            found = score_queries(retriever, COLLECTION, COLLECTION.queries, name, 10)
            assert found["q0"] == pytest.approx(expected[measure]), (road, name)
