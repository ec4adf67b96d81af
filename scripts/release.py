"""Refuses a release that is not whole: `python scripts/release.py [TAG]`, after `make dist`.

The version must be the same wherever it stands, and the archives in `dist/` must hold what an index
and pip ask of them, as `twine check` does.
"""

import csv
import hashlib
import re
import sys
import tarfile
import tomllib
from base64 import urlsafe_b64encode
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

from packaging.metadata import Metadata

ROOT = Path(__file__).parents[1]
# What no archive may hold: of the sdist, below its one folder.
UNWANTED = re.compile(
    r"(^|/)(\.venv|\.git|\.assay|mlruns|site|dist|__pycache__)(/|$)|\.(db|pyc|env)$"
)


class ReleaseError(Exception):
    """What is wrong, in one line."""


def main() -> None:
    """Check versions, then archives; end with 2 and one line where something is wrong."""
    try:
        version = check_versions(ROOT, sys.argv[1] if sys.argv[1:] else None)
        for path in find_archives(ROOT / "dist", version):
            check_archive(path, version)
            print(f"{path.relative_to(ROOT)}: whole")
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        sys.exit(2)


def check_versions(root: Path, tag: str | None = None) -> str:
    """Return the version of `pyproject.toml`. Raises ReleaseError where another file has another.

    With a tag (`v1.2.0`) it must be that, and the changelog must have it as its newest; without,
    the changelog may have nothing but what is unreleased.
    """
    version = str(tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"])
    cited = re.search(r"^version: (.+)$", (root / "CITATION.cff").read_text(), re.MULTILINE)
    if cited is None or cited[1] != version:
        found = cited and cited[1]
        raise ReleaseError(f"CITATION.cff: version {found}; pyproject.toml has {version}")
    titles = re.findall(r"^## (.+)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    numbers = [title.split()[0] for title in titles if title != "Unreleased"]
    if numbers and numbers[0] != version:
        raise ReleaseError(f"CHANGELOG.md: newest is {numbers[0]}; pyproject.toml has {version}")
    if tag is not None and tag != f"v{version}":
        raise ReleaseError(f"tag {tag}: pyproject.toml has {version}, whose tag is v{version}")
    if tag is not None and not numbers:
        raise ReleaseError(f"CHANGELOG.md: has no heading `## {version}`")
    return version


def find_archives(folder: Path, version: str) -> list[Path]:
    """Return the wheel and the sdist in `folder`. Raises ReleaseError unless these are all."""
    found = sorted(path for path in folder.glob("*") if path.suffix in (".gz", ".whl"))
    stem = f"retrieval_assay-{version}"
    if [path.name for path in found] != [f"{stem}-py3-none-any.whl", f"{stem}.tar.gz"]:
        names = ", ".join(path.name for path in found) or "none"
        raise ReleaseError(f"{folder}: needs just the wheel and sdist of {version}; has {names}")
    return found


def check_archive(path: Path, version: str) -> None:
    """Raise ReleaseError where an archive's metadata, names or digests are wrong."""
    files = read_archive(path)
    if unwanted := next((name for name in files if UNWANTED.search(name)), None):
        raise ReleaseError(f"{path.name}: holds {unwanted}")
    ending = ".dist-info/METADATA" if path.suffix == ".whl" else "/PKG-INFO"
    about = [content for name, content in files.items() if name.endswith(ending)]
    if len(about) != 1:
        raise ReleaseError(f"{path.name}: needs one file {ending}, has {len(about)}")
    check_metadata(path.name, about[0], version)
    if path.suffix == ".whl":
        check_record(path.name, files)


def read_archive(path: Path) -> dict[str, bytes]:
    """Return the files of a wheel or an sdist by name."""
    if path.suffix == ".whl":
        with ZipFile(path) as packed:
            return {name: packed.read(name) for name in packed.namelist()}
    with tarfile.open(path) as tar:
        members = {item.name: tar.extractfile(item) for item in tar if item.isfile()}
        return {name: file.read() for name, file in members.items() if file}


def check_metadata(name: str, raw: bytes, version: str) -> None:
    """Raise ReleaseError where an index would refuse the metadata, or show no description."""
    try:
        about = Metadata.from_email(raw, validate=True)
    except ExceptionGroup as group:
        raise ReleaseError(f"{name}: {group.exceptions[0]}") from group
    if str(about.version) != version:
        raise ReleaseError(f"{name}: version {about.version}; pyproject.toml has {version}")
    if about.description_content_type != "text/markdown" or not (about.description or "").strip():
        raise ReleaseError(f"{name}: no description in Markdown")
    if not message_from_bytes(raw)["License-Expression"]:
        raise ReleaseError(f"{name}: no licence")


def check_record(name: str, files: dict[str, bytes]) -> None:
    """Raise ReleaseError unless a wheel's RECORD lists each of its files with its digest."""
    (record,) = (key for key in files if key.endswith(".dist-info/RECORD"))
    listed = {row[0]: row[1] for row in csv.reader(files[record].decode().splitlines())}
    for key, content in files.items():
        digest = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        if key != record and listed.get(key) != f"sha256={digest}":
            raise ReleaseError(f"{name}: RECORD is wrong of {key}")
    if missing := set(listed) - set(files):
        raise ReleaseError(f"{name}: lacks {min(missing)}")


if __name__ == "__main__":
    main()
