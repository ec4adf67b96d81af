"""A study that chooses the pipeline to ship for a collection, or one for several."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from assay.eval.configs.held_out import suggest_look
from assay.eval.report.blocks import (
    Block,
    Cell,
    Column,
    Facts,
    Plot,
    Prose,
    Report,
    Scatter,
    Table,
    Tone,
)
from assay.eval.report.files import BESIDE, write_beside
from assay.eval.report.formats import count, enumerate_words
from assay.eval.running.result_files import StoredResult, write_result
from assay.eval.running.search_space import describe
from assay.eval.running.study import Lab, Study, Written
from assay.eval.runs import environment
from assay.eval.runs.summary.returned_tokens import TOKENS, WITHIN, describe_tokens
from assay.eval.studies.comparison.collections_report import show_effects
from assay.eval.studies.tuning.candidates import KEYWORD
from assay.eval.studies.tuning.choice import Choice
from assay.eval.studies.tuning.choosing import ChoiceOptions, choose
from assay.eval.studies.tuning.shared_choice import SharedChoice
from assay.eval.studies.tuning.tuned_config import render_changes

Found = Choice | SharedChoice


def find(asked: ChoiceOptions, lab: Lab) -> Found:
    """Find the pipeline to ship for COLLECTION, a name or a folder.

    Without COLLECTION: for the one that assay.toml names, by the first of its measures. With
    --dataset given more than once: one pipeline for all of these collections, and what to expect of
    it on a new one.

    Tries what its documents allow: each leg alone and both, contexts, chunk sizes, windows, exact
    look-ups, weights and kinds of fusion, and reranking where --max-latency allows it. Settings are
    chosen on one half of the questions. The best is then held against the config as given and
    against BM25 alone on the other half, which had no part in the choice. It is shipped only if it
    is shown to be better there; else the config is kept.

    What needs no new embedding is tried in any case; the budget is for the rest, and the report
    says what it left out. Contexts that `assay contexts` has written are among the candidates.

    Writes the pipeline to ship, a page of all that was tried, and a JSON file next to it. A call
    that was killed goes on where it was, from the cache.
    """
    return choose(asked.settle(lab.progress), lab.resources)


def write(found: Found, told: Report, asked: ChoiceOptions, lab: Lab) -> Written:
    """Write the pipeline to ship, and the report into the same folder."""
    path = asked.output or lab.reports / "chosen" / f"{found.id}.yaml"
    changes = {
        "name": f"{found.config.name}_chosen",
        "description": f"{found.conclusion.removesuffix('.')}, by: {environment.command_line()}",
    }
    text = render_changes(path, Path(asked.config), found.shipped.model_copy(update=changes))
    result = StoredResult("choose", found.asked, text)
    named = asked.output is not None
    path, said = write_result(path, result, BESIDE, named=named, force=asked.force)
    files = [path, *write_beside(found, told, path)]
    shared = isinstance(found, SharedChoice)
    on = f" --dataset {asked.datasets[0]}" if shared else ""
    look = [] if shared or not found.ships else suggest_look(str(asked.config), str(path))
    calls = [*look, f"run {path}{on}", f"explain {path}{on}"]
    return Written({"output": path, "report": files[2]}, files, said, calls)


TRIED = (
    "Each stage is laid on the best so far, and the stages are gone through twice. These figures "
    "are of the questions that the pipeline was chosen by, so the best of them looks better than "
    "it is. Those marked led when their stage ended."
)
SHARED = (
    "The questions of each collection were parted into halves alike in types of question; those "
    "that share a document stay in one half, where that leaves a third for the other. One half "
    "chose the candidate with the highest mean over collections, each of the same weight. The "
    "other half judged it. It is shipped if it is shown to be better in the mean, or on each "
    "collection."
)


def report(found: Choice | SharedChoice) -> Report:
    """Return the report of a choice."""
    return _report_shared(found) if isinstance(found, SharedChoice) else _report_one(found)


def _report_shared(found: SharedChoice) -> Report:
    first = found.choices[0]
    names = [effect.name for effect in next(iter(found.over.values())).effects]
    chosen, judged = (
        sum(getattr(choice, part) for choice in found.choices) for part in ("chosen_on", "judged")
    )
    return Report(
        id=found.id,
        kind="choice",
        title="Which pipeline to ship",
        subject=[
            f"on {enumerate_words(names)}",
            f"chosen on {count(chosen, 'question')}",
            f"judged on {judged:,} others",
        ],
        verdict=[found.conclusion],
        warnings=[
            f"{name}: {line}"
            for name, choice in zip(names, found.choices, strict=True)
            for line in _warn_of_tokens(choice)
        ],
        blocks=[
            *show_effects(next(iter(found.over.values()))),
            *(
                replace(_show_judged(choice), key=f"judged_{name}", title=title, brief=False)
                for name, choice in zip(names, found.choices, strict=True)
                for title in [f"{name}: {_name_questions(choice).lower()}"]
            ),
            *_show_settings(first, found.ships),
            _show_tried(first, chosen),
            *_show_left_out(first),
            Prose("Who chose, and who judged", SHARED),
        ],
        environment=found.environment,
    )


def _report_one(found: Choice) -> Report:
    facts = [f"on {found.config.dataset}", f"chosen on {count(found.chosen_on, 'question')}"]
    judged = [f"judged on {found.judged:,} others"] if found.judged else []
    return Report(
        id=found.id,
        kind="choice",
        title="Which pipeline to ship",
        subject=[*facts, *judged],
        verdict=[*filter(None, [found.conclusion, found.describe_latency()])],
        warnings=[*_warn_of_tokens(found)],
        blocks=[
            _show_judged(found),
            *_show_settings(found, found.ships),
            _show_tried(found, found.chosen_on),
            *_show_left_out(found),
            _explain(found),
        ],
        environment=found.environment,
    )


def _name_judged(found: Choice) -> dict[str, str]:
    """Return the names of the pipelines that were run on all questions, each pipeline once."""
    names = {"best": found.name, "base": f"{found.config.name}, as given", "bm25": "BM25 alone"}
    if found.best.point == KEYWORD:
        del names["bm25"]
    if not found.best.point:
        del names["best"]
    return names


def _warn_of_tokens(found: Choice) -> Iterator[str]:
    """Yield a warning if the pipelines return texts of unequal length."""
    names = _name_judged(found)
    means = [found.pipelines[name].means for name in names]
    if all({TOKENS, WITHIN} <= {*item} for item in means) and (
        told := describe_tokens([*names.values()], means)
    ):
        yield told


def _show_judged(found: Choice) -> Table:
    """Return the table of the pipelines that were run on all questions, with their costs."""
    names = _name_judged(found)
    ships = "best" if found.ships else "base"
    timed = [name for name in names if found.pipelines[name].latency]
    told = all(TOKENS in found.pipelines[name].means for name in names)
    columns = [
        Column("pipeline", "Pipeline", value=names.__getitem__),
        Column("mean", found.measure, "score", partial(_find_mean, found, found.measure)),
        Column("lead", "Lead of the best", "difference", partial(_find_lead, found),
               tone=partial(_colour, found)),
        Column("p", "p", "p", partial(_find_p, found)),
        *([_show_latency(found, "p50"), _show_latency(found, "p95", brief=False)] if timed else []),
        *([Column("tokens", TOKENS, "score", partial(_find_mean, found, TOKENS))] if told else []),
        Column("ships", "", value=lambda name: "to ship" if name == ships else ""),
    ]  # fmt: skip
    if not found.differences:
        columns = [column for column in columns if column.key not in ("lead", "p")]
    title = f"{found.measure} against latency; up and to the left is better"
    return Table(
        "judged",
        _name_questions(found),
        columns,
        [*names],
        _explain_judged(found, bool(timed), told),
        Plot("mean", "whisker"),
        [Scatter(title, "p50_ms", "mean", log=True)] if len(timed) > 1 else [],
    )


def _name_questions(found: Choice) -> str:
    if not found.judged:
        return f"On the {found.chosen_on:,} questions of the choice"
    return f"On the {found.judged:,} questions that had no part in the choice"


def _explain_judged(found: Choice, timed: bool, told: bool) -> str:
    """Return a note on the figures of the judged pipelines."""
    sentences = ["Whiskers are 95 % intervals over questions, each of its mean by itself."]
    if found.differences:
        sentences.append(
            "The leads are of the best candidate over each; their intervals are simultaneous at "
            "95 %: they hold for both comparisons at once."
            if len(found.differences) > 1
            else "The lead is of the best candidate, with its 95 % interval."
        )
    if timed:
        sentences.append("Times are of one job, in which each question went to all in turn.")
    if told:
        sentences.append(f"{TOKENS}: how much text the first ten hits hold.")
    return " ".join(sentences)


def _find_mean(found: Choice, measure: str, name: str) -> Cell:
    return found.pipelines[name].means[measure]


def _find_lead(found: Choice, name: str) -> Cell:
    difference = found.differences.get(name)
    return difference.interval if difference else None


def _find_p(found: Choice, name: str) -> Cell:
    difference = found.differences.get(name)
    return difference.reported_p if difference else None


def _colour(found: Choice, name: str) -> Tone:
    difference = found.differences.get(name)
    verdict = difference.verdict if difference else ""
    return verdict if verdict in ("better", "worse") else ""


def _show_latency(found: Choice, percentile: str, brief: bool = True) -> Column:
    def find(name: str) -> Cell:
        return found.pipelines[name].latency.get(percentile)

    return Column(f"{percentile}_ms", f"{percentile} ms", "ms", find, brief)


def _show_settings(found: Choice, ships: bool) -> list[Block]:
    """Return the settings to change in the config, if any."""
    if not ships:
        return []
    pairs = [(key, describe(value)) for key, value in found.best.point.items()]
    return [Facts(f"What differs from {found.config.name}", pairs, brief=False)]


def _show_tried(found: Choice, questions: int) -> Table:
    """Return the table of every candidate with figures, in the order of trial."""
    led = found.kept
    columns = [
        Column("candidate", "Candidate", value=lambda item: item.own),
        Column("mean", found.measure, "score"),
        Column("led", "", value=lambda item: "led" if item in led else ""),
        Column("stage", "Stage", brief=False),
    ]
    tried = [item for item in found.trials if item.mean]
    title = f"What was tried, on the {questions:,} questions of the choice"
    return Table("tried", title, columns, tried, TRIED, Plot("mean", "whisker"))


def _show_left_out(found: Choice) -> list[Block]:
    """Return the candidates without figures, by the reason."""
    left_out = [item for item in found.trials if not item.mean]
    reasons = dict.fromkeys(item.left_out for item in left_out)
    pairs = [
        (
            f"{why[:1].upper()}{why[1:]}",
            ", ".join(dict.fromkeys(item.own for item in left_out if item.left_out == why)),
        )
        for why in reasons
    ]
    return [Facts("Left out", pairs)] if pairs else []


def _explain(found: Choice) -> Prose:
    if not found.judged:
        return Prose("Who chose", "All questions were used to choose, and none is left to judge.")
    shared = {"document": "a document", "group": "the document of their main answer"}
    grouped = shared.get(found.grouped_by, "all words")
    return Prose(
        "Who chose, and who judged",
        "The questions were parted into halves alike in types of question; questions that share "
        f"{grouped} stay in one half. One half chose among the candidates, the other judged what "
        "was chosen.",
    )


STUDY: Study[ChoiceOptions, Found] = Study(
    "choose", ChoiceOptions, find, report, write=write, places=("output", "report")
)
