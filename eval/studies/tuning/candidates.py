"""The candidates of `assay choose`, tried stage by stage on top of the best so far."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.eval.configs.config import RunConfig
from assay.eval.running.runner import PointTask
from assay.eval.running.search_space import Point
from assay.eval.studies.tuning.choice import LEGS
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.preparation import prepare
from assay.retrievers.legs.truncation import count_unread, find_window, list_encoders
from assay.retrievers.models.tokens import Tokenizer
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

# Makes the config of a point.
Configure = Callable[[Point], PointTask]

MODE = "retriever.mode"
CONTEXT = "documents.context.source"
CHUNKER = "documents.chunker"
WINDOWS = "retriever.legs.dense.windows"
FUSION = "retriever.fusion"
STAGES = "retriever.stages"
KEYWORD: Point = {MODE: "keyword"}
SEMANTIC: Point = {MODE: "semantic"}
RERANKER = "ms-marco-MiniLM-L-12-v2"
RERANK_DEPTHS = (10, 24)
SIZES = (400, 200)  # tokens of chunks
OF_BOTH = ("windows", "look-ups", "fusion")  # stages that need a dense and a keyword leg
RERANKING = "reranking"
ORDER = (LEGS, "contexts", "chunks", *OF_BOTH, RERANKING)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Settings that a stage tries; `words` describe the change."""

    point: Point
    words: str


# Differences from the base config: the candidate of each stage, in the order of application.
Layers = Mapping[str, Candidate]


def lay(layers: Layers, stage: str, item: Candidate) -> Layers:
    """Return the layers with `item` as the candidate of its stage.

    If it sets the mode of the legs, the candidate of the stage `legs` is removed, and for a single
    leg also those of the stages that need both legs.
    """
    replaced = {stage}
    if MODE in item.point:
        replaced |= {LEGS} if item.point[MODE] == "hybrid" else {LEGS, *OF_BOTH}
    kept = {name: one for name, one in layers.items() if name not in replaced}
    return {**kept, stage: item}


def merge(layers: Layers) -> Point:
    """Return the settings of all layers; a later stage in `ORDER` overrides earlier ones."""
    found = {
        key: value
        for name in sorted(layers, key=ORDER.index)
        for key, value in layers[name].point.items()
    }
    if found.get(MODE) == "hybrid":
        del found[MODE]
    return found


def embeds(point: Point) -> bool:
    """Return True if a dense leg reads other texts than in the base config."""
    changed = any(key.startswith("documents.") or key == WINDOWS for key in point)
    return changed and point.get(MODE) != "keyword"


def name_texts(point: Point) -> str:
    """Return a name for the texts that a dense leg reads: equal for candidates that share them."""
    changes = {
        key: value for key, value in point.items() if key.startswith("documents.") or key == WINDOWS
    }
    return digest(changes)


@dataclass(frozen=True, slots=True)
class TextFacts:
    """Facts about the documents that decide which candidates apply; they use no judgments.

    Attributes:
        cut: True if a chunker cuts some documents.
        parted: True if some document has several chunks.
        headed: True if some chunk has a heading above it.
        shipped: True if the collection has contexts.
        unread: The number of chunks that are longer than a dense leg reads.
    """

    cut: bool
    parted: bool
    headed: bool
    shipped: bool
    unread: int

    @classmethod
    def join(cls, facts: Sequence["TextFacts"]) -> "TextFacts":
        """Return the facts by which candidates apply to several collections.

        A candidate that one of them allows changes nothing on the others; but all need contexts of
        their own.
        """
        return cls(
            cut=any(item.cut for item in facts),
            parted=any(item.parted for item in facts),
            headed=any(item.headed for item in facts),
            shipped=all(item.shipped for item in facts),
            unread=sum(item.unread for item in facts),
        )


def inspect(config: RunConfig, documents: Sequence[Any], resources: Resources) -> TextFacts:
    """Return the facts about the documents of a collection. Raises AssayError if none has text."""
    assert isinstance(config.retriever, PipelineSettings)
    chunks = prepare(documents, config.documents, resources).chunks
    legs = [leg for leg in config.retriever.legs.values() if leg.cuts_short]
    tokenizer = Tokenizer(config.documents.tokenizer, resources)
    window = find_window(list_encoders(legs, resources))
    held = {item.id: item for item in documents}
    return TextFacts(
        cut=any(not item.passages for item in held.values()),
        parted=len({chunk.doc_id for chunk in chunks}) < len(chunks),
        headed=any(
            part and part != chunk.title
            for chunk in chunks
            for part in (held[chunk.doc_id].title, *chunk.headings)
        ),
        shipped=any(item.contexts for item in held.values()),
        unread=count_unread(Corpus(chunks).texts, window, tokenizer),
    )


def list_stages(text: TextFacts, rerank: bool) -> Iterator[tuple[str, Sequence[Candidate]]]:
    """Yield the name and the candidates of each stage, which build on the best so far."""
    sources = [
        *(["collection"] if text.shipped else []),
        *(["headings"] if text.headed else []),
        *(["opening"] if text.parted else []),
        *(["opening+headings"] if text.parted and text.headed else []),
    ]
    yield (
        "contexts",
        [
            Candidate({CONTEXT: source, MODE: mode}, f"context {source}{words}")
            for source in sources
            for mode, words in (("hybrid", ""), ("keyword", " of BM25 alone"))
        ],
    )
    size = {"type": "structure", "overlap_tokens": 50}
    yield (
        "chunks",
        [
            Candidate({CHUNKER: {**size, "max_tokens": tokens}}, f"chunks of {tokens} tokens")
            for tokens in SIZES
            if text.cut
        ],
    )
    read = Candidate({WINDOWS: "max"}, "long chunks read in parts (windows: max)")
    yield "windows", [read] if text.unread else []
    yield (
        "look-ups",
        [
            Candidate(
                {
                    "retriever.legs.exact": {"type": "exact", "depth": 100},
                    f"{FUSION}.boosts": {"exact": 10},
                },
                "sections and names put first (exact leg)",
            )
        ],
    )
    yield (
        "fusion",
        [
            *(
                Candidate({f"{FUSION}.weights": {"dense": weight}}, f"dense weight {weight:g}")
                for weight in (0.33, 0.5, 2.0, 3.0)
            ),
            Candidate({FUSION: {"type": "rrf", "k": 60}}, "reciprocal rank fusion"),
        ],
    )
    yield (
        RERANKING,
        [
            Candidate(
                {STAGES: [{"type": "rerank", "model": RERANKER, "depth": depth}]},
                f"the best {depth} reranked",
            )
            for depth in RERANK_DEPTHS
            if rerank
        ],
    )
