"""A small stored run with hostile texts in it, made through the real path."""

import re
import time
from dataclasses import replace

from assay.eval.collections.card import Card
from assay.eval.collections.collection import Collection, GoldItem, Query
from assay.eval.runs.execution.execution import RunSpec, execute
from assay.eval.runs.latency import LatencySettings
from assay.retrievers.base import (
    Chunk,
    Document,
    Hit,
    IndexReport,
    LegRank,
    Quiet,
    Ranking,
    Retriever,
    StageTrace,
)

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
DOCUMENTS = {
    "tides.md": "Spring tides come at new moon.\n\nNeap tides come at the quarters of the moon.\n\n"
    "A tide table gives heights in metres above chart datum.",
    "lamps.md": "The 🔦 lamp of the 🗼 lighthouse turns once in ten seconds.\n\n"
    "Its bulb is changed every spring by the keeper.",
    f"evil{HOSTILE}.md": f"A page about injection: {HOSTILE} and what comes after it.\n\n"
    "Escape every text | injection in `code` or *stars* too.",
    "ropes.md": "A bowline makes a loop that holds.\n\nWet ropes are coiled loosely and dried.",
    "boats.md": "Boats are hauled out in autumn.\n\n"
    + "The hull is scraped and painted. " * 40
    + "At last the anode is replaced.",
}
# Query: text, type, and the judged quotes with their grades.
QUERIES = {
    "q1": ("when do spring tides come", "moon", [("Spring tides come at new moon.", 2)]),
    "q2": ("how often does the lighthouse lamp turn", "light", [("turns once in ten seconds", 1)]),
    "q3": (f"injection {HOSTILE}", "a|b", [("what comes after it", 1), ("Escape every text", 0)]),
    "q4": (
        "knot with a loop",
        "moon",
        [("A bowline makes a loop", 3), ("Wet ropes are coiled", 1)],
    ),
    "q5": ("hull scraped painted anode", "boats", [("the anode is replaced", 1)]),
    "q6": ("outage of the tide table", "moon", [("heights in metres", 1)]),
    "q7": ("xylophone", "none", [("dried", 1)]),
    "q/8 + &": ("spring", "light", [("changed every spring", 1), ("Spring tides", 1)]),
}


def drop_types(run):
    """Return the run as of queries without types."""
    untyped = {id_: replace(query, type="") for id_, query in run.queries.items()}
    return replace(run, queries=untyped)


def make_run(folder, *, name="two_legs", legs=("words", "letters"), limit=None, timed=5):
    """Return a run of the sample collection, stored below `folder`."""
    plan = RunSpec(
        name,
        {
            "description": f"{' and '.join(legs)}, fused",
            "retriever": {"type": "sample", "legs": {leg: {"depth": 100} for leg in legs}},
        },
        depth=100,
        limit=limit,
        latency=LatencySettings(queries=timed, warm_up=1, concurrency=2),
    )
    return execute(plan, TwoLegs(legs), make_collection(), folder, Quiet()).run


def make_collection():
    """Return the sample collection."""
    return Collection(
        name="harbour",
        title=f"Harbour notes {HOSTILE}",
        documents=tuple(Document(id_, text, title=id_) for id_, text in DOCUMENTS.items()),
        queries=tuple(Query(id_, text, kind) for id_, (text, kind, _) in QUERIES.items()),
        gold={
            id_: tuple(_find(id_, quote, grade) for quote, grade in quotes)
            for id_, (_, _, quotes) in QUERIES.items()
        },
        card=Card(name="harbour", title="Harbour notes", licence="CC0-1.0", format="native"),
    )


class TwoLegs(Retriever):
    """Words and groups of letters over rank-bm25, fused by reciprocal rank."""

    def __init__(self, legs):
        self._analysers = {name: ANALYSERS[name] for name in legs}

    def index(self, documents):
        from rank_bm25 import BM25Okapi

        begin = time.perf_counter()
        chunks = [chunk for document in documents for chunk in _cut(document)]
        self._chunks = sorted(chunks, key=lambda chunk: chunk.id, reverse=True)
        self._legs = {
            name: BM25Okapi([analyse(chunk.searchable) for chunk in self._chunks])
            for name, analyse in self._analysers.items()
        }
        seconds = {"chunk": 0.5, "index": time.perf_counter() - begin}
        return IndexReport(len(chunks), seconds, 12_345, ("chunk",))

    def search(self, query, k):
        trace, placed = [], {}
        for name, analyse in self._analysers.items():
            begin = time.perf_counter()
            scores = self._legs[name].get_scores(analyse(query))
            order = sorted(range(len(scores)), key=lambda i: -scores[i])
            order = [i for i in order if scores[i] > 0]
            for rank, i in enumerate(order, start=1):
                placed.setdefault(i, {})[name] = LegRank(rank, float(scores[i]))
            listed = tuple((self._chunks[i].id, float(scores[i])) for i in order)
            taken = (time.perf_counter() - begin) * 1000
            trace.append(StageTrace(name, "leg", taken, listed))
        begin = time.perf_counter()
        hits = [
            Hit(self._chunks[i], sum(1 / (60 + place.rank) for place in legs.values()), legs)
            for i, legs in placed.items()
        ]
        hits.sort(key=lambda hit: -hit.score)
        listed = tuple((hit.chunk.id, hit.score) for hit in hits)
        taken = (time.perf_counter() - begin) * 1000
        trace.append(StageTrace("fusion", "fusion", taken, listed, f"fused {len(hits)}"))
        degraded = ("letters: index down <b>",) if "outage" in query else ()
        return Ranking(tuple(hits[:k]), tuple(trace), degraded=degraded)


def _words(text):
    return re.findall(r"\w+", text.lower()) or [""]


def _letters(text):
    return [word[i : i + 4] for word in _words(text) for i in range(max(1, len(word) - 3))]


def _initials(text):
    return [word[0] for word in _words(text) if word]


def _endings(text):
    return [word[-1] for word in _words(text) if word]


ANALYSERS = {
    "words": _words,
    "letters": _letters,
    "initials": _initials,
    "endings": _endings,
}


def _cut(document):
    return [
        Chunk(
            f"{document.id}#{part.start()}",
            document.id,
            part.start(),
            part.end(),
            part.group(),
            headings=(document.id, "Notes"),
        )
        for part in re.finditer(r"(?s).+?(?:\n\n|$)", document.text)
    ]


def _find(query_id, quote, grade):
    id_, start = next((id_, text.index(quote)) for id_, text in DOCUMENTS.items() if quote in text)
    end = start + len(quote)
    return GoldItem(query_id, f"{id_}[{start}:{end}]", id_, start, end, grade)
