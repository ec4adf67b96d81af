"""Retrievers of one's own, as the examples show them."""

import subprocess
import sys

import pytest
from tools.processes import ROOT, wait_for_port


def test_a_python_class(assay_json):
    result = assay_json("run", "examples/word_overlap.yaml")
    assert result["measures"]["Hit@10"]["mean"] > 0.5


@pytest.mark.slow
def test_an_http_service(assay_json):
    service = subprocess.Popen([sys.executable, "examples/http_service.py"], cwd=ROOT)
    try:
        wait_for_port(8765)
        result = assay_json(
            "run", "examples/http_service.yaml", "dataset=tarnwick", "limit=60", "latency.queries=5"
        )
    finally:
        service.kill()
        service.wait()
    assert result["measures"]["Hit@10"]["mean"] > 0.3
    assert result["latency_ms"]["p50"] > 0
