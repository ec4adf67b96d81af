"""The answers of a language model from a run's rankings: `answers.jsonl` in its folder.

A line holds a query's answer, the chunks that the model was shown and those it cited, the model and
prompt, and the cost. Scores are computed from these lines and the run's judgments.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from assay.eval.collections.formats.rows import render_rows
from assay.eval.runs.rows import read_rows
from assay.eval.runs.stored import StoredRun
from assay.eval.scoring import generated, measures
from assay.eval.scoring.calculation import Scores
from assay.eval.scoring.generated import KINDS, ModelAnswer, ReferenceAnswer
from assay.eval.scoring.join import RetrievedChunk
from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.base.answers import IDS
from assay.retrievers.settings import explain_error
from assay.retrievers.store.files import write_atomically

if TYPE_CHECKING:
    from pandas import DataFrame


FILE = "answers.jsonl"
Span = tuple[str, str, int, int]  # a chunk's id, its document, and where it begins and ends


@dataclass(frozen=True, slots=True)
class Recipe:
    """The model and prompt of generated answers: answers of different recipes are not compared.

    `identity` is the model's digest, `prompt` that of the words around context and question.
    `context_tokens` is the budget of the context, None where the pipeline itself sets one.
    """

    model: str
    identity: str
    prompt: str
    context_tokens: int | None

    def fits(self, other: "Recipe") -> bool:
        """Return True if answers of both differ by their pipelines alone."""
        budgets = {self.context_tokens, other.context_tokens} - {None}
        return (self.identity, self.prompt) == (other.identity, other.prompt) and len(budgets) < 2

    @property
    def words(self) -> str:
        """The recipe for people."""
        budget = f", {self.context_tokens:,} tokens of context" if self.context_tokens else ""
        return f"{self.model}, prompt {self.prompt[:8]}{budget}"


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer; `asked` is the digest of all that the model read.

    `ending` is `refusal` if the model refused, `length` if the answer was cut off, and `unasked` if
    the context was empty. Tokens and US dollars are None if they are not known.
    """

    query: str
    answer: str
    abstained: bool
    ending: str
    cited: Sequence[str]
    context: Sequence[Span]
    asked: str
    prompt_tokens: int | None
    output_tokens: int | None
    usd: float | None


_ROW = TypeAdapter(StoredAnswer)


@dataclass(frozen=True)
class AnswerSet:
    """The answers of a run by query, and a digest of the file that they are in."""

    recipe: Recipe
    answers: Mapping[str, StoredAnswer]
    digest: str


def write(folder: Path, recipe: Recipe, answers: Sequence[StoredAnswer]) -> Path:
    """Write the answers of the run in `folder`, in place of any before; return the file."""
    rows = ({**asdict(answer), "recipe": asdict(recipe)} for answer in answers)
    path = folder / FILE
    write_atomically(path, render_rows(rows).encode())
    return path


def read(folder: Path) -> AnswerSet | None:
    """Return the answers of the run in `folder`; None where there are none. Raises AssayError."""
    path = folder / FILE
    rows = list(read_rows(path))
    if not rows:
        return None
    try:
        (recipe,) = {Recipe(**row.pop("recipe")) for row in rows}
        answers = {row["query"]: _ROW.validate_python(row) for row in rows}
    except (LookupError, TypeError, ValueError) as error:
        reason = explain_error(error) if isinstance(error, ValidationError) else repr(error)
        raise AssayError(
            f"{path}: not answers that this version reads ({reason}); `assay answer` writes them"
            " again"
        ) from None
    return AnswerSet(recipe, answers, hashlib.sha256(path.read_bytes()).hexdigest()[:16])


def score(run: StoredRun, names: Sequence[str]) -> Scores:
    """Return {measure: {query id: score}}, of measures of rankings and of answers.

    Raises AssayError where a measure of answers is asked for and the run has none.
    """
    of_answers = [name for name in names if measures.find(name).of_answers]
    others = [name for name in names if name not in of_answers]
    found = run.score(others) if others else {}
    if of_answers:
        found |= _score_answers(run, of_answers)
    return {name: found[name] for name in (measures.find(name).name for name in names)}


def list_available(run: StoredRun) -> list[str]:
    """Return the measures of answers that a run has scores of, for each of its queries."""
    answered = read(run.folder)
    if answered is None or not answered.answers.keys() >= run.queries.keys():
        return []
    lacking = _find_unreferenced(run)
    return [name for name, kind in KINDS.items() if not (lacking and kind.referenced)]


def list_references(metadata: Mapping[str, Any]) -> list[str]:
    """Return the reference answers of a query, by its metadata: `answer`, a text or several."""
    value = metadata.get("answer")
    texts = value if isinstance(value, list) else [value]
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()]


def _score_answers(run: StoredRun, names: Sequence[str]) -> Scores:
    answered = read(run.folder)
    id_ = run.manifest.id
    if answered is None:
        raise AssayError(f"{names[0]}: {id_} has no answers; `assay answer {id_}` makes them")
    if missing := [query for query in run.queries if query not in answered.answers]:
        raise AssayError(
            f"{names[0]}: {id_} has no answer to {len(missing)} of {len(run.queries)} queries;"
            f" `assay answer {id_}` without --limit makes them"
        )
    lacking = _find_unreferenced(run)
    if lacking and (named := [name for name in names if KINDS[name].referenced]):
        raise AssayError(
            f"{named[0]}: {len(lacking)} of {len(run.queries)} queries have no reference answer"
            " (`answer` in their metadata; a run keeps those there were when it was made, and"
            " `assay run --rerun` makes another)"
        )
    given = {query: _gather(run, answered.answers[query]) for query in run.queries}
    wanted = {query: _want(run, query) for query in run.queries}
    return {name: generated.score(name, given, wanted) for name in names}


def _find_unreferenced(run: StoredRun) -> list[str]:
    """Return the queries that something answers and that have no reference answer."""
    wanted = {query: _want(run, query) for query in run.queries}
    return [query for query, right in wanted.items() if right.items and not right.references]


def _want(run: StoredRun, query: str) -> ReferenceAnswer:
    least = run.manifest.collection.answers_from
    items = [item for item in run.gold[query] if item.grade >= least]
    texts = [run.gold_texts.get(item.id, "") for item in items]
    return ReferenceAnswer(items, texts, list_references(run.queries[query].metadata))


def _gather(run: StoredRun, answer: StoredAnswer) -> ModelAnswer:
    shown = [
        RetrievedChunk(Chunk(id_, document, start, end, ""), id_ in run.prescribed)
        for id_, document, start, end in answer.context
    ]
    cited = [item for item in shown if item.chunk.id in answer.cited]
    return ModelAnswer(answer.answer, answer.abstained, cited, shown)


QUERY_IDS = ("query_id", "qid")


def list_answers(frame: "DataFrame") -> dict[str, list[dict[str, Any]]]:
    """Return the hits of each query of a DataFrame, best first, as `read_answer` takes them.

    It has the columns of ir_measures or PyTerrier: query_id or qid; doc_id or docno; rank or score;
    optionally start and end. Ranks order the hits, else falling scores; equal ones stand as the
    rows do. Raises AssayError where a column is missing.
    """
    columns = list(frame.columns)
    query = next((name for name in QUERY_IDS if name in columns), None)
    by = next((name for name in ("rank", "score") if name in columns), None)
    if query is None or by is None or not set(IDS) & set(columns):
        raise AssayError(
            f"rankings: a DataFrame needs the columns {' or '.join(QUERY_IDS)}, "
            f"{' or '.join(IDS)}, rank or score; there are: {', '.join(map(str, columns))}"
        )
    rows = frame.to_dict("records")
    for row in rows:
        if not isinstance(row[by], int | float) or not math.isfinite(row[by]):
            raise AssayError(
                f"rankings: query {row[query]}: the {by} {row[by]!r} is not a finite number"
            )
    rows.sort(key=lambda row: row["rank"] if by == "rank" else -row["score"])
    answers: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        hit = {name: value for name, value in row.items() if name in (*IDS, "score")}
        if "start" in row and row["start"] == row["start"]:  # NaN marks a whole document
            hit |= {"start": int(row["start"]), "end": int(row["end"])}
        answers.setdefault(str(row[query]), []).append(hit)
    return answers
