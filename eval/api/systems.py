"""What the functions of the Python API take."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pandas import DataFrame
    from pydantic import BaseModel

    from assay.eval.collections.collection import Collection
    from assay.retrievers.base import Retriever

    # What can be run: a config, an object, a function, or rankings.
    System: TypeAlias = (
        str
        | Path
        | BaseModel
        | Mapping[Any, Any]
        | Retriever
        | Callable[[str, int], Any]
        | DataFrame
    )
    Judged: TypeAlias = str | Path | Collection | Mapping[str, Any]
