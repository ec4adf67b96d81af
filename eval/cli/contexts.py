"""`assay contexts`: contexts from a language model (Anthropic's contextual retrieval)."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from eval.collections.card import Card
    from retrievers.base import Chunk
    from retrievers.contextualisation.plans import Plan
    from retrievers.language_models.base import LanguageModel
    from retrievers.language_models.client import CallSettings
    from retrievers.settings import Workshop


@click.command()
@click.argument("collection")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    default=Path("configs/contextual.yaml"),
    show_default=True,
    help="The pipeline whose chunks get contexts.",
)
@click.option(
    "--provider",
    type=click.Choice(["anthropic", "openai", "local"]),
    required=True,
    help="openai: also any service that speaks its chat completions, by --base-url.",
)
@click.option("--model", help="Default: a small one of the provider's.")
@click.option("--base-url", help="Address of a compatible service; keys are not part of it.")
@click.option(
    "--max-cost-usd", type=float, help="Budget of these chunks over all runs; never exceeded."
)
@click.option(
    "--prices",
    metavar="IN,WRITE,READ,OUT",
    help="US dollars per million tokens: prompt, written to and read from the cache, answer.",
)
@click.option("--concurrency", type=int, help="Calls at a time.  [default: 10]")
@click.option("--max-tokens", type=int, help="Longest context.  [default: 100]")
@click.option("--thinking-tokens", type=int, help="To think in before it; 0 is off.  [default: 0]")
@click.option(
    "--window-tokens",
    type=click.IntRange(min=500),
    help="Longest prompt; of longer documents a part is shown.  [default: the model's]",
)
@click.option("--timeout-seconds", type=float, help="Of one call.  [default: 60]")
@click.option("--output", type=click.Path(path_type=Path), help="The file to write or replace.")
@click.option("--dry-run", is_flag=True, help="Estimate tokens and cost; make no call.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def contexts(collection: str, config: Path, as_json: bool, **options: Any) -> None:
    """Write a context for each chunk of COLLECTION, made by a language model.

    Each call sends a whole document and one of its chunks. Answers are kept: a run that was
    interrupted goes on where it stopped, and nothing is paid for twice. Keys come from
    ANTHROPIC_API_KEY and OPENAI_API_KEY alone. Free, and without a model:
    documents.context.source=headings, or opening.
    """
    from eval.cli import contexts_output
    from eval.cli.console import print_json
    from retrievers.base import AssayError
    from retrievers.contextualisation.generation import generate
    from retrievers.contextualisation.plans import estimate
    from retrievers.language_models.client import find_prices

    job = prepare_job(collection, config, options)
    if options["dry_run"]:
        expected = estimate(job.plan, job.model, find_prices(job.model, job.settings))
        if as_json:
            print_json(contexts_output.estimate_as_json(job, expected))
        else:
            contexts_output.print_estimate(job, expected)
        return
    path = choose_place(job, options["output"])
    outcome = generate(job.plan, job.model, job.settings, job.workshop)
    result = contexts_output.Result(job, outcome, None if outcome.stopped else path)
    if not outcome.stopped:
        write(job, result.texts, path, replace=bool(options["output"]))
    if as_json:
        print_json(result.as_json())
    else:
        contexts_output.print_result(result)
    if outcome.stopped:
        raise AssayError(
            f"{outcome.stopped}; {len(result.done)} of {len(job.plan.keys)} chunks are done and"
            " kept: the same command goes on from there"
        )


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked: a collection's chunks in order, the model, and what is known already."""

    reference: str
    card: "Card"
    config: Path
    chunks: "list[Chunk]"
    plan: "Plan"
    model: "LanguageModel"
    settings: "CallSettings"
    workshop: "Workshop"


def prepare_job(collection: str, config: Path, options: dict[str, Any]) -> Job:
    """Cut the collection as `config` says, and find out what is known of its chunks."""
    from eval.collections.catalog import find
    from eval.collections.contexts import read_documents
    from eval.experiments.config import load_config
    from eval.experiments.locations import threads
    from eval.progress import ConsoleProgress
    from retrievers.base import AssayError
    from retrievers.contextualisation.plans import make_plan
    from retrievers.contextualisation.prompts import in_order
    from retrievers.documents.contexts import ContextSettings
    from retrievers.documents.preparation import prepare
    from retrievers.settings import Workshop
    from retrievers.store.cache import Cache, default_root

    documents_settings = load_config(config).documents
    card, _ = find(collection)
    documents = read_documents(card)
    if card.contexts_of == "passage" and not documents_settings.passages:
        raise AssayError(
            f"{config}: documents.passages: must be true, because contexts of a {card.format}"
            " collection belong to the passages it prescribes"
        )
    workshop = Workshop(Cache(default_root()), ConsoleProgress(), threads())
    model, settings = read_settings(options, workshop)
    bare = documents_settings.model_copy(update={"context": ContextSettings(source="none")})
    chunks = in_order(documents, prepare(documents, bare, workshop).chunks)
    plan = make_plan(documents, chunks, model, options["window_tokens"], workshop.cache)
    return Job(collection, card, config, chunks, plan, model, settings, workshop)


def read_settings(
    options: dict[str, Any], workshop: "Workshop"
) -> "tuple[LanguageModel, CallSettings]":
    """Return the model and how it is called. Raises AssayError naming the option that is wrong."""
    from pydantic import ValidationError

    from retrievers.base import AssayError
    from retrievers.language_models.client import CallSettings
    from retrievers.language_models.providers import PROVIDERS
    from retrievers.settings import explain_error

    provider = options["provider"]
    kind = PROVIDERS[provider]
    given = {key: value for key, value in options.items() if value is not None}
    called: dict[str, Any] = {
        key: given.pop(key) for key in ("concurrency", "max_cost_usd") if key in given
    }
    if "prices" in given:
        called["prices"] = read_prices(given["prices"])
    names = ("model", "base_url", "max_tokens", "thinking_tokens", "timeout_seconds")
    told = {key: given[key] for key in names if key in given}
    for key in told.keys() - kind.model_fields.keys():
        raise AssayError(f"--{key.replace('_', '-')}: the provider {provider} has no such setting")
    if provider == "local" and "window_tokens" in given:
        told["context_tokens"] = given["window_tokens"]
    try:
        return kind(**told).build(workshop), CallSettings(**called)
    except ValidationError as error:
        key, _, wrong = explain_error(error).partition(":")
        raise AssayError(f"--{key.replace('_', '-')}:{wrong}") from None


def read_prices(text: str) -> Any:
    """Return the prices in `text`: four numbers."""
    from retrievers.base import AssayError
    from retrievers.language_models.prices import Prices

    try:
        numbers = [float(part) for part in text.split(",")]
        names = ("input", "cache_write", "cache_read", "output")
        return Prices.model_validate(dict(zip(names, numbers, strict=True)))
    except ValueError:  # pydantic's is one
        raise AssayError(
            f"--prices: {text!r} is not four prices; allowed: INPUT,CACHE_WRITE,CACHE_READ,OUTPUT"
            " in US dollars per million tokens, as in 1,1.25,0.1,5"
        ) from None


def choose_place(job: Job, output: Path | None) -> Path:
    """Return where to write, found out before anything is paid for."""
    import os

    from eval.collections.contexts import find_place
    from retrievers.base import AssayError

    path = output or find_place(job.card)
    if output is None and path.exists() and job.plan.requests:
        raise AssayError(f"{path}: is there already; --output {path} replaces it")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise AssayError(f"--output {path}: cannot be written; give a file in a folder of yours")
    return path


def write(job: Job, texts: dict[str, str], path: Path, *, replace: bool) -> None:
    """Write the contexts at once or not at all; another file there is replaced only if asked."""
    from eval.collections.contexts import render
    from eval.runs.stored import write_atomically
    from retrievers.base import AssayError

    content = render(job.card, job.chunks, texts).encode()
    if path.exists() and not replace and path.read_bytes() != content:
        raise AssayError(f"{path}: is there already; --output {path} replaces it")
    write_atomically(path, content)
