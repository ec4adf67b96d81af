"""Keyword and dense search on this machine, used to test questions."""

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.collection import Collection, GoldItem, Query
from assay.eval.collections.in_memory import gather_unjudged
from assay.eval.configs.config import RunConfig
from assay.eval.runs.execution import searching
from assay.eval.runs.summary.means import estimate_changes
from assay.eval.scoring.join import RetrievedChunk, covers
from assay.eval.statistics.estimates import estimate_share
from assay.eval.studies.questions.selection import Bias
from assay.retrievers.base import AssayError, Chunk, Document, Progress, Retriever
from assay.retrievers.legs.dense import DenseLegSettings
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Resources

TOP = 5  # passages searched for an answer to a question that should have none
DEPTH = 10
MEASURE = f"Hit@{DEPTH}"


@dataclass(frozen=True)
class Legs:
    """The names of the keyword and the dense leg of a pipeline, and the dense leg's settings."""

    keyword: str
    dense: str
    settings: DenseLegSettings


def find_legs(config: RunConfig) -> Legs:
    """Return the first keyword leg and the first dense one. Raises AssayError if one is missing."""
    pipeline = config.retriever
    legs = pipeline.active if isinstance(pipeline, PipelineSettings) else {}
    keyword = next((name for name, leg in legs.items() if leg.kind == "keyword"), None)
    for name, leg in legs.items():
        if isinstance(leg, DenseLegSettings) and keyword:
            return Legs(keyword, name, leg)
    raise AssayError(
        f"--config {config.name}: needs a keyword leg and one of the type dense, as hybrid has them"
    )


class QuestionSearch:
    """An indexed pipeline of keyword and dense legs. Safe to call from several threads."""

    def __init__(
        self, retriever: Retriever, collection: Collection, legs: Legs, resources: Resources
    ) -> None:
        self._retriever = retriever
        self._collection = collection
        self._legs = legs
        self._encoder = legs.settings.encoder.build(resources)
        self._chunks = {chunk.id: chunk for chunk in retriever.list_chunks()}

    def find(self, question: str) -> Sequence[Chunk]:
        """Return the best passages for a question, both legs fused."""
        asked = Query(repr(question), question)
        ranking = searching.search(self._retriever, self._collection, asked, TOP)
        return [hit.chunk for hit in ranking.hits[:TOP]]

    def encode(self, questions: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of questions, one row per question, scaled to length 1."""
        vectors = self._encoder.encode_passages(questions)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        scaled = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
        return np.asarray(scaled, np.float32)

    def measure(
        self, questions: Mapping[str, str], gold: Mapping[str, Sequence[GoldItem]], work: Progress
    ) -> Bias | None:
        """Return Hit@10 of each leg alone on the answered questions; None if there are none."""
        hits: dict[str, list[bool]] = {self._legs.keyword: [], self._legs.dense: []}
        for name, text in work.track(questions.items(), "measuring bias", len(questions)):
            lists = self._retriever.probe(text, DEPTH)
            for leg, found in hits.items():
                first = [self._chunks[id_] for id_ in lists.get(leg, ())[:DEPTH]]
                found.append(_is_hit(first, gold[name], self._collection.prescribed))
        if not questions:
            return None
        keyword, dense = hits.values()
        changes = (one - other for one, other in zip(keyword, dense, strict=True))
        return Bias(
            keyword=estimate_share(sum(keyword), len(keyword)),
            dense=estimate_share(sum(dense), len(dense)),
            advantage=estimate_changes(MEASURE, changes),
        )


@contextmanager
def open_search(
    config: RunConfig, documents: Sequence[Document], resources: Resources
) -> Iterator[QuestionSearch]:
    """Yield a search over `documents`, indexed by the pipeline of `config`."""
    legs = find_legs(config)
    collection = gather_unjudged(documents, "questions")
    with config.build(resources) as retriever:
        searching.index(retriever, collection)
        yield QuestionSearch(retriever, collection, legs, resources)


def _is_hit(chunks: Sequence[Chunk], gold: Sequence[GoldItem], prescribed: Set[str]) -> bool:
    return any(
        covers(RetrievedChunk(chunk, chunk.id in prescribed), item)
        for chunk in chunks
        for item in gold
        if item.grade > 0
    )
