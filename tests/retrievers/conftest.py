"""Fixtures of the retriever tests."""

from pathlib import Path

import pytest

from retrievers.settings import Workshop
from retrievers.store.cache import Cache, default_root


@pytest.fixture
def model_workshop(tmp_path: Path) -> Workshop:
    """A workshop with an empty cache, but for the models: those are fetched once a machine."""
    cache = Cache(tmp_path / "cache")
    shared = Cache(default_root()).root / "models"
    shared.mkdir(exist_ok=True)
    (cache.root / "models").symlink_to(shared)
    return Workshop(cache)
