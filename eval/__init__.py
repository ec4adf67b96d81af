"""The judge: collections, runs, measures, statistics, tracking and reports.

`run`, `compare`, `search`, `ingest`, `load_runs` and `load_tracked_runs` are its Python API, loaded
when first used.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eval.api import compare, ingest, load_runs, load_tracked_runs, run, search
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from eval import api

        return getattr(api, name)


__all__ = ["compare", "ingest", "load_runs", "load_tracked_runs", "run", "search"]
