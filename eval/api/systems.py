"""The arguments that the functions of the Python API take."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from pandas import DataFrame
    from pydantic import BaseModel

    from assay.eval.collections.collection import Collection
    from assay.retrievers.base import Retriever

    class InvokedRetriever(Protocol):
        """A retriever of LangChain."""

        def invoke(self, query: str, /) -> Any:
            """Return documents, best first."""

    class AskedRetriever(Protocol):
        """A retriever of LlamaIndex."""

        def retrieve(self, query: str, /) -> Any:
            """Return documents, best first."""

    class RunRetriever(Protocol):
        """A component of Haystack."""

        def run(self, *, query: str) -> Any:
            """Return documents, best first."""

    # What can be run: a config, an object, a function, or rankings.
    System: TypeAlias = (
        str
        | Path
        | BaseModel
        | Mapping[Any, Any]
        | Retriever
        | Callable[[str, int], Any]
        | InvokedRetriever
        | AskedRetriever
        | RunRetriever
        | DataFrame
    )
    Judged: TypeAlias = str | Path | Collection | Mapping[str, Any]
