"""The resources that retrievers are built with: the user's cache and the number of threads."""

from assay.eval.configs.locations import threads
from assay.eval.progress import ConsoleProgress
from assay.retrievers.base import Progress
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root


def make_resources(progress: Progress | None = None) -> Resources:
    """Return resources with the user's cache; progress is shown on the console by default."""
    return Resources(Cache(default_root()), progress or ConsoleProgress(), threads())
