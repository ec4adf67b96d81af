"""The digest of somebody's own module, and of what it imports."""

import importlib
import sys

from assay.retrievers.store.user_code import digest_module, find_file


def test_an_edited_helper_changes_the_digest_of_who_imports_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_helper.py").write_text("WEIGHT = 1\n")
    (tmp_path / "own_search.py").write_text("from own_helper import WEIGHT\n")
    importlib.invalidate_caches()
    importlib.import_module("own_search")
    before = digest_module("own_search")
    (tmp_path / "own_helper.py").write_text("WEIGHT = 100\n")
    assert digest_module("own_search") != before
    for name in ("own_helper", "own_search"):
        sys.modules.pop(name)


def test_code_read_from_a_pipe_has_no_file(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "<stdin>", raising=False)
    assert find_file("__main__") is None
