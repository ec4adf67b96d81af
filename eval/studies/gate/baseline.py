"""Baselines: the scores of a pipeline, query by query, small enough to review in a diff.

A baseline is a JSON file below `reports/baselines`, named <config>@<collection>.json and written
only by `accept`, in a fixed form: keys sorted, scores rounded to six digits, one query a line. It
also keeps the ranks at which each judged text was found, so that its rankings can be scored again
by other judgments (`kept_rankings`). Two collections with the same name have the same path: the
contents say which collection a file is of, and that of another one is neither used nor overwritten.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from assay.eval.collections.catalog import is_collection
from assay.eval.collections.location import find_repository
from assay.eval.runs import generated_answers
from assay.eval.runs.generated_answers import Recipe
from assay.eval.runs.manifest import Manifest
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.summary import summarise
from assay.eval.scoring.measures import find
from assay.eval.studies.gate.kept_rankings import KeptRanking, Scores, keep_rankings, list_common
from assay.retrievers.base import AssayError
from assay.retrievers.settings import explain_error
from assay.retrievers.store.digest import digest
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing

FORMAT = 2
DIGITS = 6
# Keys of a config that do not affect what is retrieved.
WORDS = {"description", "latency", "measures"}


class BaselineCollection(BaseModel):
    """The collection that a baseline was measured on.

    `place` is the collection's folder within its git repository; "" if it is not known.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    digest: str
    queries: int
    place: str = ""


class Baseline(BaseModel):
    """The scores of a pipeline when it was last accepted.

    No times are kept: latency is compared by running that commit again next to the new one.

    Attributes:
        format: The version of the file format.
        name: The name of the config.
        config: The resolved config.
        collection: The collection it was measured on.
        join_rule: The rule that decides if a hit covers a gold item.
        depth: The number of hits that were kept of each query.
        code: The git commit, or the version of the package outside a checkout.
        run: The id of the accepted run.
        created: The time at which that run was made.
        means: The mean of each measure.
        scores: The scores, as {query id: {measure: score}}.
        answered_by: The model and prompt of the generated answers, if some measures are of these.
        sources: The digest of the source code that affects rankings; "" if it is not known.
        facts: The digest of the facts that the retriever reports; "" if it is not known.
        rankings: The kept rankings by query id.

    """

    model_config = ConfigDict(extra="forbid")

    format: int
    name: str
    config: dict[str, Any]
    collection: BaselineCollection
    join_rule: str
    depth: int
    code: str
    run: str
    created: str
    means: dict[str, float]
    scores: dict[str, dict[str, float]]
    answered_by: Recipe | None = None
    sources: str = ""
    facts: str = ""
    rankings: dict[str, KeptRanking]

    @property
    def label(self) -> str:
        """The name of the baseline: <config>@<collection>."""
        return f"{self.name}@{self.collection.name}"


def locate(folder: Path, config: str, collection: str) -> Path:
    """Return the file of the baseline of a config on a collection below `folder`."""
    return folder / f"{config}@{collection.replace(':', '.').replace('/', '.')}.json"


def accept(run: StoredRun, measures: Sequence[str], folder: Path) -> Path:
    """Write the scores of `run` as the baseline of its config and collection; return the file.

    Raises AssayError, with every reason, for a run that is degraded, sampled or of code that is
    not committed; and if the file is the baseline of another collection.
    """
    manifest = run.manifest
    if reasons := list_objections(manifest):
        raise AssayError(f"{manifest.id} cannot become a baseline: {'; '.join(reasons)}")
    path = locate(folder, manifest.name, manifest.collection.name)
    with changing(path.parent):
        if path.exists():
            find_baseline(folder, run)
        write_atomically(path, render(make(run, measures)).encode())
    return path


def find_baseline(folder: Path, run: StoredRun) -> Baseline:
    """Read the baseline of the config and collection of `run` below `folder`.

    Raises AssayError if there is none that can be read, or the file is of another collection.
    """
    manifest = run.manifest
    path = locate(folder, manifest.name, manifest.collection.name)
    baseline = read(path, manifest.id)
    if reason := _find_other(baseline, run):
        raise AssayError(
            f"{path}: {reason}; keep the baselines of one elsewhere (--baselines FOLDER), give one "
            "another name and run it again, or delete the file if it is out of use"
        )
    return baseline


def _find_other(baseline: Baseline, run: StoredRun) -> str:
    """Return words on a baseline that is of another collection or config; "" if it is the run's.

    A collection may have moved or changed. It is another one if both still exist, or if no query is
    in both.
    """
    before, now = baseline.collection, run.manifest.collection
    mine = f"{run.manifest.name}@{now.name}"
    if baseline.label != mine or baseline.name != run.manifest.name:
        return f"is the baseline of {baseline.label}, and the run is of {mine}"
    root = find_repository(Path.cwd())
    moved = before.place and now.place and before.place != now.place
    if moved and root and is_collection(root / before.place):
        return f"is the baseline of {before.place}, and the run is of {now.place}"
    if before.digest == now.digest or _have_common_query(baseline, run):
        return ""
    return f"has no query in common with the run {run.manifest.id}: it is of another collection"


def _have_common_query(baseline: Baseline, run: StoredRun) -> bool:
    return bool(list_common(baseline.rankings, keep_rankings(run)))


def list_objections(manifest: Manifest) -> list[str]:
    """Return the reasons why a run may not become a baseline, in words."""
    reasons = [
        f"it is degraded on {count} of its queries ({line})"
        for line, count in manifest.degraded.items()
    ]
    if manifest.sampled:
        reasons.append("it searched a sample of the queries; run the whole collection")
    if manifest.environment.get("git", {}).get("dirty"):
        reasons.append(
            "Assay's work tree had uncommitted changes; commit them and run again (--rerun)"
        )
    return reasons


def make(run: StoredRun, measures: Sequence[str]) -> Baseline:
    """Return the baseline of `run`, with its scores in `measures`."""
    manifest = run.manifest
    summary = summarise(run, measures)
    return Baseline(
        format=FORMAT,
        name=manifest.name,
        config={key: value for key, value in manifest.config.items() if key not in WORDS},
        collection=BaselineCollection(
            name=manifest.collection.name,
            digest=manifest.collection.digest,
            queries=manifest.collection.queries,
            place=manifest.collection.place,
        ),
        join_rule=manifest.join_rule,
        depth=manifest.depth,
        code=describe_code(manifest),
        run=manifest.id,
        created=manifest.created,
        means={name: round(mean.value, DIGITS) for name, mean in summary.means.items()},
        scores=_round(summary.scores, run),
        answered_by=_find_recipe(run, measures),
        sources=manifest.environment.get("sources", ""),
        facts=digest(manifest.facts),
        rankings=keep_rankings(run),
    )


def score(run: StoredRun, measures: Sequence[str]) -> Scores:
    """Return the scores of `run` in `measures`, by query id and measure, as a baseline has them."""
    return _round(generated_answers.score(run, measures), run)


def _round(scores: Mapping[str, Mapping[str, float]], run: StoredRun) -> Scores:
    return {
        query: {name: round(found[query], DIGITS) for name, found in scores.items()}
        for query in run.queries
    }


def _find_recipe(run: StoredRun, measures: Sequence[str]) -> Recipe | None:
    """Return the model and prompt of a run's answers, if some of `measures` are of these."""
    if not any(find(name).of_answers for name in measures):
        return None
    found = generated_answers.read(run.folder)
    return found.recipe if found else None


def describe_code(manifest: Manifest) -> str:
    """Return the code that made a run: a git commit, or the version of the package."""
    environment = manifest.environment
    if commit := environment.get("git", {}).get("commit"):
        return str(commit)
    return f"assay {environment.get('packages', {}).get('assay', 'of unknown version')}"


def render(baseline: Baseline) -> str:
    """Return the text of a baseline's file."""
    by_query = ("rankings", "scores")
    values = baseline.model_dump(mode="json")
    blocks = {key: values.pop(key) for key in by_query}
    if baseline.answered_by is None:
        del values["answered_by"]
    head = json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False)
    rest = "".join(f',\n "{key}": {{\n{_list_lines(block)}\n }}' for key, block in blocks.items())
    return f"{head[:-2]}{rest}\n}}\n"


def _list_lines(block: Mapping[str, Any]) -> str:
    """Return a line of JSON for each query."""
    return ",\n".join(
        f"  {json.dumps(query, ensure_ascii=False)}: "
        f"{json.dumps(values, sort_keys=True, ensure_ascii=False)}"
        for query, values in sorted(block.items())
    )


def read(path: Path, run: str = "RUN") -> Baseline:
    """Read the baseline in `path`.

    Raises AssayError if there is none that can be read; its message suggests to accept `run`.
    """
    try:
        baseline = Baseline.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise AssayError(
            f"{path}: no baseline; make one of a run with `assay baseline accept {run}`"
        ) from None
    except (OSError, ValidationError) as error:
        reason = explain_error(error) if isinstance(error, ValidationError) else error.strerror
        raise AssayError(f"{path}: not a baseline that can be read: {reason}") from None
    if baseline.format != FORMAT:
        raise AssayError(f"{path}: format {baseline.format}; this version reads {FORMAT}")
    return baseline


def list_changes(baseline: Baseline, head: StoredRun) -> list[str]:
    """Return the changes of config and code since the baseline, a line each."""
    config = {key: value for key, value in head.manifest.config.items() if key not in WORDS}
    before, after = dict(_flatten(baseline.config)), dict(_flatten(config))
    changes = [
        f"{key}: {before.get(key, 'absent')} → {after.get(key, 'absent')}"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]
    code = describe_code(head.manifest)
    if code != baseline.code:
        changes.append(f"code: {baseline.code[:12]} → {code[:12]}")
    return changes


def _flatten(value: Any, prefix: str = "") -> list[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        items = list(value.items())
    elif isinstance(value, list) and value:
        items = [(str(i), item) for i, item in enumerate(value)]
    else:
        return [(prefix, json.dumps(value, ensure_ascii=False))]
    return [pair for key, item in items for pair in _flatten(item, f"{prefix}.{key}".strip("."))]
