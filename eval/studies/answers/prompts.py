"""Prompts that ask a language model to answer the queries of a stored run, and their replies."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.eval.llm.fences import FENCES, fence
from assay.eval.runs.execution.searching import sample
from assay.eval.runs.stored import StoredRun
from assay.retrievers.base import Chunk, Hit
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.settings import Resources
from assay.retrievers.stages.context import ContextSettings, assemble_marked

NOTHING = "NO ANSWER"
# An answer of the usual form and length.
EXAMPLE = (
    "Within thirty days, in writing, to the office that issued the permit [1]. A late filing is"
    " accepted only where the delay was not the filer's fault [3]."
)
TASK = (
    f"{FENCES}\n\nAnswer the question from the numbered passages between the marks alone. Be as"
    " brief as the question allows. After each statement name in square brackets the passages that"
    " bear it, as in [2] or [1][3]. If the passages do not hold the answer, write"
    f" {NOTHING} and nothing else."
)
_NAMED = r"(\d+)(?:\s*[-‐-―]\s*(\d+))?"  # a passage, or the first and the last of several
NAMED = re.compile(_NAMED)
CITED = re.compile(rf"(?<!\s)\s*+\[({_NAMED}(?:\s*[,;]\s*{_NAMED})*)\]")
# Some models give a reason after the words asked for.
ABSTAINED = re.compile(rf"\W*(?:{NOTHING}\b.*|(?i:{NOTHING})\W*)", re.S)


@dataclass(frozen=True, slots=True)
class Case:
    """A query, its prompt, and the chunks of each numbered passage; no prompt without chunks."""

    query: str
    prompt: Prompt | None
    chunks: Sequence[Sequence[Chunk]]


@dataclass(frozen=True, slots=True)
class RunCases:
    """The cases of a run. `budget` is the tokens of a context; None if the run has that stage."""

    run: StoredRun
    cases: Sequence[Case]
    budget: int | None


def make_cases(
    run: StoredRun, context_tokens: int | None, limit: int | None, resources: Resources
) -> RunCases:
    """Return the cases of `limit` evenly spaced queries of a run, or of all queries.

    The context is the hits that the run's stage `context` kept. For a run without that stage, it is
    the best hits within `context_tokens`, or within the default of that stage.
    """
    settings = ContextSettings(type="context")
    if context_tokens is not None:
        settings = settings.model_copy(update={"max_tokens": context_tokens})
    stage = None if _has_context(run) else settings.build(resources)
    queries = sample(tuple(run.queries.values()), limit)
    cases = []
    what = f"contexts of {run.manifest.name}"
    for query in resources.progress.track(queries, what, len(queries)):
        hits: Sequence[Hit] = run.rankings[query.id].hits
        hits = stage.apply(query.text, hits).hits if stage else hits
        context, chunks = assemble_marked(hits)
        asked = f"\n{TASK}\n\nQuestion: {query.text}"
        prompt = Prompt(fence(context), asked, example=EXAMPLE) if chunks else None
        cases.append(Case(query.id, prompt, chunks))
    return RunCases(run, cases, settings.max_tokens if stage else None)


def read_answer(text: str, numbers: int) -> tuple[str, list[int], bool]:
    """Return an answer without citations, the numbers cited, and True if the model abstained.

    Numbers begin at 1. `[1, 3]` and `[1-3]` cite several passages.
    """
    named = (i for found in CITED.finditer(text) for i in _list_named(found[1], numbers))
    cited = list(dict.fromkeys(named))
    bare = CITED.sub("", text).strip()
    abstained = not bare or ABSTAINED.fullmatch(bare) is not None
    return ("" if abstained else bare), ([] if abstained else cited), abstained


def _list_named(text: str, numbers: int) -> Iterator[int]:
    """Yield the numbers that one citation names, within 1 to `numbers`."""
    for first, last in NAMED.findall(text):
        yield from range(max(int(first), 1), min(int(last or first), numbers) + 1)


def _has_context(run: StoredRun) -> bool:
    stages = run.manifest.config.get("retriever", {}).get("stages") or []
    return any(stage.get("type") == "context" for stage in stages)
