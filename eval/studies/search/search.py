"""Search for one query on the collection of a config, with the work of every step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.in_memory import gather_unjudged
from assay.eval.collections.loading import load_unjudged
from assay.eval.collections.permissions import find_allowed
from assay.eval.configs.config import RunConfig
from assay.eval.configs.resources import make_resources
from assay.eval.running.sources import is_bare, open_source
from assay.eval.runs.execution import searching
from assay.eval.runs.json_form import in_json, length, maybe, shape
from assay.retrievers.base import Definition, Hit, Ranking, Retriever, StageTrace
from assay.retrievers.base.chunk_neighborhood import ChunkNeighborhood
from assay.retrievers.documents.conversion.converters import AnyConverter
from assay.retrievers.pipeline import telemetry
from assay.retrievers.pipeline.chunk_context import NeighborhoodReader
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Resources
from assay.retrievers.stages.context import assemble


class Step(NamedTuple):
    """A step of the search, with the numbers of its input and output candidates.

    Legs have no input, and steps on the query have neither.
    """

    trace: StageTrace
    came_in: int | None
    went_out: int | None


class FoundHit(NamedTuple):
    """A hit with its rank, and the neighborhood of its chunk, as far as known."""

    rank: int
    hit: Hit
    around: ChunkNeighborhood | None

    @property
    def title(self) -> str:
        """The title of the document, else of the chunk."""
        return self.around.title if self.around else self.hit.chunk.title

    @property
    def definitions(self) -> list[tuple[Definition, str]]:
        """The definitions of terms of the chunk, each with its section."""
        found = self.hit.definitions
        sections = self.around.defined_in if self.around else [""] * len(found)
        return list(zip(found, sections, strict=True))


@in_json(
    "collection",
    "query",
    "context",
    config="pipeline",
    found=length("ranking.hits"),
    hits=shape(
        "hits",
        "rank",
        "title",
        spread=("hit.chunk", "hit", "around"),
        but=("anchors", "parent", "level", "chunk", "pinned", "defined_in"),
        level=maybe("around.level"),
        definitions=shape("definitions", spread=("0",), section_id="1"),
    ),
    trace=shape(
        "steps",
        spread=("trace",),
        but=("candidates", "waited", "cpu_milliseconds"),
        out="went_out",
        **{"in": "came_in"},
    ),
    degraded="ranking.degraded",
)
@dataclass(frozen=True)
class SearchAnswer:
    """The result of a search.

    Attributes:
        pipeline: The name of the pipeline.
        collection: The name of the collection.
        query: The text of the query.
        ranking: The ranking.
        k: The number of hits to show.
        context: The context for a prompt; None if not requested.
        neighborhoods: The neighborhoods of the hits to show, by chunk id, as far as known.
    """

    pipeline: str
    collection: str
    query: str
    ranking: Ranking
    k: int
    context: str | None
    neighborhoods: Mapping[str, ChunkNeighborhood] = field(default_factory=dict)

    @property
    def shown(self) -> list[tuple[int, Hit]]:
        """The hits to show, each with its rank."""
        return list(enumerate(self.ranking.hits[: self.k], start=1))

    def steps(self) -> list[Step]:
        """Return the steps of the search in order."""
        found: set[str] = set()
        steps = []
        for step in self.ranking.trace:
            ids = {id_ for id_, _ in step.candidates}
            if step.kind == "query":
                steps.append(Step(step, None, None))
                continue
            steps.append(Step(step, None if step.kind == "leg" else len(found), len(ids)))
            found = found | ids if step.kind == "leg" else ids
        return steps

    @property
    def hits(self) -> list[FoundHit]:
        """The hits to show, with their neighborhoods."""
        around = self.neighborhoods
        return [FoundHit(rank, hit, around.get(hit.chunk.id)) for rank, hit in self.shown]


def search(settings: RunConfig, asked: Query, k: int, context: bool) -> SearchAnswer:
    """Search the collection of `settings` for `asked`, twice, and return the second search.

    The second search is made with models loaded, and no answer comes from a cache. A folder or file
    of documents without a card is searched too. Raises AssayError, for example for a filter or a
    principal that the card does not know.

    With `context` the result has the context for a prompt: the hits that the stage `context` keeps,
    or without that stage the first `k` hits.
    """
    resources = make_resources()
    collection = open_collection(settings.dataset, resources, settings.documents.converter)
    with settings.build(resources) as retriever:
        searching.index(retriever, collection)
        with telemetry.silence():
            searching.search(retriever, collection, asked, 1)
        uncached = retriever.without_query_cache()
        ranking = searching.search(uncached, collection, asked, max(k, settings.depth))
        hits, references = ranking.hits[:k], settings.documents.references
        around = read_neighborhoods(
            retriever, collection, asked, hits, resources, references=references
        )
    recipe = settings.retriever
    stages = recipe.stages if isinstance(recipe, PipelineSettings) else []
    budgeted = any(stage.type == "context" for stage in stages)
    assembled = assemble(ranking.hits if budgeted else ranking.hits[:k]) if context else None
    return SearchAnswer(settings.name, collection.name, asked.text, ranking, k, assembled, around)


def open_collection(
    reference: str, resources: Resources, converter: AnyConverter | None = None
) -> Collection:
    """Return the collection that `reference` names, or the documents of a bare folder or file.

    Its queries and judgments are not read, because a search does not use them.
    """
    if not is_bare(reference):
        return load_unjudged(reference, resources.progress)
    source = open_source(reference, resources, converter)
    return gather_unjudged(source.documents, source.name)


def read_neighborhoods(
    retriever: Retriever,
    collection: Collection,
    asked: Query,
    hits: Sequence[Hit],
    resources: Resources,
    *,
    references: bool,
) -> dict[str, ChunkNeighborhood]:
    """Return the neighborhoods of `hits` by chunk id; {} if `retriever` lists no chunks.

    Chunks that `asked` may not find are left out. Cross-references are read if `references`.
    """
    chunks, documents = retriever.list_chunks(), collection.documents
    if not (chunks and hits):
        return {}
    if (allowed := find_allowed(collection.card, asked)) is not None:
        documents = [item for item in documents if allowed.matches(item.metadata)]
        held = {item.id for item in documents}
        chunks = [chunk for chunk in chunks if chunk.doc_id in held]
    reader = NeighborhoodReader(chunks, documents, resources, references)
    found = ((hit.chunk.id, reader.read(hit)) for hit in hits)
    return {id_: around for id_, around in found if around is not None}
