"""What retrievers are built with here: the user's cache, and the threads they may use."""

from assay.eval.configs.locations import threads
from assay.eval.progress import ConsoleProgress
from assay.retrievers.base import Progress
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root


def make_resources(progress: Progress | None = None) -> Resources:
    """Return a resources with the user's cache; progress is shown on the console by default."""
    return Resources(Cache(default_root()), progress or ConsoleProgress(), threads())
