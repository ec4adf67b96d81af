"""Contexts of a collection's chunks by a language model: the job and its result."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from operator import itemgetter
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.eval.collections.authoring.contexts import (
    find_place,
    is_read_from,
    read_documents,
    render,
)
from assay.eval.collections.card import Card
from assay.eval.collections.catalog import find as find_card
from assay.eval.collections.location import find_data
from assay.eval.configs.config import load_config
from assay.eval.llm import session as sessions
from assay.eval.llm.costs import Foretold, account, foretell
from assay.eval.llm.job import Ask, LlmJob
from assay.eval.llm.session import LlmSession
from assay.eval.report.blocks import Column, Report, Table
from assay.eval.running.study import Argument, Lab, Preview, Study, Written
from assay.eval.running.study_options import (
    LARGEST,
    AskedModelOptions,
    ModelOptions,
    Reference,
)
from assay.eval.runs.json_form import in_json, length, or_null, shape
from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.contextualisation import plans
from assay.retrievers.contextualisation.prompts import in_order
from assay.retrievers.documents.contexts import ContextSettings
from assay.retrievers.documents.preparation import prepare
from assay.retrievers.language_models.answers import KeptAnswer
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.settings import Resources
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing

PURPOSE = "contexts"
MAX_TOKENS = 100
NAMED = 5  # chunks without a context that are shown


class ContextsOptions(AskedModelOptions):
    """Whose chunks get contexts, by which pipeline they are cut, and where the contexts go."""

    collection: Annotated[Reference, Argument()]
    config: Reference = Field("contextual", description="The pipeline whose chunks get contexts.")
    window_tokens: int | None = Field(
        None,
        ge=500,
        le=LARGEST,
        description="Longest prompt; of longer documents a part is shown.  [default: the model's]",
    )
    output: Path | None = Field(None, description="The file to write or replace.")


@in_json(
    "config",
    collection="card.name",
    model="session.model.name",
    chunks=length("plan.keys"),
    known_before="known",
    to_ask=length("plan.requests"),
    window_tokens="plan.window",
    shown_in_part="plan.windowed",
    prices_usd_per_million="session.prices",
    budget_usd="session.settings.max_cost_usd",
)
@dataclass(frozen=True)
class ContextJob:
    """The job of writing contexts: a collection's chunks in order, the plan, and the model."""

    reference: str
    card: Card
    config: str
    chunks: list[Chunk]
    plan: plans.ContextPlan
    session: LlmSession

    @cached_property
    def pending(self) -> int:
        """The number of chunks to ask about."""
        keys = {request.key for request in self.plan.requests}
        return sum(key in keys for key in self.plan.keys.values())

    @property
    def known(self) -> int:
        """The number of chunks whose context is known already."""
        return len(self.plan.keys) - self.pending

    @cached_property
    def asking(self) -> LlmJob[str, tuple[KeptAnswer, int]]:
        """The job that asks for all contexts that are not known, by key."""
        return make_asking(self.plan, self.session)

    @property
    def subject(self) -> list[str]:
        """The subject of the job, as a list of short phrases."""
        plan = self.plan
        told = [
            f"{self.card.name}: {len(plan.keys)} chunks",
            f"{self.known} known",
            f"{self.pending} to ask {self.session.model.name} (window {plan.window} tokens)",
        ]
        if plan.windowed:
            told.append(
                f"{len(plan.windowed)} documents are longer than that: of these, the opening and "
                "what surrounds the chunk are shown"
            )
        if plan.alone:
            told.append(f"{plan.alone} chunks are all of their document: there is nothing to add")
        return told


@in_json(
    "cut",
    "narrowed",
    spread=("job",),
    without=shape("without.items", chunk="0", reason="1"),
    contexts=length("texts"),
    asked="job.asking.ledger.account",
    before_use=or_null("before_use"),
    next="next",
)
@dataclass(frozen=True)
class ContextResult:
    """The contexts of all chunks.

    Attributes:
        job: The job that asked for them.
        known: The answers by key.
        narrowed: The number of times that a prompt did not fit and was sent with less of the
            document.
        path: The file of the contexts.

    """

    job: ContextJob
    known: Mapping[str, KeptAnswer]
    narrowed: int
    path: Path

    @cached_property
    def done(self) -> dict[str, KeptAnswer]:
        """The answers by chunk."""
        return {chunk: self.known[key] for chunk, key in self.job.plan.keys.items()}

    @cached_property
    def texts(self) -> dict[str, str]:
        """The contexts by chunk."""
        return {chunk: known.text for chunk, known in self.done.items() if known.text}

    @cached_property
    def without(self) -> dict[str, str]:
        """The reason for each chunk that was asked about and has no context, by chunk."""
        return {
            chunk: f"refused: {known.note}" if known.ending == "refusal" else "empty answer"
            for chunk, known in self.done.items()
            if not known.text
        }

    @property
    def cut(self) -> int:
        """The number of contexts that were cut off at max_tokens."""
        return sum(known.ending == "length" for known in self.done.values())

    @property
    def before_use(self) -> str:
        """The step that is necessary before a run can read the contexts; "" for none."""
        job, card = self.job, self.job.card
        if not is_read_from(card, self.path):
            where = card.path or "dataset.yaml"
            return f"Name them in {where}: `contexts: {name_in_card(card, self.path)}`"
        sealed = any(Path(name).name == self.path.name for name in card.digests)
        return f"Seal the collection: assay dataset seal {job.reference}" if sealed else ""

    @property
    def use(self) -> str:
        """The command that runs the pipeline with the contexts."""
        job = self.job
        return f"run {job.config} dataset={job.reference} documents.context.source=collection"

    @property
    def next(self) -> str:
        """The next command line."""
        return f"assay {self.use}"


def prepare_job(
    collection: str, config: str, session: LlmSession, window: int | None = None
) -> ContextJob:
    """Cut the collection by `config`, and look up the contexts of its chunks that are known.

    `window` is the longest prompt in tokens, by default the model's.
    """
    documents_settings = load_config(config).documents
    card, _ = find_card(collection)
    documents = read_documents(card)
    if card.format == "beir" and not documents_settings.passages:
        raise AssayError(
            f"{config}: documents.passages: must be true, because contexts of a beir collection"
            " belong to the passages it prescribes"
        )
    resources = session.resources
    bare = documents_settings.model_copy(update={"context": ContextSettings(source="none")})
    chunks = in_order(documents, prepare(documents, bare, resources).chunks)
    plan = plans.make_plan(documents, chunks, session.model, window, resources.cache)
    return ContextJob(collection, card, config, chunks, plan, session)


def make_session(asked: ModelOptions, resources: Resources, *, dry_run: bool = False) -> LlmSession:
    """Return the model that is `asked` to write contexts. Raises AssayError."""
    return sessions.make_session(
        asked, PURPOSE, MAX_TOKENS, resources, dry_run=dry_run, kind=plans.CACHE_KIND
    )


def make_asking(
    plan: plans.ContextPlan, session: LlmSession
) -> LlmJob[str, tuple[KeptAnswer, int]]:
    """Return the job that asks for all contexts that `plan` does not have yet, by key.

    A result is an answer, and the number of times that its prompt had to be shortened.
    """
    shared = plan.shared
    tasks = {
        request.key: partial(_situate, request, session.model.name, shared=request.group in shared)
        for request in plan.requests
    }
    groups = {request.key: request.group for request in plan.requests}
    # The keys include the model, so that an interrupted run has the same ones.
    return LlmJob(session, tasks, "contexts", [sorted(set(plan.keys.values()))], groups)


def _situate(
    request: plans.ContextRequest, model: str, ask: Ask, *, shared: bool
) -> tuple[KeptAnswer, int]:
    """Return the context of a chunk, and the number of times its prompt had to be shortened."""
    times = 0
    while True:
        try:
            return ask(request.prompt(shared=shared)), times
        except TooLongError as reason:
            narrower = request.narrow()
            if narrower is None:
                chunk = request.chunk_id
                raise AssayError(f"chunk {chunk}: too long for {model}: {reason}") from None
            request, times = narrower, times + 1


def write_all(job: ContextJob, path: Path, *, replace: bool) -> ContextResult:
    """Ask for the contexts that are not known, and write all contexts, or none on failure.

    A different file at `path` is replaced only with `replace`. Answers are kept if the job stops.
    Raises AssayError.
    """
    found = job.asking.run()
    known = {**job.plan.known, **{key: answer for key, (answer, _) in found.items()}}
    result = ContextResult(job, known, sum(times for _, times in found.values()), path)
    content = render(job.card, job.chunks, result.texts).encode()
    with changing(path):
        if path.exists() and not replace and path.read_bytes() != content:
            raise AssayError(f"{path}: is there already; --output {path} replaces it")
        write_atomically(path, content)
    return result


def choose_place(job: ContextJob, output: Path | None) -> Path:
    """Return the file for the contexts: `output`, else one in the folder of the data.

    Raises AssayError if it cannot be written, before anything is paid for.
    """
    path = output or find_place(job.card)
    if output is None and path.exists() and job.plan.requests:
        raise AssayError(f"{path}: is there already; --output {path} replaces it")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise AssayError(f"--output {path}: cannot be written; give a file in a folder of yours")
    return path


def name_in_card(card: Card, path: Path) -> str:
    """Return `path` as a card names it: relative to the folder of its data, else absolute."""
    folder = find_data(card).resolve()
    inside = path.resolve().is_relative_to(folder)
    return os.path.relpath(path.resolve(), folder) if inside else str(path.resolve())


def preview(asked: ContextsOptions, lab: Lab) -> Preview | None:
    """Return the expected cost of contexts; None unless a dry run is asked for."""
    if not asked.dry_run:
        return None
    job = _prepare(asked, lab)
    return foretell("chunks", job.asking.count(), job, [", ".join(job.subject)])


def find(asked: ContextsOptions, lab: Lab) -> ContextResult:
    """Add context written by a language model to the chunks of COLLECTION.

    Each call sends a whole document and one of its chunks. Replies are kept: an interrupted run
    resumes, and nothing is paid for twice. Keys come from ANTHROPIC_API_KEY and OPENAI_API_KEY
    alone. Free, and without a model: documents.context.source=headings, or opening.
    """
    job = _prepare(asked, lab)
    path = choose_place(job, asked.output)
    return write_all(job, path, replace=asked.output is not None)


def _prepare(asked: ContextsOptions, lab: Lab) -> ContextJob:
    session = make_session(asked, lab.resources, dry_run=asked.dry_run)
    return prepare_job(asked.collection, asked.config, session, asked.window_tokens)


def report(found: ContextResult) -> Report:
    """Return the report of contexts: their number, and the reasons for those that are missing."""
    chunks = len(found.job.plan.keys)
    cut = f", {found.cut} cut off at max_tokens" if found.cut else ""
    narrowed = f"{found.narrowed} prompts did not fit and were sent with less of the text"
    columns = [
        Column("chunk", "Chunk", value=itemgetter(0)),
        Column("reason", "Why it has none", value=itemgetter(1)),
    ]
    without = list(found.without.items())
    return Report(
        id="",
        kind="contexts",
        title="Contexts",
        subject=found.job.subject,
        verdict=[
            f"{len(found.texts)} of {chunks} chunks have contexts{cut}",
            *filter(None, [found.before_use]),
        ],
        warnings=[narrowed] if found.narrowed else [],
        blocks=[
            *(
                [Table("without", "Without contexts", columns, without, most=NAMED)]
                if without
                else ()
            ),
            *account(found.job.asking.ledger),
        ],
    )


def write(found: ContextResult, *_: object) -> Written:
    """Return the file of the contexts, and the command that uses them."""
    return Written({"file": found.path}, [found.path], next=[found.use])


STUDY = Study(
    "contexts",
    ContextsOptions,
    find,
    report,
    preview=preview,
    previewed={"...": (Foretold, ContextJob)},
    write=write,
    places=("file",),
)
