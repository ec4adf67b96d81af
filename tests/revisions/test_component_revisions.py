"""Stored things are found by the revision of what made them: it is raised when outputs move.

`APPROVE=1 pytest tests/revisions` writes the outputs, each with its revision.
"""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from goldens.golden_values import find_differences, write
from revisions.components import COMPONENTS
from test_layout import PACKAGES, ROOT, list_modules
from tools.own_cache import make_cache

from assay.retrievers.documents.chunk_cache import ChunkCache
from assay.retrievers.documents.chunkers import StructureChunker
from assay.retrievers.engines.stores.sqlite import SqliteEngine, SqliteSettings
from assay.retrievers.models.tokens import DEFAULT_TOKENIZER
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

APPROVED = Path(__file__).parent / "approved"
# What a model makes is compared with the model's own library in tests/retrievers/models; what
# `irds` reads with ir_datasets.
ELSEWHERE = re.compile(r"retrievers/models/|eval/collections/formats/irds\.py")


def plain(value):
    """Return `value` as it is read from a file."""
    return json.loads(json.dumps(value, default=lambda item: item.item()))


@pytest.fixture
def resources(tmp_path):
    return Resources(Cache(make_cache(tmp_path)))


@pytest.mark.parametrize("name", COMPONENTS)
def test_an_output_moves_with_its_revision_alone(name, resources):
    component, path = COMPONENTS[name], APPROVED / f"{name}.json"
    value = {"revision": component.revision, "output": plain(component.make(resources))}
    if os.environ.get("APPROVE"):
        write(path, value)
    approved = json.loads(path.read_text(encoding="utf-8"))
    moved = find_differences(approved["output"], value["output"])
    if moved and approved["revision"] == value["revision"]:
        pytest.fail(f"{name} gives another output: raise its REVISION\n" + "\n".join(moved[:20]))
    assert not moved, "the revision is raised: approve the output that goes with it"
    assert approved["revision"] == value["revision"], "the output is that of the revision before"


def test_each_revision_has_an_output():
    marked = {
        path
        for path in list_modules(*PACKAGES)
        if re.search(r"^REVISION = \d+", (ROOT / path).read_text(), re.MULTILINE)
    }
    tested = (Path(__file__).parent / "components.py").read_text()
    for path in marked:
        name = Path(path).stem
        assert ELSEWHERE.match(str(path)) or f"({name}.REVISION, " in tested, path


def test_a_revision_that_is_raised_makes_stored_things_anew(resources, monkeypatch):
    def cut():
        from assay.retrievers.documents.conformance import DOCUMENTS

        cutting = ChunkCache(StructureChunker(), DEFAULT_TOKENIZER, resources)
        return cutting.cut(DOCUMENTS[:2], resources.progress).cached

    def index():
        engine = SqliteSettings(type="sqlite").build(resources)
        report = engine.index(["one", "two"], np.eye(2, dtype=np.float32), "encoder")
        engine.close()
        return "index" in report.cached or bool(report.cached)

    assert [cut(), index()] == [False, False]
    assert [cut(), index()] == [True, True]
    monkeypatch.setattr("assay.retrievers.documents.chunk_cache.REVISION", 99)
    monkeypatch.setattr(SqliteEngine, "revision", 99)
    assert [cut(), index()] == [False, False]
