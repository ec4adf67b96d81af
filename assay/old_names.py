"""Old import names: `eval.…` and `retrievers.…` work with a warning until release 0.3.

A module imported by its old name is the one that has the new name, not a second copy of it. A
package `eval` or `retrievers` of the user's own comes first.
"""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object

OLD = ("eval", "retrievers")
# Modules that plug-ins import, and that went into a package.
MOVED = {
    "retrievers.charges": "assay.retrievers.services.cost_meter",
    "retrievers.corpus": "assay.retrievers.corpus.corpus",
    "retrievers.documents.blocks": "assay.retrievers.documents.structure.blocks",
    "retrievers.documents.cutting": "assay.retrievers.documents.splitting",
    "retrievers.documents.identifiers": "assay.retrievers.documents.structure.identifiers",
    "retrievers.documents.references": "assay.retrievers.documents.references.references",
    "retrievers.documents.sentences": "assay.retrievers.documents.structure.sentences",
    "retrievers.documents.structure": "assay.retrievers.documents.structure.structure",
    "retrievers.engines.addresses": "assay.retrievers.services.addresses",
    "retrievers.engines.collection_store": "assay.retrievers.engines.servers.collection_store",
    "retrievers.engines.parity": "assay.retrievers.engines.parity.parity",
    "retrievers.engines.retries": "assay.retrievers.services.retries",
    "retrievers.engines.server_engine": "assay.retrievers.engines.servers.server_engine",
    "retrievers.engines.servers": "assay.retrievers.engines.servers.servers",
    "retrievers.engines.service": "assay.retrievers.engines.servers.service",
    "retrievers.fusion": "assay.retrievers.fusion.fusion",
    "retrievers.normalisation": "assay.retrievers.fusion.normalisation",
    "retrievers.pipeline": "assay.retrievers.pipeline.pipeline",
    "retrievers.ranking": "assay.retrievers.fusion.ranking",
}


class OldNameFinder(Loader):
    """Finds `retrievers.base` as `assay.retrievers.base`.

    A finder and a loader as `importlib.abc` has them, whose import would double that of Assay.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for an old name; None for any other."""
        top = fullname.partition(".")[0]
        if top not in OLD or (fullname != top and not self._stands_for_ours(top)):
            return None
        if fullname == top and _belongs_to_user(top):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave making the module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of the new name in place of `module`. Raises ImportError."""
        new = MOVED.get(module.__name__, f"assay.{module.__name__}")
        sys.modules[module.__name__] = import_module(new)
        if module.__name__ not in OLD:  # on the way to every module in it
            warnings.warn(
                f"`{module.__name__}` is now `{new}`; the old name works until release 0.3",
                FutureWarning,
                stacklevel=2,
            )

    def _stands_for_ours(self, top: str) -> bool:
        return sys.modules.get(top) is sys.modules.get(f"assay.{top}", self)


def install() -> None:
    """Let old names be found, once."""
    if not any(isinstance(finder, OldNameFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, OldNameFinder())


def _belongs_to_user(top: str) -> bool:
    """Return whether the path has a package of this name that is not a folder of this project."""
    spec = PathFinder.find_spec(top)
    if spec is None or spec.origin is None:
        return False
    ours = import_module(f"assay.{top}").__file__
    return ours is None or Path(spec.origin).resolve() != Path(ours).resolve()
