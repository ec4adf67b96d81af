"""Bad input: one clear line that names it, exit code 2, no traceback, nothing half-written."""

import shlex
import shutil
import subprocess

import pytest
from tools.own_cache import make_cache
from tools.processes import ASSAY, ROOT, finish, start

RUN = ("run", "configs/bm25.yaml", "latency.queries=0")
BM25 = "run configs/bm25.yaml latency.queries=0"
OWN = "run examples/word_overlap.yaml latency.queries=0"
DENSE = "run configs/semantic.yaml latency.queries=0 retriever.legs.dense.encoder"
FUSED = "run configs/hybrid_rrf.yaml latency.queries=0"
K1 = "retriever.legs.keyword.k1"
TUNE = "tune configs/bm25.yaml"
TWICE = "--dataset harbourline --dataset"
# A call, and words of the line that it ends with.
CALLS = {
    f"{BM25} retriever.legs.keyword.k11=2": ("k11", "unknown key", "k1", "epsilon"),
    f"{BM25} {K1}=fast": ("k1", "number", "'fast'"),
    f"{BM25} {K1}=-1": ("k1", "greater than 0"),
    f"{BM25} retriever.legs.keyword.analyzer=klingon": ("analyzer", "klingon", "english"),
    f"{BM25} retriever.legs.keyword.type=bm26": ("bm26", "'bm25'"),
    f"{BM25} retriever.fusion.type=rrf": (
        "Only one leg is left: remove the `fusion:` line", "null",
    ),
    f"{BM25} dataset=nowhere": ("nowhere", "harbourline"),
    f"{BM25} dataset=scifact": ("scifact", "ASSAY_DATA"),
    f"{BM25} measures=[nDCG@ten]": ("nDCG@ten", "nDCG@10"),
    f"{BM25} measures=[RBP(p=0.8)@10]": ("RBP(p=0.8)@10", "supports"),
    f"{BM25} limit": ("limit", "key.path=value"),
    f"{DENSE}='no such model'": ("no such model", "bge-small-en-v1.5"),
    f"{DENSE}=nobody/nothing": ("nobody/nothing",),
    "run examples/http_service.yaml latency.queries=0 retriever.url=http://127.0.0.1:9/search": (
        "http://127.0.0.1:9/search",
    ),
    f"{OWN} retriever.path=examples.word_overlap:Nothing": ("Nothing",),
    f"{OWN} retriever.path=json:JSONDecoder": ("assay.retrievers.base.Retriever",),
    f"{FUSED} 'retriever.stages=[{{type: ngram}}, {{type: content_hash}}]'": (
        "content_hash cannot follow ngram", "recency →",
    ),
    f"{FUSED} 'retriever.stages=[{{type: semantic}}, {{type: mmr}}]'": (
        "semantic and mmr cannot stand together",
    ),
    f"{FUSED} 'retriever.stages=[{{type: threshold}}]'": (
        "threshold.minimum", "put calibrate before it",
    ),
    f"{FUSED} 'retriever.stages=[{{type: mmr}}, {{type: neighbours}}]'": (
        "neighbours.score_delta", "null",
    ),
    f"{FUSED} 'retriever.stages=[{{type: threshold, of: other}}]'": (
        "threshold.of", "no leg that searches",
    ),
    f"{FUSED} 'retriever.stages=[{{type: recency, today: soon}}]'": ("today", "date"),
    f"{FUSED} 'retriever.stages=[{{type: context, tokenizer: nothing}}]'": (
        "tokenizer nothing", "bert-base-uncased",
    ),
    "report nothing": ("nothing", "no such run"),
    "rum": ("No such command",),
    **{
        f"{command} --provider openai": ("OPENAI_API_KEY: not set",)
        for command in (
            "questions harbourline", "contexts harbourline", "judge harbourline", "answer bm25",
            "ragas bm25",
        )
    },
    "choose harbourline --budget 5x": ("'5x' is no time; allowed: as 90s, 10m, 1h",),
    "choose harbourline --budget 0s": ("'0s' is no time; allowed: as 90s, 10m, 1h",),
    "choose harbourline --config bm25": ("bm25: retriever.legs: `assay choose` starts from",),
    "choose nowhere": ("nowhere",),
    "choose harbourline --dataset tarnwick": ("COLLECTION harbourline and --dataset",),
    f"choose {TWICE} harbourline": ("the collection harbourline is given twice",),
    f"choose {TWICE} tarnwick limit=20": ("has 20 questions; choosing on",),
    "choose harbourline --measure Tokens@10": ("neither more nor less is better",),
    "tune configs/semantic.yaml 'retriever.stages=[{type: neighbours}]'": ("semantic", "--over"),
    f"{TUNE} --over k1": ("k1", "key.path=v1,v2,v3"),
    f"{TUNE} --over dataset=scifact,cranfield": ("dataset", "retriever and documents"),
    f"{TUNE} --over retriever.legs.keyword.k2=1": ("k2", "unknown key"),
    f"{TUNE} --space nowhere.yaml": ("nowhere.yaml",),
    f"{TUNE} --space configs/bm25.yaml": ("configs/bm25.yaml", "axes"),
    f"{TUNE} --space x.yaml --over {K1}=1": ("--space", "one of them"),
    f"{TUNE} --measure nDCG@ten": ("nDCG@ten",),
    f"{TUNE} limit=4 --over {K1}=1": ("4 queries in 4 groups", "5 folds"),
    "ablate examples/word_overlap.yaml": ("python has no parts; allowed: pipeline",),
    "ingest nowhere": ("nowhere", "no such folder or file, nor a collection", "harbourline"),
    "ingest harbourline --config nowhere.yaml": ("nowhere.yaml", "no such config"),
    "ingest harbourline retriever.fusion.size=3": ("size", "unknown key"),
    "ingest harbourline --config examples/word_overlap.yaml": ("retriever.type: python",),
    "ingest configs": ("configs: holds no documents", ".pdf"),
    "parity nowhere": ("engine nowhere: no such engine; allowed: ",),
    "parity sql-server": ("engine sql-server: sql-server has no hybrid search of its own",),
    "parity faiss": ("engine faiss: faiss has no hybrid search of its own: `assay run ",),
    "parity qdrant-edge k=0": ("engine qdrant-edge: k: input should be greater",),
    "parity qdrant-edge x=1": ("engine qdrant-edge: x: unknown key; allowed: type, ",),
    "parity qdrant-edge nowhere": ("nowhere: there is no such collection",),
    "parity qdrant-edge harbourline scifact": ("scifact: one COLLECTION at a time",),
    "recall qdrant-edge --sweep ef": ("ef: an axis is key.path=v1,v2,v3",),
    "recall qdrant-edge": ("give --sweep KEY=V1,V2,…, or --filters SHARE,…, or both",),
    "recall qdrant-edge --filters .5,1": ("--filters: 1: no share; allowed: above 0",),
    "recall qdrant-edge --sweep ef=0": ("engine qdrant-edge: ef: input should be",),
    "engines clean opensearch": ("set OPENSEARCH_URL",),
    "engines clean in-memory": ("is no engine; the pipeline hybrid does the same",),
    "run configs/native_hybrid.yaml --engine azure-cosmos-mongo": (
        "MongoDB vCore speaks another interface than Atlas",
    ),
}  # fmt: skip


def check(done, *words):
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "Traceback" not in done.stderr
    # Progress may stand before it; of the problem there is one line, the last.
    *before, line = done.stderr.strip().splitlines()
    assert line.startswith(("assay: ", "Error: ")), done.stderr
    assert not any(other.startswith("assay: ") for other in before), done.stderr
    for word in words:
        assert word in line


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_cannot_be_is_one_line_and_writes_nothing(assay, tmp_path, call):
    places = {
        "ASSAY_REPORTS": str(tmp_path / "reports"),
        "ASSAY_DATA": "",
        "OPENSEARCH_URL": "",
        "OPENAI_API_KEY": "",
        "HF_ENDPOINT": "http://127.0.0.1:9",  # else names are looked up until time is out
    }
    if "--provider" in call:
        places["ASSAY_CACHE"] = str(make_cache(tmp_path))
    check(assay(*shlex.split(call), **places), *CALLS[call])
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in made if path.parent.name != ".locks"]


def test_configs(assay, tmp_path):
    config = tmp_path / "config.yaml"
    check(assay("run", str(config)), str(config), "no such config")
    for text, *words in (
        ("name: x\nretriever: {legs: {a: {type: bm25}}}\nname: y\n", "line 3", "twice"),
        ("name: x\nbase: config.yaml\n", "circle"),
        ("name: [\n", "not YAML"),
    ):
        config.write_text(text)
        check(assay("run", str(config)), str(config), *words)


def test_a_broken_line(assay, tmp_path):
    folder = tmp_path / "broken"
    shutil.copytree(ROOT / "datasets" / "harbourline", folder)
    path = folder / "queries.jsonl"
    lines = path.read_text().splitlines()
    lines[6] = lines[6][:-3]
    path.write_text("\n".join(lines))
    check(assay(*RUN, f"dataset={folder}"), "queries.jsonl", "7")


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


def test_a_folder_that_is_gone(tmp_path):
    (tmp_path / "gone").mkdir()
    called = subprocess.run(
        ["bash", "-c", f"rmdir ../gone && {shlex.quote(str(ASSAY))} run bm25"],
        cwd=tmp_path / "gone", capture_output=True, text=True,
    )  # fmt: skip
    told = "assay: the current folder is gone; change to one that is there\n"
    assert (called.returncode, called.stderr) == (2, told)


def test_a_collection_without_queries(assay, tmp_path):
    """As `assay init` makes it where it is given no questions."""
    reports = tmp_path / "reports"
    assert assay("init", "examples/allotment", "--output", str(tmp_path / "own")).returncode == 0
    run = ("run", str(tmp_path / "own" / "pipeline.yaml"))
    check(assay(*run, ASSAY_REPORTS=str(reports)), "no query is judged", "assay init FOLDER")
    assert not reports.exists()
