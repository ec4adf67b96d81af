"""The baseline's own pipeline, run on today's collection if that changed since the baseline."""

import json
import os
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.eval.collections.catalog import find
from assay.eval.collections.location import find_repository
from assay.eval.configs.config import make_config
from assay.eval.configs.locations import reports_folder
from assay.eval.configs.named_configs import is_config
from assay.eval.running.run import make_run
from assay.eval.running.timed_process import find_python
from assay.eval.runs.stored import StoredRun, load
from assay.eval.studies.gate.attribution import CollectionChange, describe_change, estimate_effects
from assay.eval.studies.gate.baseline import WORDS, Baseline, describe_code
from assay.eval.studies.gate.kept_rankings import keep_rankings
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.settings.trust import SWITCH, is_trusted
from assay.retrievers.store.digest import digest
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.paths import parse_path

START = "from assay.start import main; main()"
UNTIMED = {"queries": 0}


@contextmanager
def opened(base: str | None) -> Iterator[Path | None]:
    """Yield the checkout that --base names, a folder or a git revision; None for a config.

    A revision is written to a temporary folder. Raises AssayError if it is none of these.
    """
    if base is None or is_config(base):
        yield None
        return
    folder = parse_path(base, "--base")
    if folder.is_dir():
        yield folder
        return
    repository = find_repository(Path.cwd())
    try:
        commit = find_commit(Path.cwd(), base)
    except AssayError as error:
        raise AssayError(
            f"--base: {base}: neither a config, nor the folder of a checkout, nor a git revision: "
            f"{error}"
        ) from None
    if repository is None:
        raise AssayError(f"--base: {base}: {Path.cwd()} is in no work tree of git")
    with TemporaryDirectory(prefix="assay-base-") as made:
        extract(repository, commit, Path(made))
        # Paths of configs are relative to the working folder.
        yield Path(made) / Path.cwd().resolve().relative_to(repository)


def examine_change(
    baseline: Baseline,
    head: StoredRun,
    names: list[str],
    checkout: Path | None,
    progress: Progress,
) -> CollectionChange:
    """Run the baseline's pipeline on the collection of `head`, and estimate the effects of changes.

    If neither the config changed nor a checkout is named, `head` itself is that run.

    Args:
        baseline: A baseline of another version of the collection.
        head: The run of today's pipeline on today's collection.
        names: The gated measures.
        checkout: The code that runs the baseline's config; None for today's.
        progress: Reports progress.

    Raises:
        AssayError: The baseline's pipeline cannot be run on this collection.
    """
    try:
        base, same = _run(baseline, head, checkout, progress)
    except AssayError as error:
        raise AssayError(
            f"the collection changed since the baseline, and the baseline's pipeline cannot be run "
            f"on today's: {error}; accept a new one: `assay baseline accept {head.manifest.id}`"
        ) from error
    effects, unknown = estimate_effects(baseline.rankings, base, names)
    return CollectionChange(
        base=base,
        same=same,
        what=describe_change(baseline.rankings, keep_rankings(head)),
        untested="" if checkout else _find_untested(baseline, head, same),
        effects=effects,
        unknown=unknown,
    )


def _run(
    baseline: Baseline, head: StoredRun, checkout: Path | None, progress: Progress
) -> tuple[StoredRun, bool]:
    config = _name_pipeline(baseline.config)
    if checkout is None and config == _name_pipeline(head.manifest.config):
        return head, True
    dataset = head.manifest.config["dataset"]
    progress.say("the collection changed: running the baseline's pipeline on today's")
    values = {**config, "name": baseline.name, "latency": UNTIMED}
    if checkout is None:
        settings = make_config({**values, "dataset": dataset}, (), baseline.label)
        base = load(make_run(settings, False, progress).folder)
    else:
        base = _run_in(checkout, {**values, "dataset": _locate(dataset)})
    if base.manifest.collection.digest != head.manifest.collection.digest:
        raise AssayError(f"{dataset} changed since the run {head.manifest.id}; run again")
    return base, False


def _name_pipeline(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in WORDS | {"dataset"}}


def _run_in(checkout: Path, values: Mapping[str, Any]) -> StoredRun:
    """Return the run of a config by the code of a checkout, stored among the runs here."""
    python, variables = find_python(checkout)
    reports = reports_folder().absolute()
    card, _ = find(values["dataset"])
    # A collection trusted here is trusted in the checkout too, although its folder differs.
    trusted = {SWITCH: "1"} if card.path is None or is_trusted(card.path) else {}
    with TemporaryDirectory(prefix="assay-baseline-") as folder:
        config = Path(folder, f"{values['name']}.yaml")
        write_atomically(config, json.dumps(values).encode())  # JSON is YAML
        command = (python, "-P", "-c", START, "run", str(config), "--no-track", "--json")
        done = subprocess.run(
            command,
            cwd=checkout,
            env={**os.environ, **variables, **trusted, "ASSAY_REPORTS": str(reports)},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise AssayError(f"in {checkout}: {lines[-1].removeprefix('assay: ')}")
    return load(reports / json.loads(done.stdout)["run"])


def _locate(dataset: str) -> str:
    """Return a reference to a collection that is valid in any working folder."""
    card, variant = find(dataset)
    if card.path is None:
        return str(Path(dataset).absolute()) if Path(dataset).exists() else dataset
    return f"{card.folder.absolute()}:{variant}"


def _find_untested(baseline: Baseline, head: StoredRun, same: bool) -> str:
    """Return a sentence that code changed whose effect is not judged; "" if it did not.

    The facts that a retriever reports are compared only between runs of one config.
    """
    manifest = head.manifest
    sources = manifest.environment.get("sources", "")
    if baseline.sources and sources:
        changed = baseline.sources != sources
    else:
        changed = baseline.code != describe_code(manifest)
    if same and baseline.facts:
        changed = changed or baseline.facts != digest(manifest.facts)
    if not changed:
        return ""
    return (
        "Code changed since the baseline as well as the collection, and both pipelines were run by "
        "today's: what the code does is not judged. Name the code of the baseline, --base REVISION"
    )


def find_commit(folder: Path, revision: str) -> str:
    """Return the full id of the commit that `revision` means in the repository of `folder`.

    Raises AssayError, with git's reason and a remedy, if there is no such revision, or no
    repository that git can open.
    """
    if revision.startswith("-"):
        raise AssayError(f"{revision}: not a revision of git")
    verified = ("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    done = _start_git(folder, *verified)
    if done.returncode and not done.stderr.strip():
        raise AssayError(f"unknown revision {revision!r}{_suggest_history(folder, revision)}")
    return _read_output(done, verified).decode().strip()


def _suggest_history(folder: Path, revision: str) -> str:
    """Return the way to get a revision that this clone lacks; "" if the clone seems complete.

    By default a clone in CI has one commit, and no branch but the one it builds.
    """
    pattern = f"refs/remotes/*/{revision}"
    there = _call_git(folder, "for-each-ref", "--format=%(refname:short)", pattern).decode().split()
    if there:
        return f"; there is {' and '.join(there)}"
    if _call_git(folder, "rev-parse", "--is-shallow-repository").strip() == b"true":
        return (
            "; this clone is shallow, without the history: let CI fetch all (`fetch-depth: 0` for "
            "GitHub's checkout, `GIT_DEPTH: 0` on GitLab), or call `git fetch --unshallow`; other "
            "branches are then named as in origin/main"
        )
    return ""


def extract(repository: Path, commit: str, target: Path, paths: tuple[str, ...] = ()) -> None:
    """Write the files of a commit below `paths`, relative to the root, or all files, to `target`.

    Links that lead out of `target` are refused. Raises AssayError if git has no such paths.
    """
    content = _call_git(repository, "archive", "--format=tar", commit, "--", *paths)
    inside = target.resolve()
    with tarfile.open(fileobj=BytesIO(content)) as archive:
        for member in archive:  # Python 3.11.3 and earlier have no filter for extractall
            leads_to = (inside / member.name).parent / member.linkname
            if member.issym() and not leads_to.resolve().is_relative_to(inside):
                raise AssayError(
                    f"{commit[:12]}: cannot be written out: {member.name} is a link that leads "
                    f"out of it, to {member.linkname}"
                )
        archive.extractall(target)


def _call_git(folder: Path, *arguments: str) -> bytes:
    """Return the output of git in `folder`. Raises AssayError with git's reason if it fails."""
    return _read_output(_start_git(folder, *arguments), arguments)


def _start_git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise AssayError(f"git: cannot be started: {error.strerror}") from None


def _read_output(done: subprocess.CompletedProcess[bytes], arguments: Sequence[str]) -> bytes:
    """Return the output of git. Raises AssayError with git's whole reason if it failed."""
    if done.returncode:
        reason = " ".join(done.stderr.decode(errors="replace").split())
        raise AssayError(f"git {arguments[0]}: {reason or f'exit code {done.returncode}'}")
    return done.stdout
