"""Engines of this process: their files are built in the cache, and opened to be read."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.retrievers.engines.adapter import Adapter, H, S, StoredIndex
from assay.retrievers.engines.copies import allocated
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources


class EmbeddedEngine(Adapter[S, H]):
    """An engine in files that one process builds and any number of processes open unchanged."""

    def __init__(self, settings: S, resources: Resources) -> None:
        settings.capabilities.load()
        super().__init__(settings, resources)

    def metadata(self) -> Mapping[str, Any]:
        """Return also the version of the extra's packages."""
        version, *_ = self._settings.capabilities.list_versions()
        return {**super().metadata(), "version": version}

    def _store(
        self, texts: Sequence[str], vectors: Vectors, identity: str
    ) -> tuple[H, StoredIndex]:
        def make(folder: Path) -> None:
            self._build(folder, texts, vectors)

        folder, opened = self._resources.cache.load(
            self.name, self._key(texts, identity), make, self._open
        )
        return opened, StoredIndex(folder.seconds, allocated(folder.path), folder.cached)

    def _track(self, texts: int) -> Iterable[int]:
        """Yield the positions of `texts` texts, and report now and then how many remain."""
        what = f"{self.name}: storing texts"
        return self._resources.progress.track(range(texts), what, texts)

    def _list_versions(self) -> Sequence[str]:
        return self._settings.capabilities.list_versions()

    @abstractmethod
    def _build(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        """Write the files into `folder`."""

    @abstractmethod
    def _open(self, folder: Path) -> H:
        """Open the files in `folder`; damaged files may raise any error."""
