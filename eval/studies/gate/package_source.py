"""The source that pip can install this Assay from elsewhere: it is on no public package index."""

import json
import re
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from urllib.request import url2pathname

from assay.eval.runs.environment import run_git
from assay.retrievers.base.installation import DISTRIBUTION, find_checkout, find_version

# As git writes an address to log in at: git@example.org:team/assay.git
LOGIN = re.compile(r"^([\w.-]+@[\w.-]+):(?!/)(.+)$")


def find_package(repository: Path) -> str:
    """Return a requirement that pip can install in a clone of `repository`; "" if none is known.

    It is the source that this Assay was installed from (PEP 610): a commit or a file at an address,
    a wheel in the repository, or, if no source is recorded, this version on an index. For a
    checkout it is its commit, if its remote has that. Credentials are left out.
    """
    if root := find_checkout():
        return _locate_commit(root)
    stated = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    if stated is None:
        return f"{DISTRIBUTION}=={find_version()}"
    origin = json.loads(stated)
    place = urlsplit(origin["url"])
    if place.scheme == "file":
        path = Path(url2pathname(place.path))
        if "dir_info" in origin:
            return _locate_commit(path)
        inside = path.is_relative_to(repository) and path.is_file()
        return f"./{path.relative_to(repository).as_posix()}" if inside else ""
    if vcs := origin.get("vcs_info"):
        return _name_commit(origin["url"], vcs["commit_id"]) if vcs["vcs"] == "git" else ""
    hashes = origin.get("archive_info", {}).get("hashes", {})
    pinned = f"#sha256={hashes['sha256']}" if "sha256" in hashes else ""
    return f"{DISTRIBUTION} @ {_leave_credentials(origin['url'])}{pinned}"


def _locate_commit(checkout: Path) -> str:
    """Return the commit of `checkout` at its remote; "" unless the remote is known to have it."""
    address, commit, holds = (
        (run_git(checkout, *command) or "").strip()
        for command in (
            ("remote", "get-url", "origin"),
            ("rev-parse", "HEAD"),
            ("branch", "--remotes", "--contains", "HEAD"),
        )
    )
    return _name_commit(LOGIN.sub(r"ssh://\1/\2", address), commit) if holds else ""


def _name_commit(address: str, commit: str) -> str:
    if urlsplit(address).scheme not in ("https", "http", "ssh", "git"):
        return ""  # a folder of this machine
    return f"{DISTRIBUTION} @ git+{_leave_credentials(address)}@{commit}"


def _leave_credentials(address: str) -> str:
    """Return an address without a password, and without a name that may be a token."""
    parts = urlsplit(address)
    name, i, host = parts.netloc.rpartition("@")
    kept = f"{name.partition(':')[0]}@" if i and parts.scheme == "ssh" else ""
    return urlunsplit(parts._replace(netloc=f"{kept}{host}"))
