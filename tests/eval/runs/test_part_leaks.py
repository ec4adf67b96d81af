"""No part of a pipeline tells a principal of documents that it may not read.

Every part that a config can name enters by itself. Each is asked of two collections: one has, in
documents that the principal may not read, marked words wherever a document can have words; the
other lacks these documents. No answer has a mark, and what is told is the same of both.
"""

import json
import re
from dataclasses import asdict, replace
from typing import ClassVar, get_args

import pytest

from assay.eval.collections.in_memory import make_collection
from assay.eval.runs.execution.searching import index, search
from assay.retrievers.base import (
    Chunk,
    Definition,
    Hit,
    IndexReport,
    LeakError,
    LegRank,
    Quiet,
    Ranking,
    Retriever,
    StageTrace,
)
from assay.retrievers.legs.base import Kind, Leg, LegResult, LegSettings
from assay.retrievers.legs.registry import AnyLeg
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.query.base import QueryStep, QueryStepSettings, StepResult
from assay.retrievers.query.registry import AnyQueryStep
from assay.retrievers.settings import Resources
from assay.retrievers.settings.parts import Part
from assay.retrievers.stages.base import Stage, StageResult, StageSettings
from assay.retrievers.stages.registry import AnyStage
from assay.retrievers.store.cache import Cache

MARK = "zqx"
PERMISSIONS = {
    "fields": {"readers": "list of text"},
    "readers": "readers",
    "principals": {"carl": ["all"]},
}
READABLE = {
    "valves.md": "---\ncategory: guide\nauthor: Ann Bee\ntags: [pipes]\ndate: 2024-05-01\n---\n"
    "# Valves\n\n## 1 Closing\n\nA valve closes the pipe; see [more](more.md). `closeValve()`\n",
    "more.md": "---\ncategory: note\ndate: 2024-01-01\n---\n# More\n\n## Terms\n\n"
    "**Flow Code** means the number on a valve.\n\n## 2 Opening\n\nThe Flow Code opens it.\n",
}
SECRET = {
    f"{MARK}doc.md": f"---\ncategory: policy{MARK}\nauthor: Kim{MARK} Ann\n"
    f"tags: [tag{MARK}]\nlanguage: de\ndate: 2031-01-01\n---\n# Title{MARK}\n\n"
    f"## 1 Closing\n\nA valve{MARK} closes the pipe deprecation{MARK}. `closeValve{MARK}()`\n\n"
    f"## Definitions\n\n**Flow Code** means a margin{MARK}. **Valve{MARK} Rate** means ten{MARK}; "
    "**Seal Term** means a ring.\n\n## 7 Sealing\n\nA gasket of copper. See [v](valves.md).\n",
    f"glossary{MARK}.md": f"# Glossary\n\n**Pipe** means a tube{MARK}.\n\n**Seal Term** means "
    f"a thing{MARK}.\n",
}
QUERIES = (
    "valve",
    "deprec",  # the beginning of a secret word
    "category:policy valve",
    "category:nothing author:kim tag:x language:de after:2030-01-01 valve",
    "author:ann path:*doc* valve",
    "what does Flow Code mean",
    "what does Seal Term mean",
    '"a gasket of copper" valve',
    "§ 1 Closing",
    "§ 7 Sealing",
    "closeValve pipe",
)
KEYWORD = {"type": "bm25"}
# Parts that a model or a server must be there for, and what they know of documents.
ELSEWHERE = {
    "synonyms": "a dictionary's words, of no document",
    "hyde": "what a model writes of the query alone",
    "multi_query": "what a model writes of the query alone",
    "native_hybrid": "tried in one engine below",
    "engine_dense": "tried in one engine below",
    "engine_keyword": "tried in one engine below",
}
SQLITE = {"engine": {"type": "sqlite"}}
MORE = {
    "filter": {"from_query": True},
    "threshold": {"of": "dense", "minimum": 0.7, "rare_words": 0.9},
    "mmr": {"top_n": 3},
    "rerank": {"depth": 3},
    "expand": {"prefix": 4, "floor": 0.5},
    "neighbours": {"score_delta": None},
}


class TellingStepSettings(QueryStepSettings):
    def build(self, resources, legs):
        return TellingStep()


class TellingStep(QueryStep):
    """Tells all that it has learned, and lets be found what has the first word of the query."""

    def index(self, corpus):
        self.corpus = corpus

    def apply(self, request):
        chunks = self.corpus.chunks
        words = " ".join(sorted({word for chunk in chunks for word in chunk.text.split()}))
        first = request.text.split()[0].strip('"')
        found = frozenset(i for i, chunk in enumerate(chunks) if first in chunk.text.casefold())
        assert request.allowed is not None
        assert request.allowed <= set(range(len(chunks)))
        return StepResult(replace(request, allowed=found), words, {words: len(chunks)})


class TellingStageSettings(StageSettings):
    def build(self, resources):
        return TellingStage()


class TellingStage(Stage):
    """Tells all that it has learned, and gives each hit a context that does."""

    def index(self, corpus, top):
        self.words = " ".join(chunk.text for chunk in corpus.chunks)

    def apply(self, query, hits):
        hits = [replace(hit, chunk=replace(hit.chunk, context=self.words)) for hit in hits]
        return StageResult(hits, self.words, {self.words: len(self.words)})


class TellingLegSettings(LegSettings):
    kind: ClassVar[Kind] = "exact"

    def build(self, resources):
        return TellingLeg()


class TellingLeg(Leg):
    """Finds everything, and tells all of it."""

    def index(self, corpus):
        self.texts = [chunk.text for chunk in corpus.chunks]
        return IndexReport(len(self.texts))

    def search(self, query, depth):
        found = [(i, 1.0 / (i + 1)) for i in range(len(self.texts))][:depth]
        words = " ".join(self.texts)
        return LegResult(found, {"search": 0.0}, words, {words: len(found)})


PLUGINS = {"query step": TellingStepSettings(), "stage": TellingStageSettings()}


def list_types(part):
    (marked,) = (one for one in get_args(part) if isinstance(one, Part))
    yield from (name for name in marked.types if name not in ELSEWHERE)


def recipes():
    for name in list_types(AnyQueryStep):
        step = {"type": name, **MORE.get(name, {})}
        yield f"query {name}", {"query": [step], "legs": {"keyword": KEYWORD}}
    both = {"keyword": KEYWORD}
    engines = [(name, SQLITE) for name in ("native_hybrid", "engine_dense", "engine_keyword")]
    for name, more in (*((name, {}) for name in list_types(AnyLeg)), *engines):
        legs = {**both, "other": {"type": name, **more}}
        yield f"leg {name}", {"legs": legs, "fusion": {"type": "rrf"}}
    legs = {"keyword": KEYWORD, "dense": {"type": "dense"}}
    for name in list_types(AnyStage):
        stages = [{"type": name, **MORE.get(name, {})}]
        yield f"stage {name}", {"legs": legs, "fusion": {"type": "rrf"}, "stages": stages}
    for name, part in PLUGINS.items():
        key = name.partition(" ")[0]
        more = {"query": [part]} if key == "query" else {"stages": [part]}
        yield f"plug-in {name}", {"legs": legs, "fusion": {"type": "rrf"}, **more}
    tell = {"keyword": KEYWORD, "other": TellingLegSettings()}
    yield "plug-in leg", {"legs": tell, "fusion": {"type": "rrf"}}


def make(documents, secret):
    texts = {
        id_: {"text": text, "metadata": {"readers": ["all"]}} for id_, text in documents.items()
    }
    texts |= {
        id_: {"text": text, "metadata": {"readers": ["board"]}} for id_, text in secret.items()
    }
    queries = {f"q{i}": {"text": text, "principal": "carl"} for i, text in enumerate(QUERIES)}
    return make_collection(
        texts, queries, {id_: ["valves.md"] for id_ in queries}, permissions=PERMISSIONS
    )


def search_all(recipe, collection, folder):
    chunker = {"type": "parent_child" if "parents" in str(recipe) else "sections"}
    values = {"name": "p", "retriever": recipe, "documents": {"chunker": chunker}}
    config = PipelineConfig.model_validate(values)
    with config.build(Resources(Cache(folder), Quiet())) as retriever:
        index(retriever, collection)
        return [search(retriever, collection, query, 10) for query in collection.queries]


def list_told(ranking):
    """Return what a ranking tells in words and numbers, but for times and scores.

    How many candidates a leg was asked for goes by the size of the collection.
    """
    return [
        [step.name, re.sub(r"\d+\.\d+(e-\d+)?", "#", step.note), {**step.counts, "asked": 0}]
        for step in ranking.trace
    ]


RECIPES = dict(recipes())


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * name.startswith(("leg ", "stage ")))
        for name in RECIPES
    ],
)
def test_no_part_tells_of_what_may_not_be_read(name, tmp_path):
    recipe = RECIPES[name]
    whole = search_all(recipe, make(READABLE, SECRET), tmp_path)
    alone = search_all(recipe, make(READABLE, {}), tmp_path)
    for query, ranking, expected in zip(QUERIES, whole, alone, strict=True):
        assert MARK not in json.dumps(asdict(ranking), default=str).casefold(), query
        assert list_told(ranking) == list_told(expected), query


class Foreign(Retriever):
    """A retriever made elsewhere that returns what it is told to, whoever asks."""

    def __init__(self, ranking):
        self.ranking = ranking

    def index(self, documents):
        return IndexReport(1)

    def search(self, query, k):
        return self.ranking

    def restrict(self, allowed):
        return self


TEXT = READABLE["valves.md"]
CHUNK = Chunk("valves-1", "valves.md", 0, len(TEXT), TEXT, "Valves", ("Closing",), "On valves.")
HIT = Hit(CHUNK, 1.0, {"search": LegRank(1, 1.0)})
STEP = StageTrace("search", "leg", 1.0, (("valves-1", 1.0),), "1 match", {"matches": 1})
FINE = Ranking((HIT,), (STEP,))
SHOWN = f"deprecation{MARK}"


def show(**fields):
    return replace(FINE, hits=(replace(HIT, chunk=replace(CHUNK, **fields)),))


def trace(**fields):
    return replace(FINE, trace=(replace(STEP, **fields),))


LEAKS = {
    "note": trace(note=f"+ {SHOWN.upper()}"),
    "name of a step": trace(name=SHOWN),
    "counts": trace(counts={SHOWN: 1}),
    "faults": replace(FINE, degraded=(f"not without {SHOWN}",)),
    "context": show(context=SHOWN),
    "title": show(title=SHOWN),
    "headings": show(headings=("Valves", SHOWN)),
    "section": show(section_id=SHOWN),
    "anchors": show(anchors=(SHOWN,)),
    "id": show(id=SHOWN),
    "leg": replace(FINE, hits=(replace(HIT, legs={SHOWN: LegRank(1, 1.0)}),)),
    "definition": replace(
        FINE,
        hits=(replace(HIT, definitions=(Definition("x", SHOWN, (), "valves.md", 0, 9),)),),
    ),
    "others": replace(FINE, others=(replace(CHUNK, id="v2", text=SHOWN),)),
}


@pytest.mark.parametrize("where", LEAKS)
def test_a_word_of_what_may_not_be_read_is_a_leak_wherever_it_stands(where):
    collection = make(READABLE, SECRET)
    with pytest.raises(LeakError, match="leak: query q0 shows a word in ") as raised:
        search(Foreign(LEAKS[where]), collection, collection.queries[0], 10)
    assert MARK not in str(raised.value).casefold()


def test_words_that_may_be_read_or_were_asked_are_no_leak():
    collection = make(READABLE, SECRET)
    told = "lookup: pipe, flow; 0.5 of valves"
    ranking = replace(FINE, trace=(replace(STEP, note=told, counts={"lookups": 1}),))
    assert search(Foreign(ranking), collection, collection.queries[0], 10) == ranking
    collection = make(READABLE, SECRET)
    query = replace(collection.queries[0], text=f"the {SHOWN}?")
    assert search(Foreign(LEAKS["note"]), collection, query, 10) == LEAKS["note"]
