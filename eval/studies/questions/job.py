"""A job of writing questions: its specification, documents, model and testing pipeline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assay.eval.configs.config import RunConfig, load_config
from assay.eval.llm.model_families import warn_of_families
from assay.eval.llm.session import LlmSession
from assay.eval.studies.questions.drawing import Draw, can_ask, draw_all
from assay.eval.studies.questions.kinds import QuestionKind
from assay.eval.studies.questions.search import find_legs
from assay.eval.studies.questions.sources import PassagePool, cut_passages
from assay.retrievers.base import Document
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.services.ledger import CostLedger
from assay.retrievers.stages.rerank import RerankSettings

PURPOSE = "questions"
MAX_TOKENS = 1024  # a question of eighty words, and quotes of several sentences


@dataclass(frozen=True, slots=True)
class QuestionSpec:
    """What is wanted: how many questions of which types, by whom, and what they must pass.

    `max_overlap` and `max_similarity` are the shares of copied runs and the cosine above which a
    question is dropped; `review` is the share that a person is to look at.
    """

    number: int
    kinds: Sequence[QuestionKind]
    personas: Sequence[str]
    seed: int
    max_overlap: float
    max_similarity: float
    review: float


@dataclass(frozen=True)
class QuestionJob:
    """A specification, documents, the model that is asked, and the pipeline that tests."""

    documents: Mapping[str, Document]
    spec: QuestionSpec
    config: RunConfig
    pool: PassagePool
    session: LlmSession

    @cached_property
    def draws(self) -> list[Draw]:
        """What is asked for, in order."""
        spec, pool = self.spec, self.pool
        return draw_all(
            pool.passages, pool.partners, spec.kinds, spec.personas, spec.number, spec.seed
        )

    @cached_property
    def empty(self) -> list[str]:
        """The types wanted that can be asked about no passage."""
        passages, partners = self.pool.passages, self.pool.partners
        return [
            kind.name
            for kind in self.spec.kinds
            if not any(can_ask(kind, passage, partners) for passage in passages)
        ]

    @cached_property
    def warnings(self) -> list[str]:
        """Lines on models of one family that wrote, test and search."""
        parts = {
            "generator": self.session.model.name,
            "encoder": find_legs(self.config).settings.encoder.name,
        }
        pipeline = self.config.retriever
        stages = pipeline.stages if isinstance(pipeline, PipelineSettings) else []
        for stage in stages:
            if isinstance(stage, RerankSettings):
                parts["reranker"] = getattr(stage.model, "model", "")
        return warn_of_families(parts)

    @property
    def ledger(self) -> CostLedger:
        """The ledger, not yet open, of all that this model is asked about these documents."""
        texts = {name: document.text for name, document in self.documents.items()}
        return self.session.ledger(texts, self.session.model.identity)

    def name_query(self, draw: Draw) -> str:
        """Return the id of the query of a draw."""
        return f"q{draw.number + 1:04}"

    def as_json(self) -> dict[str, Any]:
        """Return what is asked as JSON values."""
        return {
            "documents": len(self.documents),
            "passages": len(self.pool.passages),
            "model": self.session.model.name,
            "config": self.config.name,
            "number": self.spec.number,
            "seed": self.spec.seed,
            "max_overlap": self.spec.max_overlap,
            "max_similarity": self.spec.max_similarity,
            "draws": len(self.draws),
            "budget_usd": self.session.settings.max_cost_usd,
            "warnings": self.warnings,
        }


def prepare_job(
    documents: Mapping[str, Document],
    spec: QuestionSpec,
    config: str,
    overrides: Sequence[str],
    session: LlmSession,
) -> QuestionJob:
    """Cut the documents into passages. Raises AssayError.

    `config` names the pipeline by which questions are tested.
    """
    tested_by = load_config(config, overrides)
    find_legs(tested_by)
    pool = cut_passages(list(documents.values()), session.resources)
    return QuestionJob(documents, spec, tested_by, pool, session)
