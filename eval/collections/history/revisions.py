"""A collection as it was at a revision of the git repository that its folder lies in."""

import os
import re
import shlex
import subprocess
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.eval.collections.card import Card
from assay.eval.collections.card_files import make_card, parse_card
from assay.eval.collections.collection import Collection
from assay.eval.collections.history.contents import Contents
from assay.eval.collections.history.versions import (
    FILE,
    find_contents,
    find_version,
    read_history,
)
from assay.eval.collections.loading import load_card
from assay.eval.collections.location import find_repository
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.settings.files import parse_mapping

DIGEST = re.compile(r'"digest": "([0-9a-f]{64})"')


def find_commit(folder: Path, revision: str) -> str:
    """Return the full id of the commit that `revision` means in the repository of `folder`.

    Raises AssayError, with git's reason and the way out, where there is no such revision, or no
    repository that git opens.
    """
    if revision.startswith("-"):
        raise AssayError(f"{revision}: not a revision of git")
    verified = ("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    done = _start_git(folder, *verified)
    if done.returncode and not done.stderr.strip():
        raise AssayError(f"unknown revision {revision!r}{_suggest_history(folder, revision)}")
    return _read_output(done, verified).decode().strip()


def _suggest_history(folder: Path, revision: str) -> str:
    """Say how a clone gets a revision that it lacks; "" where nothing suggests that another has it.

    A clone of CI has one commit by default, and no branch besides the one it builds.
    """
    pattern = f"refs/remotes/*/{revision}"
    there = _call_git(folder, "for-each-ref", "--format=%(refname:short)", pattern).decode().split()
    if there:
        return f"; there is {' and '.join(there)}"
    if is_shallow(folder):
        return (
            "; this clone is shallow, without the history: let CI fetch all (`fetch-depth: 0` for "
            "GitHub's checkout, `GIT_DEPTH: 0` on GitLab), or call `git fetch --unshallow`; other "
            "branches are then named as in origin/main"
        )
    return ""


def is_shallow(folder: Path) -> bool:
    """Say whether the repository of `folder` is a clone that lacks older commits."""
    return _call_git(folder, "rev-parse", "--is-shallow-repository").strip() == b"true"


def extract(repository: Path, commit: str, target: Path, paths: tuple[str, ...] = ()) -> None:
    """Write what a commit holds below `paths`, relative to the root, or all of it, to `target`.

    Links that lead out of `target` are refused. Raises AssayError where git has no such paths.
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


def read_contents(card: Card, reference: str, progress: Progress) -> Contents:
    """Return what a collection held at a version, by its digest's first digits, or a revision.

    Raises AssayError where neither is found, or the collection cannot be read as it was.
    """
    history = read_history(card)
    if any(version.digest.startswith(reference) for version in history) and reference:
        return find_contents(history, find_version(card, history, reference))
    try:
        commit = find_commit(card.folder, reference)
    except AssayError as error:
        raise AssayError(
            f"{reference}: neither a version of {card.name} (`assay dataset log` lists them; at "
            f"least 4 digits of one) nor a revision of a git repository that holds its folder: "
            f"{error}"
        ) from None
    with TemporaryDirectory(prefix="assay-revision-") as folder:
        return Contents.of(load_revision(card, commit, Path(folder), progress))


def load_revision(card: Card, commit: str, folder: Path, progress: Progress) -> Collection:
    """Write a collection as a commit holds it to `folder`, and load it.

    Raises AssayError where the commit does not hold its card and its files.
    """
    repository = find_repository(card.folder)
    if repository is None or card.path is None:
        raise AssayError(f"{card.name}: lies in no git repository")
    place = card.path.resolve().relative_to(repository).as_posix()
    text = _call_git(repository, "show", f"{commit}:{place}").decode()
    path = folder / place
    then = parse_card(text, path)
    if not isinstance(then.location, str) or "$" in then.location:
        raise AssayError(f"{card.name}: its data does not lie in the repository, but elsewhere")
    root = Path(os.path.normpath(path.parent / then.location))
    names = filter(None, (*then.names(), then.contexts_file))
    named = [Path(os.path.normpath(root / name)) for name in names]
    outside = [item for item in named if not item.is_relative_to(folder)]
    if outside:
        raise AssayError(f"{card.name}: {then.location}: lies outside the repository")
    paths = {item.relative_to(folder).as_posix() for item in named}
    extract(repository, commit, folder, tuple(sorted(paths - {"."})) if "." not in paths else ())
    # Without a file of its own a card may name all there is: what it names was written just now.
    values = parse_mapping(text, str(path)) | {"location": str(root)}
    return load_card(make_card(values, None), then.variants[0], progress)


def find_commits(card: Card) -> dict[str, str]:
    """Return the commit that brought each version of the history, by the version's digest.

    Versions that are not committed, and all of those outside a repository, are left out; in a
    shallow clone, those that may be older than its oldest commit.
    """
    try:
        known = () if is_shallow(card.folder) else ("--root",)
        blamed = _call_git(card.folder, "blame", *known, "-s", "-l", "--", FILE).decode()
    except AssayError:
        return {}
    found = {}
    for line in blamed.splitlines():
        commit, _, rest = line.partition(" ")
        if (digest := DIGEST.search(rest)) and not commit.startswith("^"):
            found[digest[1]] = commit
    return {digest: commit for digest, commit in found.items() if commit.strip("0")}


def describe_restoring(card: Card) -> str:
    """Say which command of git has the files of a version back."""
    if find_repository(card.folder) is None:
        return "the folder lies in no git repository, so that earlier files are not kept"
    root = Path(os.path.normpath(card.folder / str(card.location)))
    places = {card.folder, *(Path(os.path.normpath(root / name)) for name in card.names())}
    outermost = [
        item for item in places if not any(item != i and item.is_relative_to(i) for i in places)
    ]
    paths = shlex.join(sorted(os.path.relpath(item) for item in outermost))
    return f"git restore --source COMMIT -- {paths}"


def _call_git(folder: Path, *arguments: str) -> bytes:
    """Return what git prints in `folder`. Raises AssayError with its reason where it fails."""
    return _read_output(_start_git(folder, *arguments), arguments)


def _start_git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise AssayError(f"git: cannot be started: {error.strerror}") from None


def _read_output(done: subprocess.CompletedProcess[bytes], arguments: Sequence[str]) -> bytes:
    """Return what git printed. Raises AssayError with all of its reason, and its way out."""
    if done.returncode:
        reason = " ".join(done.stderr.decode(errors="replace").split())
        raise AssayError(f"git {arguments[0]}: {reason or f'exit code {done.returncode}'}")
    return done.stdout
