"""A cached value is found again only while the code that made it, and all that it imports, is the
same.
"""

import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_layout import PACKAGES, list_modules, reach, read_imports
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from assay.eval.running.cached_figures import FiguresCache
from assay.eval.running.point_scores import PointScores
from assay.retrievers.base import Chunk, Document
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.corpus.glossary import Glossary
from assay.retrievers.documents.chunk_cache import ChunkCache
from assay.retrievers.documents.chunkers import StructureChunker
from assay.retrievers.legs.registry import LEGS
from assay.retrievers.settings import Resources
from assay.retrievers.store import sources
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.sources import (
    ROOT,
    digest_imports,
    find_file,
    find_imports,
    list_sources,
)

FILES = [ROOT / module for module in list_modules(*PACKAGES)]


def name_module(path: Path) -> str:
    return ".".join(("assay", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    )


# Each module that keys what it keeps by its own imports, each engine, and what is named by hand.
OWN = [name_module(path) for path in FILES if "digest_imports(__name__" in path.read_text()]
ENGINES = [
    name_module(path)
    for path in FILES
    if re.search(r"engines/\w+/(?:engine|edge|lite)\.py$", str(path))
]
ROOTS = [
    (name,) for name in (*OWN, *ENGINES, "assay.retrievers.documents.conversion.converter")
] + [
    ("assay.eval.running.cached_figures", PointScores.__module__),
    ("assay.retrievers.*", "assay.eval.runs.*"),
    ("assay.eval.collections.*",),
    ("assay.eval.*",),
]


def list_names(text: str, package: str) -> set[str]:
    """Return what Python's own parser says that a module of `package` imports, and from where."""
    imported = set(read_imports(text, package))
    return (imported | {name.rpartition(".")[0] for name in imported}) - {""}


def read_names(path: Path) -> set[str]:
    package = ".".join(("assay", *path.relative_to(ROOT).parent.parts))
    return list_names(path.read_text(), package)


@cache
def make_graph() -> dict[str, set[str]]:
    return {name_module(path): set(filter(find_file, read_names(path))) for path in FILES}


# What these keep is a model's, or is keyed by whom they keep it for.
NOT_BY_CODE = {
    "retrievers/documents/conversion/conversion.py": "converters.identify has the code",
    "retrievers/engines/embedded.py": "its adapter's key has the code",
    "retrievers/language_models/answers.py": "answers of a language model",
    "retrievers/legs/leg_result_cache.py": "its caller gives it the code",
    "retrievers/models/caching.py": "vectors of a model",
    "retrievers/models/cached_vectors.py": "vectors of a model",
    "retrievers/models/vector_cache.py": "vectors of a model",
    "retrievers/model_files/wheels.py": "files of a model, by their digests",
    "retrievers/model_files/wordnet_files.py": "files of a package, by its digest",
    "retrievers/stages/rerank.py": "scores of a model",
    "eval/collections/download.py": "a file, by its digest",
    "eval/collections/formats/mapped.py": "what an archive holds, by its digest",
    "eval/cluster/cache.py": "the cache of another machine",
    "eval/tracking/local.py": "MLflow's tables, by its version",
    "eval/studies/sweep/forecast.py": "cached_figures.name_point has the code",
    "eval/running/stored_points.py": "cached_figures.name_point has the code",
}
USES_CACHE = re.compile(r"\.(?:get_many|put_many|folder|remake)\(|cache\.load\(|gathered\.add\(")


def test_whatever_is_cached_is_keyed_by_code_or_says_why_not() -> None:
    using = {
        path.relative_to(ROOT).as_posix()
        for path in FILES
        if USES_CACHE.search(text := path.read_text()) and "digest_imports(" not in text
    } - {"retrievers/store/cache.py"}
    assert using == NOT_BY_CODE.keys()


def reach_files(*modules: str) -> set[Path]:
    """Return the files that `modules` reach, as Python's own parser has it."""
    names = set(modules).union(*(reach(make_graph(), name) for name in modules))
    return {path for name in names if (path := find_file(name))}


def test_stages_are_found() -> None:
    assert {
        "assay.retrievers.documents.chunk_cache",
        "assay.retrievers.corpus.glossary",
        "assay.retrievers.legs.code",
    } <= set(OWN)
    assert len(OWN) > 12
    assert len(ENGINES) > 15


@pytest.mark.parametrize("modules", ROOTS, ids=lambda modules: modules[0])
def test_a_key_counts_each_module_that_a_stage_reaches(modules: tuple[str, ...]) -> None:
    names = [name for name in modules if not name.endswith(".*")]
    folders = [ROOT.joinpath(*name.split(".")[1:-1]) for name in modules if name.endswith(".*")]
    within = {path for path in FILES if any(path.is_relative_to(item) for item in folders)}
    counted = {find_file(name) or ROOT / name for name in list_sources(*modules)}
    assert counted & set(FILES) == reach_files(*names, *map(name_module, within))


def test_an_edit_moves_the_keys_of_what_counts_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    read, find = sources.read_source, digest_imports.__wrapped__
    edited: list[Path] = []

    def change(path: Path) -> sources.Source:
        source = read(path)
        return source._replace(digest="edited") if path in edited else source

    monkeypatch.setattr(sources, "read_source", change)
    root = "assay.retrievers.documents.chunk_cache"
    reached, before = reach_files(root), find(root)
    for path in FILES:
        edited[:] = [path]
        assert (find(root) != before) == (path in reached), path


@pytest.fixture
def edit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Make a file of the project read as if it had been edited."""
    read = sources.read_bytes

    def forget() -> None:
        digest_imports.cache_clear()
        sources.read_source.cache_clear()

    def make(name: str) -> None:
        changed = ROOT / name
        assert changed.is_file()
        monkeypatch.setattr(
            sources, "read_bytes", lambda path: read(path) + b"\n# edited" * (path == changed)
        )
        forget()

    yield make
    monkeypatch.undo()
    forget()


TEXT = "# Ferry\n\nA *berth* means a place. Call `parse_json` in 渡轮.\n"
CHUNK = Chunk("a", "a", 0, len(TEXT), TEXT)
CORPUS = Corpus([CHUNK], [Document("a", TEXT)])


def index(values: dict[str, Any], resources: Resources) -> bool:
    settings = LEGS.types[values["type"]].model_validate(values)
    return bool(settings.build(resources).index(CORPUS).cached)


def cut(resources: Resources) -> bool:
    tokenizer = Tokenizer(WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = Whitespace()
    folder = resources.cache.root / "tokenizer"
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    cutting = ChunkCache(StructureChunker(), str(folder), resources)
    return cutting.cut(list(CORPUS.documents.values()), resources.progress).cached


KEYWORD = {"type": "bm25", "analyzer": "chinese"}
STAGES: dict[str, Callable[[Resources], bool]] = {
    "code": lambda resources: index({"type": "code"}, resources),
    "bm25": lambda resources: index(KEYWORD, resources),
    "bm25f": lambda resources: index({**KEYWORD, "weights": {}}, resources),
    "cuts": cut,
}
DOCUMENTS = "retrievers/documents"


@pytest.mark.parametrize(
    ("stage", "file"),
    [
        *(
            ("code", f"{DOCUMENTS}/structure/{name}.py")
            for name in ("admonitions", "numbered_lines", "identifiers")
        ),
        ("code", f"{DOCUMENTS}/structure/jurisdictions.yaml"),
        ("cuts", f"{DOCUMENTS}/chunkers/structure.py"),
        ("bm25", "retrievers/base/scripts.py"),
        ("bm25f", "retrievers/base/scripts.py"),
    ],
)
def test_a_stage_is_made_again_after_an_edit(
    stage: str, file: str, tmp_path: Path, edit: Callable[[str], None]
) -> None:
    make, resources = STAGES[stage], Resources(Cache(tmp_path))
    assert not make(resources)
    assert make(resources)
    edit("eval/report/formats.py")
    assert make(resources)
    edit(file)
    assert not make(resources)
    assert make(resources)


@pytest.mark.parametrize("name", ["admonitions", "numbered_lines", "identifiers"])
def test_definitions_are_read_again_after_an_edit(
    name: str, tmp_path: Path, edit: Callable[[str], None]
) -> None:
    def count_read() -> int:
        return Glossary(CORPUS, Resources(Cache(tmp_path))).fresh

    assert count_read() == 1
    assert count_read() == 0
    edit("eval/report/formats.py")
    assert count_read() == 0
    edit(f"{DOCUMENTS}/structure/{name}.py")
    assert count_read() == 1


def test_imports_are_those_that_the_parser_finds() -> None:
    missed = {path: read_names(path) - sources.read_source(path).imports for path in FILES}
    assert {path: names for path, names in missed.items() if names} == {}


def test_each_data_file_counts_with_a_module() -> None:
    # Templates: `assay.eval.*` has them all. The stored runs of the demo are read by no stage.
    kinds = {".py", ".j2", ".js", ".css", ".zip"}
    folders = [file for name in PACKAGES for file in sources.list_files(f"assay.{name}")]
    data = {path for path in folders if path.suffix not in kinds}
    named = {file for path in FILES for file in sources.read_source(path).data}
    assert {path.name for path in data} >= {"jurisdictions.yaml", "pins.toml", "prices.yaml"}
    assert data == named


def test_figures_of_a_sweep_go_by_the_code_that_scores_them(
    tmp_path: Path, edit: Callable[[str], None]
) -> None:
    keeper = FiguresCache(["RR@10"], Cache(tmp_path), PointScores(["RR@10"]).score)
    other = FiguresCache(["RR@10"], Cache(tmp_path))
    before = keeper._key("run"), other._key("run")
    edit("eval/running/point_scores.py")
    assert keeper._key("run") != before[0]
    assert other._key("run") == before[1]


NAME = st.sampled_from(["a", "retrievers", "assay.retrievers.base", "assay.eval.runs.rows"])
PART = st.tuples(st.sampled_from(["b", "cache", "rows"]), st.sampled_from(["", " as c"])).map(
    "".join
)
LISTS = st.lists(PART, min_size=1, max_size=4)
FORMS = st.sampled_from(
    ["{0}", "({0})", "(\n    {0},\n)", "(  # why\n    {1},  # and\n)", "{0}  # retrievers, eval"]
)


@given(
    st.sampled_from(["", ".", "..", "..."]), NAME, LISTS, FORMS,
    st.sampled_from(["", "def f():\n    ", "if True:\n\t"]),
)  # fmt: skip
def test_each_way_to_write_an_import_is_read(
    dots: str, module: str, names: list[str], form: str, before: str
) -> None:
    written = form.format(", ".join(names), ",  # which\n    ".join(names))
    text = f"{before}from {dots}{module} import {written}\n{before}import {module}, os.path as p\n"
    package = "assay.retrievers.legs.inner"
    assert set(find_imports(text.encode(), package)) == list_names(text, package)


def test_a_module_that_is_gone_is_an_error() -> None:
    for name in ("assay.retrievers.gone", "assay.eval.gone.*"):
        with pytest.raises(LookupError, match="gone"):
            digest_imports(name)


def test_of_a_module_from_elsewhere_its_file_and_what_it_imports_of_the_project_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "someone.py"
    file.write_text("from assay.retrievers.base import Chunk\nimport json\n")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("someone")
    try:
        found = list_sources("someone")
        assert {"someone", "assay.retrievers.base"} <= found.keys()
        assert all(name == "someone" or name.startswith("assay.retrievers") for name in found)
    finally:
        del sys.modules["someone"]
