"""Contexts of a collection's chunks by a language model: what is asked, and what came of it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from assay.eval.collections.authoring.contexts import (
    find_place,
    is_read_from,
    read_documents,
    render,
)
from assay.eval.collections.card import Card
from assay.eval.collections.catalog import find
from assay.eval.collections.location import find_data
from assay.eval.configs.config import load_config
from assay.eval.llm import session as sessions
from assay.eval.llm.job import GOES_ON, Ask, Estimate, Forecast
from assay.eval.llm.session import CostLedger, LlmSession
from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.contextualisation import plans
from assay.retrievers.contextualisation.prompts import in_order
from assay.retrievers.documents.contexts import ContextSettings
from assay.retrievers.documents.preparation import prepare
from assay.retrievers.language_models.answers import KeptAnswer
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.services.prices import Usage
from assay.retrievers.settings import Resources
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing

PURPOSE = "contexts"
MAX_TOKENS = 100
KINDS = ("input", "cache_write", "cache_read", "output")


@dataclass(frozen=True)
class ContextJob:
    """What is asked: a collection's chunks in order, the model, and what is known already."""

    reference: str
    card: Card
    config: str
    chunks: list[Chunk]
    plan: plans.ContextPlan
    session: LlmSession

    @property
    def charged(self) -> bool:
        """Whether the calls cost anything, as far as is known."""
        prices = self.session.prices
        return prices is not None and prices.charged

    @cached_property
    def pending(self) -> int:
        """The number of chunks that are to be asked about."""
        keys = {request.key for request in self.plan.requests}
        return sum(key in keys for key in self.plan.keys.values())

    @property
    def known(self) -> int:
        """The number of chunks whose context is known already."""
        return len(self.plan.keys) - self.pending

    def itemise(self, usage: Usage) -> list[tuple[str, int, float | None]]:
        """Return each kind of token, how many there are, and what they cost.

        None stands where nothing is charged, or where beyond a step the cost depends on the call.
        """
        prices = self.session.prices if self.charged else None
        items = [(kind, getattr(usage, kind)) for kind in KINDS]
        return [
            (
                kind,
                tokens,
                prices.cost(Usage(**{kind: tokens})) if prices and not prices.step else None,
            )
            for kind, tokens in items
        ]

    def as_json(self) -> dict[str, Any]:
        """Return what is asked as JSON values."""
        session = self.session
        return {
            "collection": self.card.name,
            "config": self.config,
            "model": session.model.name,
            "chunks": len(self.plan.keys),
            "known_before": self.known,
            "to_ask": len(self.plan.requests),
            "window_tokens": self.plan.window,
            "shown_in_part": list(self.plan.windowed),
            "prices_usd_per_million": session.prices.model_dump() if session.prices else None,
            "budget_usd": session.settings.max_cost_usd,
        }


@dataclass(frozen=True, slots=True)
class ContextOutcome:
    """What is known after a run, by key. `stopped` says why it is not all, if it is not.

    `narrowed` counts the prompts that did not fit and were sent with less of the document.
    `ledger` has the accounts of this run and of those before it over the same chunks.
    """

    known: Mapping[str, KeptAnswer]
    ledger: CostLedger
    stopped: str = ""
    narrowed: int = 0


@dataclass(frozen=True)
class ContextResult:
    """What a run came to; `path` is None when nothing was written."""

    job: ContextJob
    outcome: ContextOutcome
    path: Path | None

    @cached_property
    def done(self) -> dict[str, KeptAnswer]:
        """What is known, by chunk."""
        known = self.outcome.known
        return {chunk: known[key] for chunk, key in self.job.plan.keys.items() if key in known}

    @cached_property
    def texts(self) -> dict[str, str]:
        """The contexts by chunk."""
        return {chunk: known.text for chunk, known in self.done.items() if known.text}

    @cached_property
    def without(self) -> dict[str, str]:
        """Why there is none, by chunk that was asked about and has no context."""
        return {
            chunk: f"refused: {known.note}" if known.ending == "refusal" else "empty answer"
            for chunk, known in self.done.items()
            if not known.text
        }

    @property
    def cut(self) -> int:
        """The number of contexts that end where max_tokens did."""
        return sum(known.ending == "length" for known in self.done.values())

    @property
    def next_step(self) -> str | None:
        """What to do with the contexts, in one line; None when nothing was written."""
        if self.path is None:
            return None
        job, card = self.job, self.job.card
        run = f"assay run {job.config} dataset={job.reference} documents.context.source=collection"
        if is_read_from(card, self.path):
            sealed = any(Path(name).name == self.path.name for name in card.digests)
            return f"next: {f'assay dataset seal {job.reference}, then ' if sealed else ''}{run}"
        where = card.path or "dataset.yaml"
        return f"next: `contexts: {name_in_card(card, self.path)}` in {where}, then {run}"

    @property
    def failure(self) -> str:
        """Why the run stopped before all was done, and how to go on; empty if it did not."""
        if not self.outcome.stopped:
            return ""
        return (
            f"{self.outcome.stopped}; {len(self.done)} of {len(self.job.plan.keys)} chunks are done"
            f" and kept: {GOES_ON}"
        )

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        outcome = self.outcome
        return self.job.as_json() | {
            "complete": not outcome.stopped,
            "stopped": outcome.stopped or None,
            "contexts": len(self.texts),
            "cut": self.cut,
            "narrowed": outcome.narrowed,
            "without": [{"chunk": chunk, "reason": why} for chunk, why in self.without.items()],
            **outcome.ledger.as_json(),
            "output": str(self.path) if self.path else None,
            "next": self.next_step,
        }


def prepare_job(
    collection: str, config: str, session: LlmSession, window: int | None = None
) -> ContextJob:
    """Cut the collection as `config` says, and find out what is known of its chunks.

    `window` is the longest prompt in tokens, by default the model's.
    """
    documents_settings = load_config(config).documents
    card, _ = find(collection)
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


def make_session(
    options: Mapping[str, Any], resources: Resources, *, dry_run: bool = False
) -> LlmSession:
    """Return the model that `options` name, to write contexts. Raises AssayError."""
    return sessions.make_session(
        options, PURPOSE, MAX_TOKENS, resources, dry_run=dry_run, kind=plans.CACHE_KIND
    )


def estimate(job: ContextJob) -> Forecast[Estimate]:
    """Return what a job should use and cost; nothing is asked."""
    expected = plans.estimate(job.plan, job.session.model, job.session.prices)
    return Forecast("chunks", job.as_json(), expected)


def generate(plan: plans.ContextPlan, session: LlmSession) -> ContextOutcome:
    """Ask all that `plan` does not know yet; each answer is kept the moment it arrives.

    Where the run stops early, the calls under way are awaited. Raises AssayError before any call:
    without a key or an extra, and while another process is at the same work.
    """
    # The keys hold who is asked: an interrupted run has the same.
    ledger = session.ledger(sorted(set(plan.keys.values())))
    if not plan.requests:
        return ContextOutcome(plan.known, ledger)
    shared = plan.shared
    tasks = {
        request.key: partial(_situate, request, session.model.name, shared=request.group in shared)
        for request in plan.requests
    }
    groups = {request.key: request.group for request in plan.requests}
    known, narrowed = dict(plan.known), 0
    with session.open(ledger) as asking:
        for key, (answer, times) in asking.each(tasks, "contexts", groups):
            known[key] = answer
            narrowed += times
    return ContextOutcome(known, ledger, asking.stopped, narrowed)


def _situate(
    request: plans.ContextRequest, model: str, ask: Ask, *, shared: bool
) -> tuple[KeptAnswer, int]:
    """Return the context of a chunk, and how many times its prompt had to be made shorter."""
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


def run_job(job: ContextJob, output: Path | None) -> ContextResult:
    """Ask what is not known and write all contexts: to `output`, else where the data lies.

    Raises AssayError before anything is paid for where they cannot be written. A run that stopped
    writes nothing; what was answered is kept.
    """
    path = _choose_place(job, output)
    outcome = generate(job.plan, job.session)
    result = ContextResult(job, outcome, None if outcome.stopped else path)
    if not outcome.stopped:
        _write(job, result.texts, path, replace=output is not None)
    return result


def _choose_place(job: ContextJob, output: Path | None) -> Path:
    path = output or find_place(job.card)
    if output is None and path.exists() and job.plan.requests:
        raise AssayError(f"{path}: is there already; --output {path} replaces it")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise AssayError(f"--output {path}: cannot be written; give a file in a folder of yours")
    return path


def _write(job: ContextJob, texts: dict[str, str], path: Path, *, replace: bool) -> None:
    """Write the contexts at once or not at all; another file there is replaced only if asked."""
    content = render(job.card, job.chunks, texts).encode()
    with changing(path):
        if path.exists() and not replace and path.read_bytes() != content:
            raise AssayError(f"{path}: is there already; --output {path} replaces it")
        write_atomically(path, content)


def name_in_card(card: Card, path: Path) -> str:
    """Return what names `path` in a card: from the folder of its data, or absolute outside it."""
    folder = find_data(card).resolve()
    inside = path.resolve().is_relative_to(folder)
    return os.path.relpath(path.resolve(), folder) if inside else str(path.resolve())
