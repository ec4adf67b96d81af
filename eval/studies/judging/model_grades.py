"""A model's grades of a pool, stored apart from people's grades, which take precedence."""

from collections.abc import Collection as Some
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.eval.collections.authoring.labels import read_pairs
from assay.eval.collections.authoring.worksheet import Pair, trim
from assay.eval.collections.card import MODEL
from assay.eval.collections.collection import Collection, GoldItem
from assay.eval.collections.formats.rows import Row
from assay.eval.collections.problems import Problems
from assay.eval.configs.config import load_config
from assay.eval.configs.locations import reports_folder
from assay.eval.configs.named_configs import is_config
from assay.eval.llm.model_families import find_vendor, warn_of_families
from assay.eval.running.run_references import split_overrides
from assay.eval.runs.stored import find, load
from assay.eval.studies.judging.agreement import find_disagreements
from assay.eval.studies.judging.export import fill_row
from assay.eval.studies.judging.grades import Grade

SUFFIX = ".model.db"
AGAIN = ", asked again"
DECIDING = ", asked to decide"
# The grades of one judge, by the digest of the pair.
Given = Mapping[str, Grade]


def find_model_file(table: Path) -> Path:
    """Return the path of the file with the grades of models for the pairs of a table."""
    return table.with_name(f"{table.name}{SUFFIX}")


def name_judge(model: str, prompt: str) -> str:
    """Return the name of a model in judgments; `prompt` is the digest of its prompt."""
    return f"{MODEL}{model}, prompt {prompt}"


def take_latest(graded: Mapping[str, Mapping[str, Grade]]) -> Given:
    """Return the grades of the model that gave the latest one; `graded` is by pair and judge."""
    latest = max(
        (grade for by in graded.values() for grade in by.values() if _is_first(grade.judge)),
        key=lambda grade: grade.number,
        default=None,
    )
    return take_final(graded, latest.judge) if latest else {}


def take(graded: Mapping[str, Mapping[str, Grade]], judge: str) -> Given:
    """Return the grades of one judge."""
    return {pair: by[judge] for pair, by in graded.items() if judge in by}


def take_final(graded: Mapping[str, Mapping[str, Grade]], judge: str) -> Given:
    """Return the grades of one judge that count: the deciding one where two stood apart."""
    decided = take(graded, judge + DECIDING)
    return {**take(graded, judge), **{i: replace(one, judge=judge) for i, one in decided.items()}}


def fill_in_models(
    rows: Iterable[Row], collection: Collection, given: Given, people: Some[str]
) -> tuple[list[Row], int]:
    """Return the rows, with a model's grade where no person gave one, and the number of those.

    `people` are the digests of the pairs that some person graded, settled or not.
    """
    rows = list(rows)
    pairs = {pair.digest: pair for pair in read_pairs(rows, collection, Problems(strict=False))}
    filled: list[Row] = []
    count = 0
    for row in rows:
        digest = row.string("digest", "").strip()
        grade = given.get(digest)
        if grade is None or digest in people or row.string("grade", "").strip():
            filled.append(row)
            continue
        filled.append(fill_row(row, [grade], grade.judge, pairs.get(digest), collection))
        count += 1
    return filled, count


def collect_people(
    rows: Iterable[Row],
    collection: Collection,
    graded: Mapping[str, Mapping[str, Grade]],
    settled: Mapping[str, Grade],
) -> dict[str, int]:
    """Return the grade that people gave each pair of a table, by the pair's digest.

    A grade in the table itself takes precedence, then one of the page, then the collection's. Pairs
    on which judges of the page disagree, and that nobody has settled, are left out.
    """
    rows = list(rows)
    pairs = read_pairs(rows, collection, Problems(strict=False))
    places = {
        (item.query_id, *find_place(item, collection)): max(item.grade, 0)
        for items in collection.gold.values()
        for item in items
        if not item.by_model
    }
    apart = set(find_disagreements(graded))
    found = {
        pair.digest: places[place]
        for pair in pairs
        if (place := (pair.query_id, pair.doc_id, pair.start, pair.end)) in places
    }
    for digest, by_judge in graded.items():
        if digest not in apart:
            found[digest] = next(iter(by_judge.values())).grade
        elif digest in settled:
            found[digest] = settled[digest].grade
        else:
            found.pop(digest, None)
    for row in rows:
        written = row.string("grade", "").strip()
        if written.isdecimal() and not row.string("judged_by", "").startswith(MODEL):
            found[row.string("digest", "").strip()] = int(written)
    return found


def find_place(item: GoldItem, collection: Collection) -> tuple[str, int, int]:
    """Return the document id, start and end of a gold item, without white space at its ends."""
    text = collection.texts.get(item.doc_id, "")[item.start : item.end]
    return (item.doc_id, *trim(text, item.start))


def make_items(pairs: Iterable[Pair], collection: Collection) -> dict[str, GoldItem]:
    """Return the gold item that a judgment of each pair has or would have, by the pair's digest."""
    known = {
        (item.query_id, *find_place(item, collection)): item
        for items in collection.gold.values()
        for item in items
    }
    made = {}
    for pair in pairs:
        place = (pair.doc_id, pair.start, pair.end)
        document = collection.by_id[pair.doc_id]
        passages = {trim(document.text[i.start : i.end], i.start): i.id for i in document.passages}
        passage = passages.get((pair.start, pair.end), "")
        id_ = passage or f"{pair.doc_id}[{pair.start}:{pair.end}]"
        made[pair.digest] = known.get((pair.query_id, *place)) or GoldItem(
            pair.query_id, id_, *place, 0, passage
        )
    return made


def _is_first(judge: str) -> bool:
    return not judge.endswith((AGAIN, DECIDING))


def warn_of_judge(judge: str, references: Sequence[str]) -> list[str]:
    """Return a warning if an encoder or a reranker of the runs is of the judge's model family.

    Runs nothing.

    Args:
        judge: The name of the judge's model.
        references: Configs with overrides, or stored runs.

    Raises:
        AssayError: If a reference names no run.
    """
    named, overrides = split_overrides(references)
    parts = {"judge": judge}
    for reference in named:
        for part, model in _find_models(_read_config(reference, overrides)):
            if find_vendor(model) == find_vendor(judge):
                parts[f"{part} {model}"] = model
    return warn_of_families(parts)


def _read_config(reference: str, overrides: Sequence[str]) -> dict[str, Any]:
    if is_config(reference):
        return load_config(reference, overrides).model_dump(mode="json")
    return load(find(reports_folder(), reference)).manifest.config


def _find_models(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the role and the name of each model of a pipeline, at any depth of its config."""
    if isinstance(value, Mapping):
        reads = value.get("model") if value.get("type") == "rerank" else None
        for part, chosen in (("encoder", value.get("encoder")), ("reranker", reads)):
            while isinstance(chosen, Mapping):  # a reranker may ask a model, which has a name
                chosen = chosen.get("model")
            if isinstance(chosen, str):
                yield part, chosen
        for below in value.values():
            yield from _find_models(below)
    elif isinstance(value, list):
        for below in value:
            yield from _find_models(below)
