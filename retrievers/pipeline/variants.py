"""Many pipelines over the same documents that share chunks, indexes and the results of legs."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

from assay.retrievers.base import Document, IndexReport, Retriever
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.preparation import DocumentSettings, PreparedDocuments
from assay.retrievers.fusion.ranking import Positions, Scored
from assay.retrievers.legs.base import Leg, LegResult, LegSettings
from assay.retrievers.legs.leg_result_cache import LegResultCache, name_lists
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.pipeline.pipeline import Parts, Pipeline, PipelineSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest
from assay.retrievers.store.lazy_sequence import IdSequence

# Longer lists are asked for by probes, once a query; they would fill the memory.
MOST_REMEMBERED = 1000


class Variants(Parts):
    """Builds retrievers that answer as freshly built ones and do no work twice.

    Shared objects stay in memory until `close`, after which none of the retrievers may be used.

    - `expected`: the configs to be built, each once; a leg is closed with the last retriever of
      them that has it.
    - `code`: stands for the code and packages that decide the results of a leg; with it, the
      results of legs of expected configs that legs, a fusion or a stage follow are cached.
    - `timed`: True if the retrievers are to be timed; then none reuses words that another analysed.
    """

    def __init__(
        self,
        resources: Resources,
        expected: Iterable[PipelineConfig] = (),
        *,
        code: str = "",
        timed: bool = False,
    ) -> None:
        self.resources = resources
        self._code = code
        self._timed = timed
        pipelines = [
            config.retriever
            for config in expected
            if isinstance(config.retriever, PipelineSettings)
        ]
        self._expected = Counter(
            name_leg(leg) for pipeline in pipelines for leg in pipeline.active.values()
        )
        self._followed = {
            name_leg(leg)
            for pipeline in pipelines
            if len(pipeline.active) > 1 or pipeline.stages
            for leg in pipeline.active.values()
        }
        self._prepared: list[
            tuple[Sequence[Document], DocumentSettings, PreparedDocuments, Corpus]
        ] = []
        self._legs: dict[tuple[int, str], _IndexedLeg] = {}

    def build(self, config: PipelineConfig) -> Retriever:
        """Return the retriever of `config`, not yet indexed.

        To index it on documents and settings that were indexed before takes no time. A retriever
        that is not a pipeline of this package shares nothing.
        """
        if isinstance(config.retriever, PipelineSettings):
            return Pipeline(config.retriever, config.documents, self.resources, self)
        return config.build(self.resources)

    def prepare(
        self, documents: Sequence[Document], settings: DocumentSettings, resources: Resources
    ) -> tuple[PreparedDocuments, Corpus]:
        """Return the chunks of `documents`, which are cut once for the same settings.

        Documents on a shelf are those of that shelf alone, and stay there.
        """
        held = documents if isinstance(documents, IdSequence) else tuple(documents)
        for known, given, prepared, corpus in self._prepared:
            if given == settings and known == held:
                return replace(prepared, cached=True), corpus
        prepared, corpus = super().prepare(documents, settings, resources)
        self._prepared.append((held, settings, prepared, corpus))
        return prepared, corpus

    def build_leg(self, settings: LegSettings, resources: Resources) -> Leg:
        """Return a leg that finds its index here, once one of its settings has indexed."""
        return SharedLeg(settings, self)

    def find_leg(self, settings: LegSettings, corpus: Corpus) -> "_IndexedLeg":
        """Return the leg of these settings, apart from `depth`, indexed on `corpus`."""
        key = id(corpus), name_leg(settings)
        if key not in self._legs:
            leg = settings.build(self.resources)
            report = leg.index(corpus)
            kept = self._code and key[1] in self._followed
            name = name_lists(settings, leg, corpus, self._code) if kept else ""
            self._legs[key] = _IndexedLeg(
                corpus, leg, report, LegResultCache(self.resources.cache, name)
            )
            if self._timed:
                corpus.forget_analyzers()
            return self._legs[key]
        found = self._legs[key]
        return replace(found, report=replace(found.report, cached=tuple(found.report.seconds)))

    def release(self, settings: LegSettings) -> None:
        """Close and forget the leg of these settings where none that is expected needs it."""
        name = name_leg(settings)
        self._expected[name] -= 1
        if not self._expected[name]:
            for key in [key for key in self._legs if key[1] == name]:
                self._legs.pop(key).close()

    def close(self) -> None:
        """Close every leg and forget all."""
        for found in self._legs.values():
            found.close()
        self._legs.clear()
        self._prepared.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class _IndexedLeg:
    """A leg and its results. It holds the corpus, so that no other can take its identity."""

    corpus: Corpus
    leg: Leg
    report: IndexReport
    lists: LegResultCache

    def close(self) -> None:
        self.lists.keep()
        self.leg.close()


class SharedLeg(Leg):
    """A leg on an index that others use too; it remembers the results of queries.

    Remembered results have the milliseconds of the search that found them.
    """

    def __init__(self, settings: LegSettings, variants: Variants) -> None:
        self._settings = settings
        self._variants = variants
        self._indexed: _IndexedLeg | None = None

    def index(self, corpus: Corpus) -> IndexReport:
        """Take the index of `corpus`, or make it."""
        self._indexed = self._variants.find_leg(self._settings, corpus)
        return self._indexed.report

    def search(self, query: str, depth: int) -> LegResult:
        """Return the remembered results, or let the leg search."""
        return self._remember((query,), depth, partial(self._own.leg.search, query))

    def search_near(self, query: str, passages: Sequence[str], depth: int) -> LegResult:
        """Return the remembered results, or let the leg search."""
        search = partial(self._own.leg.search_near, query, passages)
        return self._remember((query, *passages), depth, search)

    def follow(self, query: str, depth: int, found: Mapping[str, Sequence[Scored]]) -> LegResult:
        """Remember what depends on the query alone; let the leg itself follow other legs."""
        if type(self._own.leg).follow is Leg.follow:
            return self.search(query, depth)
        return self._own.leg.follow(query, depth, found)

    def restrict(self, allowed: Positions) -> Leg | None:
        """Return the leg itself for some of the chunks; what it finds is not remembered."""
        return self._own.leg.restrict(allowed)

    def beside(self, positions: Sequence[int]) -> list[list[int]] | None:
        """Return the leg's neighbours of each position."""
        return self._own.leg.beside(positions)

    def without_query_cache(self) -> Leg:
        """Return the leg itself, which searches each time."""
        return self._own.leg.without_query_cache() if self._indexed else self

    def close(self) -> None:
        """Let go of the index, which others may need."""
        self._indexed = None
        self._variants.release(self._settings)

    @property
    def nondeterministic(self) -> bool:  # type: ignore[override]
        """True if the leg is nondeterministic; known after `index`."""
        return self._indexed is not None and self._indexed.leg.nondeterministic

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts of the leg."""
        if self._indexed is None:
            return self._settings.build(self._variants.resources).metadata()
        return self._indexed.leg.metadata()

    def _remember(
        self, texts: tuple[str, ...], depth: int, search: Callable[[int], LegResult]
    ) -> LegResult:
        if depth > MOST_REMEMBERED:
            return search(depth)
        asked = texts, 0 if self._settings.prefix_stable else depth
        return self._own.lists.take(asked, depth, search)

    @property
    def _own(self) -> _IndexedLeg:
        assert self._indexed is not None, "search before index"
        return self._indexed


def name_leg(settings: LegSettings) -> str:
    """Return the digest that legs with a common index share: of all settings but `depth`."""
    return digest(settings.model_dump(mode="json", exclude={"depth"}))
