"""Modules of tests that need an extra, whose libraries are imported when a test runs.

Each worker collects all tests: what is imported for that, stays in memory though others run them.
"""

from importlib.util import find_spec

import pytest


def skip_without(module, extra):
    """Skip the module of tests that is being imported where no `module` is installed."""
    if find_spec(module) is None:
        pytest.skip(f"needs the extra `{extra}`", allow_module_level=True)
