"""What `assay choose` tries, one stage after the other, on top of the best so far."""

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

# The config of a point.
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
    """Settings that a stage tries; `words` say what they change."""

    point: Point
    words: str


# What differs from the base config: the candidate of each stage, in the order they were laid.
Layers = Mapping[str, Candidate]


def lay(layers: Layers, stage: str, item: Candidate) -> Layers:
    """Return `item` laid on others, in place of that of its own stage.

    Where it says which legs there are, others that say so go, and what a leg alone has no use for.
    """
    replaced = {stage}
    if MODE in item.point:
        replaced |= {LEGS} if item.point[MODE] == "hybrid" else {LEGS, *OF_BOTH}
    kept = {name: one for name, one in layers.items() if name not in replaced}
    return {**kept, stage: item}


def merge(layers: Layers) -> Point:
    """Return the settings of all layers; a later stage has the last word, whenever it was laid."""
    found = {
        key: value
        for name in sorted(layers, key=ORDER.index)
        for key, value in layers[name].point.items()
    }
    if found.get(MODE) == "hybrid":
        del found[MODE]
    return found


def embeds(point: Point) -> bool:
    """Whether a dense leg reads other texts than the base's."""
    changed = any(key.startswith("documents.") or key == WINDOWS for key in point)
    return changed and point.get(MODE) != "keyword"


@dataclass(frozen=True, slots=True)
class TextFacts:
    """What the documents allow to be tried, told without a judgment.

    `cut`: a chunker cuts some of them; `parted`: some have several chunks; `headed`: some chunk has
    a heading above it; `shipped`: contexts come with the collection; `unread`: a dense leg does not
    read so many chunks to their end.
    """

    cut: bool
    parted: bool
    headed: bool
    shipped: bool
    unread: int


def inspect(config: RunConfig, documents: Sequence[Any], resources: Resources) -> TextFacts:
    """Return what the documents of a collection allow. Raises AssayError where none has text."""
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
    """Yield each stage's name and what it tries; each is laid on the best of the stages before."""
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
