"""What `assay contexts` prints: what was asked, the ledger, what is missing, what to do next."""

import os
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eval.collections.contexts import is_read_from
from retrievers.language_models.answers import KeptAnswer
from retrievers.language_models.ledger import Account
from retrievers.language_models.prices import FREE, LISTED, Usage

if TYPE_CHECKING:
    from eval.cli.contexts import Job
    from retrievers.contextualisation.generation import Outcome
    from retrievers.language_models.estimates import Estimate

NAMED = 5  # chunks without a context that are shown by name
KINDS = ("input", "cache_write", "cache_read", "output")


@dataclass(frozen=True)
class Result:
    """What a run came to; `path` is None when nothing was written."""

    job: "Job"
    outcome: "Outcome"
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

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        outcome = self.outcome
        return describe(self.job) | {
            "complete": not outcome.stopped,
            "stopped": outcome.stopped or None,
            "contexts": len(self.texts),
            "cut": self.cut,
            "narrowed": outcome.narrowed,
            "without": [{"chunk": chunk, "reason": why} for chunk, why in self.without.items()],
            "run": outcome.run.as_json(),
            "earlier": outcome.earlier.as_json(),
            "output": str(self.path) if self.path else None,
            "next": next_step(self.job, self.path) if self.path else None,
        }


def describe(job: "Job") -> dict[str, Any]:
    """Return what is asked, as JSON values."""
    plan, prices = job.plan, _prices(job)
    return {
        "collection": job.card.name,
        "config": str(job.config),
        "model": job.model.name,
        "chunks": len(plan.keys),
        "known_before": len(plan.keys) - _pending(job),
        "to_ask": len(plan.requests),
        "window_tokens": plan.window,
        "shown_in_part": list(plan.windowed),
        "prices_usd_per_million": prices.model_dump() if prices else None,
        "budget_usd": job.settings.max_cost_usd,
    }


def estimate_as_json(job: "Job", expected: "Estimate") -> dict[str, Any]:
    """Return a dry run as JSON values."""
    tokens = {kind: getattr(expected.usage, kind) for kind in KINDS}
    costs = {"usd": expected.usd, "worst_usd": expected.worst_usd}
    return describe(job) | {"estimate": {"tokens": tokens, **costs}}


def print_estimate(job: "Job", expected: "Estimate") -> None:
    """Print a dry run."""
    _print_head(job)
    click.echo("about, if all goes well:")
    _print_tokens(job, expected.usage, expected.usd)
    if expected.worst_usd:
        click.echo(f"at most, by the bytes sent: {expected.worst_usd:.4f} USD")


def print_result(result: Result) -> None:
    """Print what a run came to."""
    job, outcome = result.job, result.outcome
    _print_head(job)
    if outcome.run.calls:
        _print_tokens(job, outcome.run.usage, outcome.run.usd)
    _print_lost("this run", outcome.run)
    if outcome.earlier.calls:
        before = outcome.earlier
        click.echo(f"earlier runs: {before.calls} calls, {before.usd:.4f} USD")
        _print_lost("earlier runs", before)
    if job.settings.max_cost_usd is not None:
        spent = outcome.run.committed_usd + outcome.earlier.committed_usd
        click.echo(f"budget: {spent:.4f} of {job.settings.max_cost_usd:.4f} USD")
    cut = f", {result.cut} cut off at max_tokens" if result.cut else ""
    click.echo(f"contexts: {len(result.texts)} of {len(job.plan.keys)} chunks{cut}")
    if outcome.narrowed:
        click.echo(f"{outcome.narrowed} prompts did not fit and were sent with less of the text")
    for why, count in Counter(result.without.values()).items():
        chunks = [chunk for chunk, reason in result.without.items() if reason == why]
        more = ", …" if count > NAMED else ""
        click.echo(f"without one: {count} chunks ({why}): {', '.join(chunks[:NAMED])}{more}")
    if result.path:
        click.echo(f"wrote {result.path}")
        click.echo(next_step(job, result.path))


def next_step(job: "Job", path: Path) -> str:
    """Return what to do with the contexts, in one line."""
    card = job.card
    run = f"assay run {job.config} dataset={job.reference} documents.context.source=collection"
    if is_read_from(card, path):
        sealed = any(Path(name).name == path.name for name in card.digests)
        return f"next: {f'assay dataset seal {job.reference}, then ' if sealed else ''}{run}"
    where = card.path or "dataset.yaml"
    return f"next: `contexts: {_as_card_names(job, path)}` in {where}, then {run}"


def _as_card_names(job: "Job", path: Path) -> str:
    from eval.collections.location import find_data

    folder = find_data(job.card).resolve()
    inside = path.resolve().is_relative_to(folder)
    return os.path.relpath(path.resolve(), folder) if inside else str(path.resolve())


def _pending(job: "Job") -> int:
    keys = {request.key for request in job.plan.requests}
    return sum(key in keys for key in job.plan.keys.values())


def _prices(job: "Job") -> Any:
    return job.settings.prices or job.model.prices


def _print_head(job: "Job") -> None:
    plan, pending = job.plan, _pending(job)
    known = len(plan.keys) - pending
    click.echo(
        f"{job.card.name}: {len(plan.keys)} chunks, {known} known, {pending} to ask"
        f" {job.model.name} (window {plan.window} tokens)"
    )
    if plan.windowed:
        click.echo(
            f"{len(plan.windowed)} documents are longer than that: of these, the opening and what"
            " surrounds the chunk are shown"
        )
    if plan.alone:
        click.echo(f"{plan.alone} chunks are all of their document: there is nothing to add")
    prices = _prices(job)
    if prices is None:
        click.echo("prices: not known; --prices gives them")
    elif prices != FREE:
        source = "as given" if job.settings.prices else f"list of {LISTED}"
        step = f", for prompts up to {prices.step} tokens" if prices.step else ""
        rates = " / ".join(f"{getattr(prices, kind):g}" for kind in KINDS)
        click.echo(f"prices: {rates} USD per million tokens ({source}{step})")


def _print_tokens(job: "Job", usage: Usage, usd: float | None) -> None:
    prices = _prices(job)
    charged = prices is not None and prices != FREE
    for kind in KINDS:
        tokens = getattr(usage, kind)
        line = f"  {kind.replace('_', ' '):<12}{tokens:>14,} tokens"
        if charged and not prices.step:  # beyond a step the price depends on the call
            line += f"{prices.cost(Usage(**{kind: tokens})):>12.4f} USD"
        click.echo(line)
    if charged:
        click.echo(f"  {'total':<12}{usd:>33.4f} USD")


def _print_lost(when: str, account: Account) -> None:
    if account.lost:
        click.echo(
            f"{when}: {account.lost} calls brought no answer and may have cost"
            f" {account.lost_usd:.4f} USD"
        )
