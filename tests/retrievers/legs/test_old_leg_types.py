"""Legs of the old types `bm25f` and `opensearch` load, and say what to write now."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.retrievers.legs.keyword import KeywordLegSettings
from assay.retrievers.legs.native import EngineKeywordSettings
from assay.retrievers.pipeline.shape import PipelineShape

SERVER = {"endpoint": "http://localhost:9200", "index_name": "house", "bm25": {"k1": 2.0}}
WORDS = {"type": "opensearch", "knn": {"method": "none"}}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"type": "bm25f"}, {"type": "bm25", "weights": {}}),
        (
            {"type": "bm25f", "weights": {"title": 9.0}, "field_b": {"body": 0.1}, "depth": 7},
            {"type": "bm25", "weights": {"title": 9.0}, "field_b": {"body": 0.1}, "depth": 7},
        ),
        ({"type": "opensearch"}, {"type": "engine_keyword", "engine": WORDS}),
        (
            {"type": "opensearch", "depth": 7, **SERVER},
            {"type": "engine_keyword", "depth": 7, "engine": {**WORDS, **SERVER}},
        ),
    ],
)
def test_an_old_type_is_read_as_the_new_one(old: dict[str, Any], new: dict[str, Any]) -> None:
    now = str(new["type"])
    with pytest.warns(FutureWarning, match=rf"leg \{{type: {old['type']}\}} is now \{{type: {now}"):
        read = PipelineShape.model_validate({"legs": {"words": old}})
    assert read == PipelineShape.model_validate({"legs": {"words": new}})
    assert isinstance(read.legs["words"], KeywordLegSettings | EngineKeywordSettings)


@pytest.mark.filterwarnings("ignore:a leg")
@pytest.mark.parametrize(
    "wrong", [{"type": "bm25f", "k9": 1}, {"type": "opensearch", "encoder": {}}]
)
def test_what_an_old_type_never_had_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        PipelineShape.model_validate({"legs": {"words": wrong}})


def test_the_notice_is_one_line_on_the_command_line(tmp_path: Path) -> None:
    config = tmp_path / "old.yaml"
    config.write_text("base: bm25\nretriever: {legs: {keyword: {type: bm25f}}}\n")
    code = f"from assay.eval.cli.main import main; main(['config', 'show', {str(config)!r}])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (line,) = done.stderr.splitlines()
    assert line.startswith("warning: a leg {type: bm25f} is now {type: bm25, weights: {}}")
