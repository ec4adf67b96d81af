"""Archives on the network, kept unpacked in the cache folder under their digest."""

import hashlib
import json
import os
import shutil
import tarfile
import time
import zipfile
import zlib
from pathlib import Path

from filelock import FileLock

from eval.collections.card import Download
from retrievers.base import AssayError

KIND = "collections"
TIMEOUT = 60.0
DONE = "assay.json"  # the mark of a complete entry, as in the cache of the pipelines' work


def folder_of(download: Download) -> Path:
    """Return where the archive's files lie once they have been fetched."""
    return _entry(download) / "files" / download.folder


def fetch(download: Download) -> Path:
    """Return the folder of the archive's files, downloading and unpacking them the first time.

    Of several processes one downloads and the others wait; a killed one leaves nothing behind
    that counts. Raises AssayError when the download fails, its digest is another, or it is no
    archive, or one that would write outside its folder.
    """
    entry = _entry(download)
    if not (entry / DONE).exists():
        entry.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(entry.with_suffix(".lock")):
            if not (entry / DONE).exists():
                _make(download, entry)
    folder = folder_of(download)
    if not folder.is_dir():
        raise AssayError(f"{download.url}: the archive holds no folder {download.folder!r}")
    return folder


def _entry(download: Download) -> Path:
    # The rule of the pipelines' cache, which the judge does not import.
    default = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "assay"
    root = Path(os.environ.get("ASSAY_CACHE") or default).expanduser()
    return root / KIND / download.sha256


def _make(download: Download, entry: Path) -> None:
    begin = time.perf_counter()
    partial = entry.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    archive = partial / "archive"
    _download(download, archive)
    _unpack(download.url, archive, partial / "files")
    archive.unlink()
    (partial / DONE).write_text(json.dumps({"seconds": time.perf_counter() - begin}))
    partial.rename(entry)


def _download(download: Download, target: Path) -> None:
    import httpx

    content = hashlib.sha256()
    try:
        with (
            httpx.stream("GET", download.url, follow_redirects=True, timeout=TIMEOUT) as response,
            target.open("wb") as file,
        ):
            response.raise_for_status()
            for block in response.iter_bytes():
                content.update(block)
                file.write(block)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AssayError(f"{download.url}: cannot be downloaded: {reason}") from None
    if content.hexdigest() != download.sha256:
        raise AssayError(
            f"{download.url}: SHA-256 is {content.hexdigest()}, the card says {download.sha256}"
        )


def _unpack(url: str, archive: Path, target: Path) -> None:
    target.mkdir()
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                _refuse_escapes(url, zipped.namelist(), target)
                zipped.extractall(target)
        else:
            with tarfile.open(archive) as tar:
                _refuse_escapes(url, tar.getnames(), target)
                _refuse_specials(url, tar)
                # Python before 3.11.4 knows no filter, and needs none after these checks.
                if hasattr(tarfile, "data_filter"):
                    tar.extraction_filter = tarfile.data_filter
                tar.extractall(target)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, OSError, EOFError) as error:
        reason = str(error).partition("\n")[0].rstrip(":")
        raise AssayError(
            f"{url}: cannot be unpacked: {reason}; allowed: .zip, .tar, .tar.gz, .tgz"
        ) from None


def _refuse_escapes(url: str, names: list[str], target: Path) -> None:
    for name in names:
        if not (target / name).resolve().is_relative_to(target.resolve()):
            raise AssayError(f"{url}: refused: {name!r} in the archive leads outside its folder")


def _refuse_specials(url: str, tar: tarfile.TarFile) -> None:
    for member in tar:
        if not (member.isfile() or member.isdir()):
            raise AssayError(
                f"{url}: refused: {member.name!r} in the archive is neither file nor folder"
            )
