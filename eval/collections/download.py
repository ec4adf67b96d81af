"""Archives on the network, kept unpacked in the cache folder under their digest."""

import hashlib
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from assay.eval.collections.card import Download
from assay.retrievers.base import AssayError
from assay.retrievers.store.cache import Cache, default_root
from assay.retrievers.store.paths import parse_path

KIND = "collections"
TIMEOUT = 60.0
FILES = "files"
FAULTS = (tarfile.TarError, zipfile.BadZipFile, zlib.error)


def folder_of(download: Download) -> Path:
    """Return where the archive's files lie once they have been fetched.

    Raises AssayError where the card names a folder outside the archive.
    """
    files = default_root() / KIND / download.sha256 / FILES
    folder = parse_path(download.folder, "location.folder", files)
    if not folder.resolve().is_relative_to(files.resolve()):
        raise AssayError(f"location.folder: {download.folder}: lies outside the archive")
    return folder


def fetch(download: Download) -> Path:
    """Return the folder of the archive's files, downloading and unpacking them the first time.

    Of several processes one downloads and the others wait; a killed one leaves nothing behind
    that counts. Raises AssayError when the download fails, its digest is another, or it is no
    archive, or one that would write outside its folder or more than the card allows.
    """
    found = folder_of(download)

    def make(folder: Path) -> None:
        archive = folder / "archive"
        _download(download, archive)
        _unpack(download, archive, folder / FILES)
        archive.unlink()

    Cache(default_root()).folder(KIND, download.sha256, make)
    if not found.is_dir():
        raise AssayError(f"{download.url}: the archive holds no folder {download.folder!r}")
    return found


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
                _check_size(download, file.tell())
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AssayError(f"{download.url}: cannot be downloaded: {reason}") from None
    if content.hexdigest() != download.sha256:
        raise AssayError(
            f"{download.url}: SHA-256 is {content.hexdigest()}, the card says {download.sha256}"
        )


def _unpack(download: Download, archive: Path, target: Path) -> None:
    target.mkdir()
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                files = [(item.filename, item.file_size) for item in zipped.infolist()]
                _check(download, files, target)
                zipped.extractall(target)
        else:
            with tarfile.open(archive) as tar:
                _check(download, _list_files(download, tar), target)
                # Python before 3.11.4 knows no filter, and needs none after these checks.
                if hasattr(tarfile, "data_filter"):
                    tar.extraction_filter = tarfile.data_filter
                tar.extractall(target)
    except (*FAULTS, OSError, EOFError, RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0].rstrip(":")
        raise AssayError(
            f"{download.url}: cannot be unpacked: {reason}; allowed: .zip, .tar, .tar.gz, .tgz"
        ) from None


def _list_files(download: Download, tar: tarfile.TarFile) -> Iterator[tuple[str, int]]:
    for member in tar:
        if not (member.isfile() or member.isdir()):
            raise AssayError(
                f"{download.url}: refused: {member.name!r} in the archive is neither file nor"
                " folder"
            )
        yield member.name, member.size


def _check(download: Download, files: Iterable[tuple[str, int]], target: Path) -> None:
    """Refuse names that lead out of the folder, and sizes in bytes that add up to too much."""
    total = 0
    for name, size in files:
        if not (target / name).resolve().is_relative_to(target.resolve()):
            raise AssayError(
                f"{download.url}: refused: {name!r} in the archive leads outside its folder"
            )
        total += size
        _check_size(download, total)


def _check_size(download: Download, size: int) -> None:
    if size > download.max_bytes:
        raise AssayError(
            f"{download.url}: refused: it holds more than {download.max_bytes} bytes; location."
            "max_bytes in the card allows more"
        )
