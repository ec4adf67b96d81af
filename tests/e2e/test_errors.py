"""Bad input: one clear line that names it, exit code 2, no traceback, nothing half-written."""

import os
import shutil

import pytest
from tools.own_cache import make_cache
from tools.processes import ROOT, finish, start

RUN = ("run", "configs/bm25.yaml", "latency.queries=0")


def check(done, *words):
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    # Progress may stand before it; of the problem there is one line, the last.
    *before, line = done.stderr.strip().splitlines()
    assert line.startswith("assay: "), done.stderr
    assert not any(other.startswith("assay: ") for other in before), done.stderr
    for word in words:
        assert word in line


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("retriever.legs.keyword.k11=2", ("k11", "unknown key", "k1", "epsilon")),
        ("retriever.legs.keyword.k1=fast", ("k1", "number", "'fast'")),
        ("retriever.legs.keyword.k1=-1", ("k1", "greater than 0")),
        ("retriever.legs.keyword.analyzer=klingon", ("analyzer", "klingon", "english")),
        ("retriever.legs.keyword.type=bm26", ("bm26", "'bm25'")),
        ("retriever.fusion.type=rrf", ("Only one leg is left: remove the `fusion:` line", "null")),
        ("dataset=nowhere", ("nowhere", "harbourline")),
        ("measures=[nDCG@ten]", ("nDCG@ten", "nDCG@10")),
        ("measures=[RBP(p=0.8)@10]", ("RBP(p=0.8)@10", "supports")),
        ("limit", ("limit", "key.path=value")),
    ],
)
def test_overrides(assay, tmp_path, override, words):
    check(assay(*RUN, override, ASSAY_REPORTS=str(tmp_path / "reports")), *words)
    assert not list(tmp_path.rglob("*.json*"))


def test_configs(assay, tmp_path):
    config = tmp_path / "config.yaml"
    check(assay("run", str(config)), str(config), "no such config")
    config.write_text("name: x\nretriever: {legs: {a: {type: bm25}}}\nname: y\n")
    check(assay("run", str(config)), str(config), "line 3", "twice")
    config.write_text("name: x\nbase: config.yaml\n")
    check(assay("run", str(config)), "circle")
    config.write_text("name: [\n")
    check(assay("run", str(config)), "not YAML")


def test_a_broken_line(assay, tmp_path):
    folder = tmp_path / "broken"
    shutil.copytree(ROOT / "datasets" / "harbourline", folder)
    path = folder / "queries.jsonl"
    lines = path.read_text().splitlines()
    lines[6] = lines[6][:-3]
    path.write_text("\n".join(lines))
    check(assay(*RUN, f"dataset={folder}"), "queries.jsonl", "7")


def test_data_that_is_elsewhere(assay):
    check(assay(*RUN, "dataset=scifact", ASSAY_DATA=""), "scifact", "ASSAY_DATA")


def test_models(assay):
    encoder = "retriever.legs.dense.encoder"
    run = ("run", "configs/semantic.yaml", "latency.queries=0")
    check(assay(*run, f"{encoder}=no such model"), "no such model", "bge-small-en-v1.5")
    hub = {"HF_ENDPOINT": "http://127.0.0.1:9"}  # else names are looked up until time is out
    check(assay(*run, f"{encoder}=nobody/nothing", **hub), "nobody/nothing")


def test_a_service_that_does_not_answer(assay):
    run = ("run", "examples/http_service.yaml", "latency.queries=0")
    check(assay(*run, "retriever.url=http://127.0.0.1:9/search"), "http://127.0.0.1:9/search")


def test_a_class_that_is_not_there(assay):
    run = ("run", "examples/word_overlap.yaml", "latency.queries=0")
    check(assay(*run, "retriever.path=examples.word_overlap:Nothing"), "Nothing")
    check(assay(*run, "retriever.path=json:JSONDecoder"), "assay.retrievers.base.Retriever")


def test_unknown_runs_and_commands(assay):
    check(assay("report", "nothing"), "nothing", "no such run")
    done = assay("rum")
    assert done.returncode == 2
    assert "No such command" in done.stderr


MODULE = """
from examples.word_overlap import WordOverlap


class Index(WordOverlap):
    def index(self, documents):
        raise KeyError("no such table")


class Search(WordOverlap):
    def search(self, query, k):
        return {}["key"]


class Timed(WordOverlap):
    calls = 0

    def search(self, query, k):
        self.calls += 1
        return super().search(query, k) if self.calls <= 4 else 1 / 0


class Listed(WordOverlap):
    def search(self, query, k):
        return [hit.score for hit in super().search(query, k).hits]
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Index", ("Index: index: KeyError", "no such table")),
        ("Search", ("Search: query q001: KeyError", "key")),
        ("Timed", ("Timed: query q", "ZeroDivisionError: division by zero")),
        ("Listed", ("Listed: query '", "is no hit; allowed: (id, score)")),
    ],
)
def test_a_class_of_yours_that_fails(assay, tmp_path, name, words):
    (tmp_path / "failing.py").write_text(MODULE)
    class_ = f"retriever.path=failing:{name}"
    run = ("run", "examples/word_overlap.yaml", class_, "limit=4", "latency.queries=1")
    places = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "ASSAY_REPORTS": str(tmp_path / "reports")}
    places["ASSAY_DATASET"] = "harbourline"
    done = finish(start(*run, environment=places))
    check(done, *words)
    if name == "Search":
        done = finish(start("search", run[1], "a ferry", class_, environment=places))
        check(done, "Search: query 'a ferry': KeyError")
        done = finish(start(*run, "--debug", environment=places))
        assert done.returncode == 2
        assert "Traceback" in done.stderr


def test_a_module_that_is_not_python(assay, tmp_path):
    (tmp_path / "broken.py").write_text("def search(:\n")
    run = ("run", "examples/word_overlap.yaml", "retriever.path=broken:Own")
    check(finish(start(*run, environment={"PYTHONPATH": f"{tmp_path}:{ROOT}"})), "line 1", "syntax")


@pytest.mark.parametrize(
    "arguments",
    [
        ("questions", "harbourline"),
        ("contexts", "harbourline"),
        ("judge", "harbourline"),
        ("answer", "bm25"),
        ("ragas", "bm25"),
    ],
)
def test_a_model_without_a_key_is_found_before_any_work(assay, tmp_path, arguments):
    cache = make_cache(tmp_path)
    reports = tmp_path / "reports"
    places = {"ASSAY_CACHE": str(cache), "ASSAY_REPORTS": str(reports), "OPENAI_API_KEY": ""}
    check(assay(*arguments, "--provider", "openai", **places), "OPENAI_API_KEY: not set")
    assert not reports.exists()
    assert [path.name for path in cache.iterdir()] == ["models"]


def test_places_that_cannot_be_written(assay, tmp_path):
    file = tmp_path / "file"
    file.touch()
    check(assay(*RUN, ASSAY_REPORTS=str(file)), str(file), "a file stands where a folder is needed")
    init = ("init", "examples/allotment", "--output", str(file))
    check(assay(*init), str(file), "a file stands where a folder is needed")
    done = assay(*RUN, ASSAY_REPORTS=str(file), ASSAY_DEBUG="1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" in done.stderr
    # Not even root makes folders there.
    check(assay(*RUN, ASSAY_REPORTS="/proc/reports"), "/proc/reports", "No such file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes where nobody may")
def test_reports_that_are_read_only(assay, tmp_path):
    tmp_path.chmod(0o555)
    check(assay(*RUN, ASSAY_REPORTS=str(tmp_path)), str(tmp_path), "Permission denied")


def test_a_collection_without_queries(assay, tmp_path):
    """As `assay init` makes it where it is given no questions."""
    reports = tmp_path / "reports"
    assert assay("init", "examples/allotment", "--output", str(tmp_path / "own")).returncode == 0
    run = ("run", str(tmp_path / "own" / "pipeline.yaml"))
    check(assay(*run, ASSAY_REPORTS=str(reports)), "no query is judged", "assay init FOLDER")
    assert not reports.exists()
