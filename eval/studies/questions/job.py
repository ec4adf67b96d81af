"""A job of asking a model for questions about drawn passages, and of testing them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.eval.configs.config import RunConfig, load_config
from assay.eval.llm.job import Ask, LlmJob
from assay.eval.llm.model_families import warn_of_families
from assay.eval.llm.session import LlmSession
from assay.eval.running.study import Argument, Option
from assay.eval.running.study_options import (
    LARGEST,
    AskedModelOptions,
    Names,
    Overrides,
    Reference,
)
from assay.eval.runs.json_form import constant, in_json, length
from assay.eval.studies.questions.asking import DrawOutcome, Examiner
from assay.eval.studies.questions.drawing import Draw, can_ask, draw_all
from assay.eval.studies.questions.kinds import QuestionKind, choose_kinds
from assay.eval.studies.questions.search import find_legs
from assay.eval.studies.questions.sources import PassagePool, QuestionSource, cut_passages
from assay.retrievers.base import Chunk
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.stages.rerank import RerankSettings

SIMILAR = 0.92  # cosine with an earlier question above which a question is dropped
Search = Callable[[str], Sequence[Chunk]]


class QuestionOptions(AskedModelOptions):
    """The documents to ask about, the number and types of questions, and the checks they must pass.

    A question is dropped if its share of copied word sequences is above `max_overlap`; the share
    `review` of the questions is marked for a person.
    """

    documents: Annotated[Reference, Argument("FOLDER|COLLECTION")]
    overrides: Overrides = ()
    number: int = Field(
        100, ge=1, le=LARGEST, description="Questions to ask for; fewer pass the tests."
    )
    types: Annotated[Names, Option(text=True)] = Field(
        (), description="By name, separated by commas, in equal shares.  [default: all]"
    )
    seed: int = Field(0, ge=0, le=LARGEST, description="Of the draw.")
    max_overlap: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Drop a question if a larger share of its three-word sequences is in the "
        "passage.",
    )
    review: float = Field(
        0.1, gt=0, le=1, description="Share that is marked for a person to look at."
    )
    config: Reference = Field(
        "hybrid",
        description="The pipeline by whose legs questions are tested; KEY.PATH=VALUE changes it.",
    )
    name: str | None = Field(
        None, description="Name of the new collection.  [default: NAME-questions]"
    )
    output: Path | None = Field(
        None, description="Where the card goes.  [default: ./datasets/NAME]"
    )
    force: bool = Field(False, description="Overwrite a collection that is there already.")


@in_json(
    "warnings",
    documents=length("source.documents"),
    passages=length("pool.passages"),
    model="session.model.name",
    config="config.name",
    number="asked.number",
    seed="asked.seed",
    max_overlap="asked.max_overlap",
    max_similarity=constant(SIMILAR),
    draws=length("draws"),
    budget_usd="session.settings.max_cost_usd",
)
@dataclass(frozen=True)
class QuestionJob:
    """The options, the documents, the model to ask, and the pipeline that tests its questions."""

    asked: QuestionOptions
    source: QuestionSource
    kinds: Sequence[QuestionKind]
    config: RunConfig
    pool: PassagePool
    session: LlmSession

    @cached_property
    def draws(self) -> list[Draw]:
        """The questions to ask for, in order."""
        pool, asked = self.pool, self.asked
        return draw_all(pool.passages, pool.partners, self.kinds, asked.number, asked.seed)

    @cached_property
    def empty(self) -> list[str]:
        """The requested types that suit no passage."""
        passages, partners = self.pool.passages, self.pool.partners
        return [
            kind.name
            for kind in self.kinds
            if not any(can_ask(kind, passage, partners) for passage in passages)
        ]

    @cached_property
    def warnings(self) -> list[str]:
        """Warnings if the models that write, test and search are of one family."""
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

    def ask(self, search: Search) -> LlmJob[str, DrawOutcome]:
        """Return the job of asking for all questions, by the ids of their queries.

        `search` returns the best passages of all documents for a question.
        """

        def examine(name: str, draw: Draw, ask: Ask) -> DrawOutcome:
            examiner = Examiner(ask, self.source.documents, search, self.asked.max_overlap)
            return examiner.examine(draw, name)

        names = {f"q{draw.number + 1:04}": draw for draw in self.draws}
        tasks = {name: partial(examine, name, draw) for name, draw in names.items()}
        texts = {name: document.text for name, document in self.source.documents.items()}
        return LlmJob(self.session, tasks, "questions", [texts, self.session.model.identity])


def prepare_job(asked: QuestionOptions, source: QuestionSource, session: LlmSession) -> QuestionJob:
    """Choose types, load the pipeline and cut the documents into passages. Raises AssayError."""
    kinds = choose_kinds(asked.types)
    tested_by = load_config(asked.config, asked.overrides)
    find_legs(tested_by)
    pool = cut_passages(list(source.documents.values()), session.resources)
    return QuestionJob(asked, source, kinds, tested_by, pool, session)
