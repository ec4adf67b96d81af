"""`assay engines` and `--engine` through the command line, beside a real server of OpenSearch's."""

import json
import re
from urllib.request import Request, urlopen

import pytest
from tools.extras import skip_without

from assay.eval.configs.engine_settings import list_engines
from assay.retrievers.engines.providers import STRATEGIES
from assay.retrievers.engines.registry import TYPES

skip_without("opensearchpy", "opensearch")
osmem = pytest.importorskip("osmem_server", reason="osmem-server is not installed")

ENGINE = "{type: opensearch, knn: {method: none}}"
LEG = f"name: words\nretriever: {{legs: {{words: {{type: engine_keyword, engine: {ENGINE}}}}}}}\n"
QUICK = ("limit=3", "latency.queries=0", "--no-track")
# Nothing that the machine has set takes part.
UNSET = dict.fromkeys((engine.settings.capabilities.address for engine in list_engines()), "")
UNSET.pop("")
REMOVED = re.compile(
    r"removed opensearch (assay_[0-9a-f]{16}): \d+ texts of [\dTZ:-]+, at \S+, [\d,]+ bytes"
)


@pytest.fixture(scope="module")
def url():
    with osmem.OsmemServer.start(japanese=False) as running:
        yield running.url


@pytest.fixture
def apart(tmp_path):
    """An environment with a cache and temporary files of this test's own."""
    for name in ("cache", "tmp"):
        (tmp_path / name).mkdir()
    return {**UNSET, "ASSAY_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "tmp")}


def test_list(assay, apart, url):
    done = assay("engines", "list", "--json", **{**apart, "OPENSEARCH_URL": url})
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    engines = {engine["type"]: engine for engine in listed["engines"]}
    assert engines.keys() == TYPES
    assert engines["opensearch"]["answers"] is True
    assert engines["opensearch"]["state"] == f"answers at {url}, indexes of Assay: 0"
    assert engines["opensearch"]["version"]
    providers = {provider["provider"]: provider for provider in listed["providers"]}
    assert {name: item["strategy"] for name, item in providers.items()} == STRATEGIES
    nobody = {"OPENSEARCH_URL": "http://127.0.0.1:9", "COLUMNS": "80"}
    shown = assay("engines", "list", "--full", **{**apart, **nobody}).stdout
    assert "cannot be reached" in shown
    assert "weaviate: WEAVIATE_URL is not set" in shown
    heads = ["Engine", "Installed", "Answers", "Version", "Hybrid", "Dense", "Met"]
    assert heads in [line.split() for line in shown.splitlines()]
    assert "fallback: the lists that the store has are legs, fused here" in shown


@pytest.mark.slow
def test_clean_removes_what_assay_made_and_nothing_else(assay, apart, url, tmp_path):
    environment = {**apart, "OPENSEARCH_URL": url, "ASSAY_REPORTS": str(tmp_path / "reports")}
    config = tmp_path / "words.yaml"
    config.write_text(LEG)
    done = assay("run", str(config), *QUICK, **environment)
    assert done.returncode == 0, done.stderr
    urlopen(Request(f"{url}/somebody_elses", method="PUT")).close()

    dry = assay("engines", "clean", "--dry-run", **environment)
    assert dry.returncode == 0, dry.stderr
    assert dry.stdout.startswith("would remove opensearch assay_")
    cleaned = assay("engines", "clean", "opensearch", **environment)
    assert cleaned.returncode == 0, cleaned.stderr
    (removed,) = cleaned.stdout.splitlines()
    assert REMOVED.fullmatch(removed)
    assert removed == dry.stdout.strip().replace("would remove", "removed")
    again = assay("engines", "clean", **environment)
    assert (again.returncode, again.stdout) == (0, "nothing to remove\n")
    with urlopen(f"{url}/_alias") as answer:
        assert list(json.load(answer)) == ["somebody_elses"]


def test_clean_says_which_server_it_could_not_ask(assay, apart):
    done = assay("engines", "clean", **{**apart, "OPENSEARCH_URL": "http://127.0.0.1:9"})
    assert done.returncode == 2
    assert done.stderr.startswith("assay: opensearch at http://127.0.0.1:9: cannot be reached")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_pipeline_in_another_engine(assay_json, tmp_path):
    pytest.importorskip("apsw", reason="needs the extra `sqlite`")
    places = {"ASSAY_REPORTS": str(tmp_path)}
    native = assay_json("run", "configs/native_hybrid.yaml", "--engine", "sqlite", *QUICK, **places)
    assert native["config"] == "native_hybrid-sqlite"
    fallback = assay_json("run", "configs/hybrid_rrf.yaml", "--engine", "sqlite", *QUICK, **places)
    plain = assay_json("run", "configs/hybrid_rrf.yaml", *QUICK, **places)
    # Exact search finds the same in any store.
    assert fallback["measures"] == plain["measures"]
    named = assay_json(
        "compare", "hybrid_rrf", "--engine", "sqlite", "native_hybrid@sqlite", *QUICK, **places
    )
    (other,) = named["others"]
    assert named["base"]["config"] == "hybrid_rrf-sqlite"
    assert other["config"] == "native_hybrid-sqlite"
