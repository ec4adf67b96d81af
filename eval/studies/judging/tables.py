"""Make the job of a judging model from a pool or a collection, and compare its grades."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from assay.eval.collections.authoring import worksheet
from assay.eval.collections.authoring.labelling import finish_labelling
from assay.eval.collections.authoring.labels import find_collection
from assay.eval.collections.authoring.worksheet import Pair
from assay.eval.collections.catalog import find
from assay.eval.collections.collection import Collection, GoldItem, Query
from assay.eval.collections.formats.rows import Row
from assay.eval.collections.loading import load_card
from assay.eval.configs.named_configs import is_config
from assay.eval.llm.session import LlmSession
from assay.eval.running.run_references import resolve_all
from assay.eval.runs.stored import StoredRun
from assay.eval.studies.judging.export import find_grade_file
from assay.eval.studies.judging.grades import GradeFile
from assay.eval.studies.judging.job import TURNS, JudgeOptions, JudgingJob, prepare_job
from assay.eval.studies.judging.model_grades import (
    collect_people,
    find_model_file,
    find_place,
    make_items,
    take,
    take_final,
)
from assay.eval.studies.judging.model_judge import ModelJudge, examine
from assay.eval.studies.judging.prompts import HIGHEST, SCALE, Form, Scale
from assay.eval.studies.judging.sheet import DEFAULT_GUIDELINES, make_sheet
from assay.eval.studies.judging.two_judges import check_systems
from assay.retrievers.base import AssayError, Document, Progress
from assay.retrievers.base.markdown import is_plain, read_headings
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing


@dataclass(frozen=True)
class Table:
    """A table of pairs and the job of judging them.

    Attributes:
        job: The job.
        name: The reference by which the table names the collection.
        collection: The collection.
        rows: The rows of the table.
    """

    job: JudgingJob
    name: str
    collection: Collection
    rows: list[Row]

    @cached_property
    def people(self) -> dict[str, int]:
        """The grades that people gave, by the digest of a pair: see `collect_people`."""
        path = find_grade_file(self.job.table)
        if not path.exists():
            return collect_people(self.rows, self.collection, {}, {})
        with closing(GradeFile(path)) as grades:
            graded, settled = grades.read_grades(), grades.read_settled()
        return collect_people(self.rows, self.collection, graded, settled)


def open_table(asked: JudgeOptions, session: LlmSession) -> Table:
    """Return a table of pairs with the job of judging them.

    The pool is a table of `assay pool`, or a collection; for a collection, a table of its judged
    pairs is written. Raises AssayError for options that do not apply to it, and for a table that
    does not fit the collection.
    """
    pool, named, output = asked.pool, asked.collection, asked.output
    if Path(pool).is_file():
        if wrong := [key for key in ("output", "queries") if getattr(asked, key)]:
            raise AssayError(f"--{wrong[0]}: goes with a collection, and {pool} is a table")
        table = Path(pool)
        rows = worksheet.read(table)
        name = named or find_collection(table, rows)
        collection = _load(name)
    else:
        if named:
            raise AssayError(f"--collection: goes with a table, and there is no table {pool}")
        name, collection = pool, _load(pool)
        table = output or Path(f"{collection.card.name}.judged.csv")
        _write_table(
            table, worksheet.render(list_judged(collection, asked.queries, asked.seed), pool)
        )
        rows = worksheet.read(table)
    sheet = make_sheet(rows, collection, asked.highest)
    if asked.spans and not sheet.spans:
        raise AssayError("--spans: this collection judges the passages it prescribes, and no spans")
    scale = Scale(sheet.highest, sheet.highest)
    if guidelines := asked.guidelines:
        try:
            sheet = replace(sheet, guidelines=guidelines.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise AssayError(f"--guidelines {guidelines}: cannot be read: {error}") from None
        if not sheet.guidelines.strip():
            raise AssayError(f"--guidelines {guidelines}: is empty; it must say what to grade by")
    elif sheet.guidelines == DEFAULT_GUIDELINES.format(highest=sheet.highest):
        sheet = replace(sheet, guidelines=SCALE)
        scale = Scale(HIGHEST, min(sheet.highest, HIGHEST))
    form = Form(sheet.guidelines, scale.asked, asked.spans)
    relevant = collection.card.min_grade
    job = prepare_job(table, sheet, form, scale, relevant, session, asked)
    return Table(job, name, collection, rows)


def find_runs(
    table: Table, references: Sequence[str], measure: str, progress: Progress
) -> list[StoredRun]:
    """Return the runs that `references` name; configs are run on the collection of the table.

    Raises AssayError for runs on another collection, for runs that cannot be compared by `measure`,
    and for an unknown measure.
    """
    here = [f"dataset={json.dumps(table.name)}"] if any(map(is_config, references)) else []
    runs = resolve_all([*references, *here], progress)
    for run in runs:
        if run.manifest.collection.name != table.collection.name:
            raise AssayError(
                f"{run.manifest.id}: a run on {run.manifest.collection.name}, and the table is "
                f"of {table.collection.name}"
            )
    check_systems(runs, measure)
    return runs


def examine_grades(table: Table, runs: Sequence[StoredRun], measure: str) -> ModelJudge:
    """Compare the model's grades with people's, and score the runs under both."""
    job, collection = table.job, table.collection
    with closing(GradeFile(find_model_file(job.table))) as grades:
        graded = grades.read_grades()
    least = collection.card.min_grade

    def count(given: Mapping[str, int]) -> dict[str, int]:
        shown = {i: grade for i, grade in given.items() if i in job.sheet.by_digest}
        return {i: grade if grade >= least else 0 for i, grade in shown.items()}

    given = (take_final(graded, job.judge), *(take(graded, job.judge + i) for i in TURNS))
    final, first, second, third = (count({i: one.grade for i, one in by.items()}) for by in given)
    return examine(
        job.judge,
        make_items(job.sheet.pairs, collection),
        count(table.people),
        final,
        [(first[i], second[i]) for i in sorted(first.keys() & second.keys())],
        len(third),
        runs,
        measure,
    )


def _load(name: str) -> Collection:
    card, variant = find(name)
    return load_card(finish_labelling(card), variant)


def _write_table(path: Path, content: bytes) -> None:
    with changing(path):
        if path.exists() and path.read_bytes() != content:
            raise AssayError(
                f"{path}: is there already, with other pairs; say --output with another name"
            )
        write_atomically(path, content)


def list_judged(collection: Collection, queries: int | None, seed: int) -> list[Pair]:
    """Return the pairs that a person judged, of all queries or of a sample drawn by `seed`.

    `queries` is the size of the sample, None for all. Raises AssayError if no person has judged
    any.
    """
    judged = [
        query
        for query in collection.queries
        if any(not item.by_model for item in collection.gold[query.id])
    ]
    if not judged:
        raise AssayError(f"{collection.name}: no person has judged anything; give a pool instead")
    if queries is not None and queries < len(judged):
        judged = random.Random(seed).sample(judged, queries)
    documents = collection.by_id
    pairs: dict[str, Pair] = {}
    for query in judged:
        for item in collection.gold[query.id]:
            if not item.by_model and item.doc_id in documents:
                pair = _make_pair(query, item, collection, documents[item.doc_id])
                pairs.setdefault(pair.digest, pair)
    return list(pairs.values())


def _make_pair(query: Query, item: GoldItem, collection: Collection, document: Document) -> Pair:
    doc_id, start, end = find_place(item, collection)
    return Pair(
        query_id=query.id,
        query=query.text,
        type=query.type,
        doc_id=doc_id,
        title=" > ".join(filter(None, _name_place(item, document))),
        start=start,
        end=end,
        text=document.text[start:end],
    )


def _name_place(item: GoldItem, document: Document) -> Iterator[str]:
    """Yield the titles above a gold item: the document's, and those of the enclosing sections."""
    title = document.title
    if item.passage_id:
        given = {passage.id: passage.title for passage in document.passages}
        title = given.get(item.passage_id) or title
    yield title
    if not item.passage_id and not is_plain(document.id):
        for heading in read_headings(document.text):
            if heading.start < item.start and item.end <= heading.end and heading.title != title:
                yield heading.title
