"""Adapters whose settings say by themselves what the engine is."""

from collections.abc import Sequence
from typing import Any, Protocol

from assay.retrievers.engines.adapter import Adapter, H, S
from assay.retrievers.engines.formulas import Formula


class DeclarativeSettings(Protocol):
    """Settings that say by themselves what an engine is."""

    exact: bool

    def make_formula(self) -> Formula:
        """Return the fusion."""
        ...

    def list_shape(self) -> list[object]:
        """Return the settings on which an index depends."""
        ...


class StatedAdapter(Adapter[S, H]):
    """An adapter whose `DeclarativeSettings` say its fusion, exactness and shape."""

    @property
    def formula(self) -> Formula:
        """The fusion that the settings choose."""
        return self._stating.make_formula()

    @property
    def _exact(self) -> bool:
        return self._stating.exact

    def _shape(self) -> Sequence[Any]:
        return self._stating.list_shape()

    @property
    def _stating(self) -> DeclarativeSettings:
        settings: Any = self._settings
        return settings  # type: ignore[no-any-return]
