"""Contexts that a language model writes before a choice, so that they are among its candidates."""

from dataclasses import dataclass
from pathlib import Path

from assay.eval.collections.authoring.contexts import FILE, is_read_from
from assay.eval.collections.card_files import parse_card
from assay.eval.collections.catalog import find
from assay.eval.collections.location import find_data
from assay.eval.configs.config import RunConfig
from assay.eval.llm.session import LlmSession
from assay.eval.studies.choice.candidates import CONTEXT
from assay.eval.studies.choice.choice import Trial
from assay.eval.studies.ingestion.contexts import (
    choose_place,
    name_in_card,
    prepare_job,
    write_all,
)
from assay.retrievers.base import AssayError
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing


@dataclass(frozen=True, slots=True)
class WrittenContexts:
    """What was spent in US dollars, by this command or before, and what was left out for what
    reason, if it was.
    """

    usd: float
    left_out: tuple[Trial, ...] = ()


def write_contexts(config: RunConfig, source: str, session: LlmSession) -> WrittenContexts:
    """Write the contexts of a collection's chunks as `assay contexts` does, if their expected price
    is within the budget of `session`; say it first. A card that does not name them then does.

    `config` names the collection, and `source` the config whose chunks get contexts. Raises
    AssayError before anything is paid for where they cannot be written.
    """
    progress = session.resources.progress
    card, _ = find(config.dataset)
    place = find_data(card) / (card.contexts_file or FILE)
    read = is_read_from(card, place)
    if read and place.exists():
        progress.say(f"{card.name}: has contexts, so none are written")
        return WrittenContexts(0.0)
    line = f"contexts: {name_in_card(card, place)}"
    if not read and card.path:
        try:
            parse_card(_append(card.path, line), card.path)
        except AssayError:
            reason = "by which it reads those that are written, or leave --provider out"
            raise AssayError(f"{card.path}: name the contexts in it ({line}), {reason}") from None
    job = prepare_job(config.dataset, source, session)

    def leave_out(reason: str, usd: float = 0.0) -> WrittenContexts:
        point, step = {CONTEXT: "collection"}, f"context written by {session.model.name}"
        return WrittenContexts(usd, (Trial("contexts", (step,), point, None, reason),))

    price = job.asking.count().usd or 0.0
    limit = session.settings.max_cost_usd
    allowed = "" if limit is None else f"; {limit:g} USD are allowed"
    progress.say(f"contexts of {job.pending} chunks: about {price:.4f} USD{allowed}")
    if limit is not None and price > limit:
        return leave_out(f"not tried: about {price:.4f} USD{allowed}", 0.0)
    written = choose_place(job, None)
    try:
        write_all(job, written, replace=False)
        stopped = ""
    except AssayError as error:
        stopped = str(error)
    usd = job.asking.ledger.run.usd + job.asking.ledger.earlier.usd
    if stopped:
        return leave_out(stopped, usd)
    if not read and card.path:
        with changing(card.path):
            write_atomically(card.path, _append(card.path, line).encode())
        progress.say(f"{card.path}: added `{line}`")
    return WrittenContexts(usd)


def _append(path: Path, line: str) -> str:
    return f"{path.read_text(encoding='utf-8').rstrip()}\n{line}\n"
