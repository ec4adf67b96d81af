"""The cost of calls to a language model: estimated before the calls, reported after them."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.eval.report.blocks import Facts
from assay.eval.running.study import Preview
from assay.eval.runs.json_form import in_json, shape, to_json
from assay.retrievers.language_models.estimates import DryRun
from assay.retrievers.services.ledger import CostLedger
from assay.retrievers.services.prices import LISTED


@in_json(
    model="counted.model.name",
    known_before="counted.known",
    to_ask="counted.to_ask",
    estimate=shape("counted", "usd", "worst_usd", tokens="usage"),
)
@dataclass(frozen=True)
class Foretold:
    """The calls of a dry run."""

    counted: DryRun


def foretell(what: str, counted: DryRun, about: object, lines: Sequence[str] = ()) -> Preview:
    """Return the preview of `what` by a dry run: `lines`, known answers, calls to make, and cost.

    `about` is the request, whose JSON is added to that of the estimate.
    """
    usage, named = counted.usage, f"{counted.to_ask} to ask {counted.model.name}"
    told = [
        *lines,
        f"{what}: {counted.known} answers known, {named}",
        f"about {usage.prompt:,} tokens of prompts, {usage.output:,} of answers",
    ]
    if counted.charged is None:
        told.append("prices: not known; --prices gives them")
    elif counted.charged:
        cache = "of shared documents all but the first are" if counted.cached else "nothing is"
        told.append(
            f"about {counted.usd:.4f} USD, at most {counted.worst_usd:.4f} USD by the bytes sent"
            f" (prices of {LISTED}, unless given; {cache} read from the provider's cache)"
        )
    return Preview({**to_json(Foretold(counted)), **to_json(about)}, told)


def account(ledger: CostLedger) -> list[Facts]:
    """Return a block on the calls made, by this command and before; none if it made no call."""
    if not ledger.run.calls:
        return []
    run, earlier = ledger.run, ledger.earlier
    tokens = f"{run.usage.prompt:,} + {run.usage.output:,} tokens"
    pairs = [
        ("sent", f"{run.calls} calls, {tokens}, {run.usd:.4f} USD"),
        ("earlier", f"{earlier.calls} calls, {earlier.usd:.4f} USD"),
    ]
    both = run + earlier
    if both.lost:
        lost = f"{both.lost} calls brought no answer and may have cost {both.lost_usd:.4f} USD"
        pairs.append(("lost", lost))
    if ledger.budget is not None:
        pairs.append(("budget", f"{both.committed_usd:.4f} of {ledger.budget:.4f} USD"))
    return [Facts("Calls to the language model", pairs)]
