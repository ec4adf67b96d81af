"""What retrievers are built with here: the user's cache, and the threads they may use."""

from eval.experiments.locations import threads
from eval.progress import ConsoleProgress
from retrievers.base import Progress
from retrievers.settings import Workshop
from retrievers.store.cache import Cache, default_root


def make_workshop(progress: Progress | None = None) -> Workshop:
    """Return a workshop with the user's cache; progress is shown on the console by default."""
    return Workshop(Cache(default_root()), progress or ConsoleProgress(), threads())
