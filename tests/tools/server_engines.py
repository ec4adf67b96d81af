"""Engines on doubles of servers, and their errors."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance.sample import index


def index_at_once(make, texts, search):
    """Hold that two which index the same texts at once both find what is there."""

    def act(_):
        with closing(make()) as engine:
            index(engine, texts)
            return search(engine)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(act, range(2))
    assert first == second
    assert first


def one_line(action):
    """Return the error that `action` raises, which is in one line."""
    with pytest.raises(AssayError) as caught:
        action()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    return str(caught.value)
