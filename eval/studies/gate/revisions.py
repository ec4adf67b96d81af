"""Files of a git repository at a revision."""

import subprocess
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from assay.retrievers.base import AssayError


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
