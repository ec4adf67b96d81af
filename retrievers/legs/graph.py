"""The graph leg: from the best chunks of other legs along links, references and relations."""

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from assay.retrievers.base import Chunk, IndexReport
from assay.retrievers.base.stopwatch import Stopwatch
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.references.links import DocumentNames, LinkKind, find_links
from assay.retrievers.fusion.fusion import RrfSettings
from assay.retrievers.fusion.ranking import Positions, Scored, ordered
from assay.retrievers.legs.base import Kind, Leg, LegResult, LegSettings
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.store.cache import Folder
from assay.retrievers.store.digest import digest

Edge = tuple[int, int, LinkKind]  # positions of two chunks, and how one points at the other

REVISION = 1  # raise it when other edges come to be found
EDGES = "edges.json"
SHOWN = 5  # most edges named in a note


class EdgeWeights(Settings):
    """The share of a chunk's score that an edge carries; 0 leaves edges of its kind out.

    Related documents, wikilinks and transclusions are made by someone who says that the two belong
    together; references and links also point at definitions and procedure in passing.
    """

    related: float = Field(1.0, ge=0, description="a document that the frontmatter calls related")
    wikilink: float = Field(1.0, ge=0, description="[[name]]")
    transclusion: float = Field(1.0, ge=0, description="![[name]]")
    reference: float = Field(0.5, ge=0, description="a cross-reference such as § 4.2")
    link: float = Field(0.5, ge=0, description="a Markdown link to another document or heading")

    @model_validator(mode="after")
    def _counts_some(self) -> "EdgeWeights":
        if not any(self.model_dump().values()):
            raise ValueError("0 for every kind of edge, so that nothing could be found")
        return self


class GraphLegSettings(LegSettings):
    """Chunks that the best chunks of the legs before point at: links, references, relations."""

    kind: ClassVar[Kind] = "graph"
    type: Literal["graph"]
    weights: EdgeWeights = Field(
        default_factory=EdgeWeights, description="how much of a score an edge of each kind carries"
    )
    seeds: int = Field(
        5, ge=1, description="how many of the best chunks of the legs before, fused, are followed"
    )
    hops: int = Field(1, ge=1, le=2, description="how many edges in a row are followed")
    decay: float = Field(0.5, gt=0, le=1, description="what the second hop counts beside the first")

    def build(self, resources: Resources) -> "GraphLeg":
        """Return the leg, which has indexed nothing yet."""
        return GraphLeg(self, resources)


class GraphLeg(Leg):
    """Scores a chunk by the sum of seed score × weight over the edges that lead to it.

    A seed's score is that of reciprocal rank fusion over the legs before. Between two chunks there
    is one edge, the heaviest.
    """

    def __init__(self, settings: GraphLegSettings, resources: Resources) -> None:
        self._settings = settings
        self._resources = resources
        self._chunks: Sequence[Chunk] = ()
        self._edges: Mapping[int, Mapping[int, LinkKind]] = {}
        self._weights: Mapping[str, float] = settings.weights.model_dump()
        self._allowed: frozenset[int] | None = None

    def index(self, corpus: Corpus) -> IndexReport:
        """Find the edges between the chunks, or find this done in the cache."""
        folder, edges = load_edges(corpus, self._resources)
        self._chunks = corpus.chunks
        self._edges = self._choose(edges)
        return IndexReport(
            chunks=len(corpus.chunks),
            seconds={"graph": folder.seconds},
            bytes=(folder.path / EDGES).stat().st_size,
            cached=("graph",) if folder.cached else (),
        )

    def search(self, query: str, depth: int) -> LegResult:
        """Return nothing: a query leads nowhere before other legs have found chunks."""
        return LegResult([], {"search": 0.0})

    def follow(self, query: str, depth: int, found: Mapping[str, Sequence[Scored]]) -> LegResult:
        """Return the chunks that the best chunks `found` point at."""
        watch = Stopwatch()
        reached = RrfSettings().fuse(found)[: self._settings.seeds]
        scores: dict[int, float] = {}
        steps: list[tuple[float, int, int]] = []
        for hop in range(self._settings.hops):
            carried: dict[int, float] = {}
            for position, score in reached:
                for target, kind in self._edges.get(position, {}).items():
                    if self._allowed is not None and target not in self._allowed:
                        continue
                    share = score * self._weights[kind] * self._settings.decay**hop
                    carried[target] = carried.get(target, 0.0) + share
                    steps.append((-share, position, target))
            for target, score in carried.items():
                scores[target] = scores.get(target, 0.0) + score
            reached = list(carried.items())
        candidates = ordered(scores.items())[:depth]
        note = "; ".join(self._tell(source, target) for _, source, target in sorted(steps)[:SHOWN])
        watch.stop("search")
        return LegResult(candidates, watch.wall, note, cpu=watch.cpu)

    def restrict(self, allowed: Positions) -> Leg:
        """Return the same leg, whose paths keep to the chunks at `allowed`."""
        other = copy.copy(self)
        other._allowed = frozenset(allowed.tolist())
        return other

    def _choose(self, edges: Sequence[Edge]) -> dict[int, dict[int, LinkKind]]:
        """Return the heaviest edge from each chunk to each, of those that carry anything."""
        chosen: dict[int, dict[int, LinkKind]] = {}
        for source, target, kind in sorted(edges, key=lambda edge: self._weights[edge[2]]):
            if self._weights[kind]:
                chosen.setdefault(source, {})[target] = kind
        return chosen

    def _tell(self, source: int, target: int) -> str:
        kind = self._edges[source][target]
        return f"{_label(self._chunks[source])} → {_label(self._chunks[target])} ({kind})"


def load_edges(corpus: Corpus, resources: Resources) -> tuple[Folder, list[Edge]]:
    """Return the edges between the chunks from the cache, where they are kept, and its folder."""

    def make(folder: Path) -> None:
        (folder / EDGES).write_text(json.dumps(sorted(find_edges(corpus))))

    def read(folder: Path) -> list[Edge]:
        edges: list[Edge] = json.loads((folder / EDGES).read_text())
        return edges

    return resources.cache.load("graph", _key(corpus), make, read)


def find_edges(corpus: Corpus) -> set[Edge]:
    """Return an edge for each chunk that points at another, once for each kind of pointer."""
    titles = [
        (id_, title)
        for id_, document in corpus.documents.items()
        for about in (corpus.frontmatter[id_],)
        for title in {document.title, about.title, *about.aliases} - {""}
    ]
    pointers = find_links(corpus.structures, DocumentNames(corpus.documents, titles))
    spans = _Spans(corpus)
    return {
        (source, target, pointer.kind)
        for pointer in pointers
        for source in spans.find(pointer.doc_id, pointer.start, pointer.end)
        for target in spans.find(pointer.target.doc_id, pointer.target.start, pointer.target.end)
        if source != target
    }


class _Spans:
    """The spans of the chunks of each document."""

    def __init__(self, corpus: Corpus) -> None:
        chunks = corpus.chunks
        self._arrays = {
            doc_id: np.array([(i, chunks[i].start, chunks[i].end) for i in positions]).T
            for doc_id, positions in corpus.by_document.items()
        }

    def find(self, doc_id: str, start: int, end: int) -> Sequence[int]:
        """Return the chunks that share with a span at least half of the shorter.

        Where none does, that is the first chunk which ends after `start`, if there is one.
        """
        if doc_id not in self._arrays:
            return []
        positions, starts, ends = self._arrays[doc_id]
        shared = np.minimum(ends, end) - np.maximum(starts, start)
        held = (shared > 0) & (2 * shared >= np.minimum(ends - starts, end - start))
        found: list[int] = positions[
            held if held.any() else np.flatnonzero(ends > start)[:1]
        ].tolist()
        return found


def _label(chunk: Chunk) -> str:
    heading = chunk.title or (chunk.headings[-1] if chunk.headings else "")
    return f"{chunk.doc_id} › {heading}" if heading else chunk.doc_id


def _key(corpus: Corpus) -> str:
    return digest(
        REVISION,
        [(chunk.doc_id, chunk.start, chunk.end) for chunk in corpus.chunks],
        {id_: [document.title, document.text] for id_, document in corpus.documents.items()},
    )
