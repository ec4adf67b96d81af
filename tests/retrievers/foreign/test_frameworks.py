"""Retrievers of LangChain, LlamaIndex and Haystack, with the released packages."""

import re
import sys
from functools import partial
from pathlib import Path

import pytest
from tools import framework_retrievers
from tools.framework_retrievers import TEXTS, documents

from assay.eval.configs.config import RunConfig
from assay.retrievers.base import AssayError, Document
from assay.retrievers.base.answers import NamedChunks
from assay.retrievers.conformance import check_retriever
from assay.retrievers.foreign.frameworks import adapt
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

pytestmark = pytest.mark.slow

PACKAGES = {"langchain": "langchain_core", "llamaindex": "llama_index", "haystack": "haystack"}


def build(kind, name, folder, **settings):
    values = {"type": kind, "object": f"tools.framework_retrievers:{name}", **settings}
    config = RunConfig.model_validate({"name": "x", "retriever": values})
    return config.build(Resources(Cache(folder)))


def check_ranking(ranking):
    """The texts are those of their places, each once, best first."""
    ids = [hit.chunk.id for hit in ranking.hits]
    scores = [hit.score for hit in ranking.hits]
    assert ids
    assert len(ids) == len(set(ids))
    assert scores == sorted(scores, reverse=True)
    for hit in ranking.hits:
        text = TEXTS[hit.chunk.doc_id]
        assert hit.chunk.text == text[hit.chunk.start : hit.chunk.end]


@pytest.mark.parametrize("kind", PACKAGES)
def test_texts_are_put_back_into_their_documents(kind, tmp_path):
    pytest.importorskip(PACKAGES[kind], reason=f"needs the extra `{kind}`")
    retriever = build(kind, kind, tmp_path)
    retriever.index(documents())
    ranking = retriever.search("the night train", 2)
    check_ranking(ranking)
    assert len(ranking.hits) == 2
    assert retriever.search("the night train", 2) == ranking
    assert retriever.search(" ", 2).hits == ()
    facts = retriever.metadata()
    assert facts["object"] == f"tools.framework_retrievers:{kind}"
    assert len(facts["source"]) == 64
    assert retriever.nondeterministic is False
    # An object that knows its documents is asked as it is.
    made = getattr(framework_retrievers, kind)(documents())
    framework_retrievers.made = made  # type: ignore[attr-defined]
    again = build(kind, "made", tmp_path, nondeterministic=True)
    again.index(documents())
    # Of equal scores, that of LlamaIndex's own store orders each index by other random ids.
    hits = again.search("the night train", 2).hits
    assert sorted(hits, key=lambda hit: hit.chunk.id) == sorted(
        ranking.hits, key=lambda hit: hit.chunk.id
    )
    assert again.nondeterministic


def test_the_scores_and_order_are_the_frameworks_own(tmp_path):
    pytest.importorskip("haystack", reason="needs the extra `haystack`")
    made = framework_retrievers.haystack(documents()).run(query="night train")["documents"]
    retriever = build("haystack", "haystack", tmp_path)
    retriever.index(documents())
    hits = retriever.search("night train", 5).hits
    assert [hit.chunk.doc_id for hit in hits] == [item.meta["source"] for item in made]
    assert [hit.score for hit in hits] == [item.score for item in made]
    assert hits[0].chunk.id == "guides/train.md"  # a whole document is that document


def test_a_component_that_takes_no_query_is_refused(tmp_path):
    pytest.importorskip("haystack", reason="needs the extra `haystack`")
    with pytest.raises(AssayError, match=r"DocumentCleaner is not haystack\.core\.component\.Comp"):
        build("haystack", "no_query", tmp_path).index(documents())
    assert adapt(framework_retrievers.no_query(documents())) is None


def test_one_that_is_made_of_documents_keeps_every_rule(tmp_path):
    pytest.importorskip("haystack", reason="needs the extra `haystack`")
    check_retriever(partial(build, "haystack", "haystack", tmp_path))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "broken",
            r"retriever\.object: tools.framework_retrievers:broken: RuntimeError: no index here",
        ),
        ("nothing", r"builtins\.list is not langchain_core\.retrievers\.BaseRetriever, nor"),
        ("TEXTS", r"builtins\.dict is not"),
        ("absent", "has no absent"),
        ("called", r"builtins\.function is not .*, nor a function of `documents` that makes one"),
    ],
)
def test_refuses(name, says, tmp_path):
    pytest.importorskip("langchain_core", reason="needs the extra `langchain`")
    with pytest.raises(AssayError, match=says):
        build("langchain", name, tmp_path).index(documents())


def test_a_text_from_elsewhere_names_the_query(tmp_path):
    pytest.importorskip("haystack", reason="needs the extra `haystack`")
    framework_retrievers.made = framework_retrievers.haystack([Document("a", "the moon")])  # type: ignore[attr-defined]
    retriever = build("haystack", "made", tmp_path)
    retriever.index(documents())
    with pytest.raises(AssayError, match="query 'moon': the text 'the moon' is not part of"):
        retriever.search("moon", 5)


@pytest.mark.parametrize("kind", PACKAGES)
def test_without_the_package_the_extra_is_named(kind, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGES[kind]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, PACKAGES[kind], None)
    with pytest.raises(AssayError, match=f"retriever.type: {kind}: needs the extra `{kind}`"):
        build(kind, "nothing", tmp_path).index(documents())
    # As documented, a module imports the framework at its top.
    name = f"mine_in_{kind}"
    (tmp_path / f"{name}.py").write_text(f"import {PACKAGES[kind]}.anything\n")
    monkeypatch.syspath_prepend(tmp_path)
    values = {"type": kind, "object": f"{name}:retriever"}
    config = RunConfig.model_validate({"name": "x", "retriever": values})
    with pytest.raises(AssayError, match=f"retriever.type: {kind}: needs the extra `{kind}`"):
        config.build(Resources(Cache(tmp_path)))


@pytest.mark.parametrize(
    ("text", "names", "near", "place"),
    [
        ("The night train is late.", [], None, ("guides/train.md", 9, 33)),
        (" The  night train is late.\n", [], None, ("guides/train.md", 9, 33)),
        ("Call us.", ["guides/ferry.md"], None, ("guides/ferry.md", 35, 43)),
        ("Call us.", ["/srv/docs/guides/ferry.md"], None, ("guides/ferry.md", 35, 43)),
        ("Call us.", ["no-such-id", "ferry"], None, ("guides/ferry.md", 35, 43)),
        ("Call us.", ["guides/train.md"], 44, ("guides/train.md", 45, 53)),
        ("The night train is late.", ["guides/ferry.md"], None, ("guides/train.md", 9, 33)),
        (TEXTS["guides/ferry.md"].strip(), [], None, ("guides/ferry.md", 0, 44)),
    ],
)
def test_where_a_text_stands(text, names, near, place):
    chunk = NamedChunks(documents()).find_text(text, names, near)
    assert (chunk.doc_id, chunk.start, chunk.end) == place


@pytest.mark.parametrize(
    ("text", "near", "start"),
    [
        ("the cat", 0, 0),  # the only one that cuts no word is another
        ("the cat", 0.0, 0),
        ("\n the cat ", 13, 15),
        ("the cat", 15, 15),
        ("so", 399, 399),  # beyond the places that are counted
    ],
)
def test_a_text_stands_where_its_offset_says(text, near, start):
    written = f"the cats sat.\n the cat alone. {'so ' * 200}"
    chunk = NamedChunks([Document("d", written)]).find_text(text, ["d"], near)
    assert (chunk.start, chunk.text) == (start, text.strip())


@pytest.mark.parametrize(
    ("text", "names", "near", "says"),
    [
        ("Call us.", [], None, "stands 3 times in the documents; .* tell .*add_start_index=True"),
        ("Call us.", ["guides/train.md"], None, "stands 2 times"),
        ("Call us.", ["guides/train.md"], -1, "stands 2 times"),  # an offset that was not found
        ("the moon", ["guides/train.md"], None, "is not part of the documents"),
        ("", ["guides/train.md"], None, "is not part of"),
    ],
)
def test_what_stands_nowhere_or_anywhere(text, names, near, says):
    with pytest.raises(AssayError, match=says):
        NamedChunks(documents()).find_text(text, names, near)


@pytest.mark.parametrize("number", range(3))
def test_the_examples_of_the_docs(number, tmp_path, monkeypatch):
    kind = list(PACKAGES)[number]
    pytest.importorskip(PACKAGES[kind], reason=f"needs the extra `{kind}`")
    page = (Path(__file__).parents[3] / "docs/retrievers.md").read_text()
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[number]
    assert len(code.strip().splitlines()) < 10
    (tmp_path / f"mine_{kind}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    values = {"type": kind, "object": f"mine_{kind}:retriever"}
    config = RunConfig.model_validate({"name": "x", "retriever": values})
    retriever = config.build(Resources(Cache(tmp_path)))
    retriever.index(documents())
    ranking = retriever.search("the night train", 5)
    check_ranking(ranking)
    assert {hit.chunk.id for hit in ranking.hits} <= set(TEXTS)
