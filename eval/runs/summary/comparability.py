"""Checks of whether runs may be compared at all."""

from collections.abc import Sequence

from assay.eval.collections.collection import GoldItem, Query
from assay.eval.runs import generated_answers
from assay.eval.runs.generated_answers import AnswerSet
from assay.eval.runs.stored import StoredRun
from assay.retrievers.base import AssayError


def check_comparable(base: StoredRun, other: StoredRun) -> None:
    """Raise AssayError, naming all that differs, unless two runs were judged alike.

    They must agree on the join rule, the queries searched, the judgments and the collection.
    """
    if found := list_differences(base, other):
        raise AssayError(
            f"{other.manifest.id} cannot be compared with {base.manifest.id}: {'; '.join(found)}"
        )


def share_queries(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Return the runs with the queries that all of them searched, where some searched a sample.

    Without a sample, or a query that all share, they are returned as they are.
    """
    shared = set[str].intersection(*(set(run.queries) for run in runs))
    if not shared or not any(run.manifest.sampled for run in runs):
        return list(runs)
    return [run if len(run.queries) == len(shared) else run.take(shared) for run in runs]


def share_answered(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Return the runs with the queries alone that a language model answered in all of them.

    Raises AssayError if there are none, or if the answers differ by more than the pipelines: by
    models, prompts or budgets of the context.
    """
    found, missing = _read_answers(runs)
    if missing:
        raise AssayError(f"{missing[0]}: has no answers; `assay answer {missing[0]}` makes them")
    if problem := find_misfit(runs):
        raise AssayError(problem)
    shared = set[str].intersection(*(set(item.answers) for item in found.values()))
    shared &= set[str].intersection(*(set(run.queries) for run in runs))
    if not shared:
        raise AssayError("no query is answered in all of the runs")
    return [run if run.queries.keys() <= shared else run.take(shared) for run in runs]


def find_misfit(runs: Sequence[StoredRun]) -> str:
    """Return a sentence on two runs whose answers cannot be compared; "" if there are none.

    Runs without answers are passed over.
    """
    found = [(id_, item.recipe) for id_, item in _read_answers(runs)[0].items()]
    for id_, recipe in found[1:]:
        first, other = found[0]
        if not recipe.fits(other):
            return (
                f"{id_} was answered by {recipe.words}, {first} by {other.words}: answers of both"
                " are not compared"
            )
    return ""


def _read_answers(runs: Sequence[StoredRun]) -> tuple[dict[str, AnswerSet], list[str]]:
    """Return the answers of runs by their ids, and the ids of those without."""
    read = {run.manifest.id: generated_answers.read(run.folder) for run in runs}
    return {id_: item for id_, item in read.items() if item}, [id_ for id_ in read if not read[id_]]


def describe_unanswered(runs: Sequence[StoredRun]) -> str:
    """Return the reason why answers are not compared though some run has them.

    It is "" if no run has answers, or if `find_misfit` gives the reason.
    """
    found, missing = _read_answers(runs)
    if not found or find_misfit(runs):
        return ""
    if missing:
        verb = "has" if len(missing) == 1 else "have"
        return (
            f"answers are not compared: {', '.join(missing)} {verb} none; `assay answer"
            f" {' '.join(missing)}` makes them"
        )
    for run in runs:
        known = len(run.queries.keys() & found[run.manifest.id].answers.keys())
        if known < len(run.queries):
            return (
                f"answers are not compared: {run.manifest.id} has them to {known} of"
                f" {len(run.queries)} queries; --measures that names measures of them compares the"
                " queries that all answered"
            )
    return ""


def list_differences(base: StoredRun, other: StoredRun) -> list[str]:
    """Return the differences between the judging of two runs, in words."""
    one, two = base.manifest, other.manifest
    found = [] if one.join_rule == two.join_rule else ["the join rule differs"]
    same_content = one.collection.digest == two.collection.digest
    if not same_content and one.collection.name != two.collection.name:
        return [*found, f"the collections are {one.collection.name} and {two.collection.name}"]
    places = one.collection.place, two.collection.place
    if not same_content and all(places) and places[0] != places[1]:
        return [*found, f"the collections are those of {places[0]} and {places[1]}"]
    shared = [id_ for id_ in base.queries if id_ in other.queries]
    if single := len(base.queries.keys() ^ other.queries.keys()):
        sizes = f"{len(base.queries)} and {len(other.queries)} queries"
        found.append(f"the query sets differ ({sizes}, {single} of them in one run only)")
    asked = [id_ for id_ in shared if _asks(base.queries[id_]) != _asks(other.queries[id_])]
    if asked:
        found.append(f"the text or type of {_name(asked)} differs")
    judged = [id_ for id_ in shared if not _agree(base.gold[id_], other.gold[id_])]
    if judged:
        found.append(f"the judgments of {_name(judged)} differ")
    if not same_content and not (single or asked or judged):
        found.append("the documents of the collection or its options differ (by its digest)")
    return found


def _agree(one: Sequence[GoldItem], other: Sequence[GoldItem]) -> bool:
    return one is other or set(one) == set(other)


def _asks(query: Query) -> tuple[str, str]:
    return query.text, query.type


def _name(ids: Sequence[str]) -> str:
    return f"query {ids[0]}" if len(ids) == 1 else f"{len(ids)} queries ({ids[0]}, …)"
