"""A store's client as it is by itself, to be timed beside the adapter of that store."""

from collections.abc import Callable
from typing import NamedTuple

from assay.retrievers.models.base import Vectors

# Sends what was made ready, and reads the answer so far that its ids and scores are there.
Request = Callable[[], object]


class BareClient(NamedTuple):
    """A client on an engine's index, connected as it connects by default.

    Each makes the request ready that the engine makes for that many texts, and leaves its sending
    to the caller; None where the engine has no such list.
    """

    dense: Callable[[Vectors, int], Request] | None
    keyword: Callable[[str, int], Request] | None
    close: Callable[[], None]
