"""The legs of one pipeline: indexed and searched one after the other; some may be left out."""

import copy
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from assay.retrievers.base import AssayError, Hit, IndexReport, LegRank, StageTrace
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.fusion.fusion import RrfSettings
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.legs.base import Leg, LegResult, LegSettings
from assay.retrievers.legs.leg_query import LegQuery

# How much more is asked for than the share of chunks that may be found calls for, and how much more
# each time that this was too little.
MARGIN, GROWTH = 1.5, 4
UNPLACED: Mapping[str, LegRank] = MappingProxyType({})


class LegGroup:
    """Legs by name. A keyword leg that fails is left out if a semantic leg remains.

    `down` has in words, by name, the failures of legs that could not be indexed.
    """

    def __init__(
        self, settings: Mapping[str, LegSettings], build: Callable[[LegSettings], Leg]
    ) -> None:
        self.down: dict[str, str] = {}
        self._settings = settings
        self._legs = {name: build(leg) for name, leg in settings.items()}
        self._corpus = Corpus(())

    def index(self, corpus: Corpus, warn: Callable[[str], None]) -> IndexReport:
        """Index `corpus` in each leg; the stages of each are reported with its name before them."""
        self._corpus = corpus
        self.down = {}
        seconds: dict[str, float] = {}
        cached: list[str] = []
        size = 0
        billed: dict[str, Any] = {}
        for name, leg in self._legs.items():
            try:
                report = leg.index(corpus)
            except Exception as error:
                self.down[name] = self._do_without(name, "built", error)
                warn(self.down[name])
                continue
            seconds |= {f"{name}.{step}": taken for step, taken in report.seconds.items()}
            cached += [f"{name}.{step}" for step in report.cached]
            size += report.bytes
            if "billed" in report.facts:
                billed[name] = report.facts["billed"]
        facts = {"billed": billed} if billed else {}
        return IndexReport(len(corpus.chunks), seconds, size, tuple(cached), facts)

    def search(
        self, request: LegQuery, down: dict[str, str], depth: int | None = None
    ) -> dict[str, LegResult]:
        """Return the result of each leg that is not `down`, to its own depth or to `depth`.

        A leg that fails, and can be left out, joins `down`.
        """
        results: dict[str, LegResult] = {}
        found: dict[str, Sequence[Scored]] = {}
        for name in self._legs:
            if name in down:
                continue
            wanted = depth or self._settings[name].depth
            try:
                if request.allowed is None:
                    result = self._search(name, self._legs[name], request, wanted, found)
                else:
                    result = self._search_allowed(name, request, request.allowed, wanted, found)
            except Exception as error:
                down[name] = self._do_without(name, "asked", error)
                continue
            results[name] = result
            if request.factors.get(name, 1.0):  # else it counts nowhere, not as a start of paths
                found[name] = result.candidates
        return results

    def trace(self, results: Mapping[str, LegResult], *, named: bool = True) -> list[StageTrace]:
        """Return the steps that gave `results`, each with the candidates `named` or not."""
        return [
            entry for name, result in results.items() for entry in self._trace(name, result, named)
        ]

    def rank(self, fused: Sequence[Scored]) -> tuple[Hit, ...]:
        """Return `fused` as hits, without the places that they had in lists."""
        chunks = self._corpus.chunks
        return tuple(Hit(chunks[position], score, UNPLACED) for position, score in fused)

    def place(self, fused: Sequence[Scored], results: Mapping[str, LegResult]) -> list[Hit]:
        """Return `fused` as hits, each with its place in the lists of `results` that hold it."""
        chunks = self._corpus.chunks
        if len(results) == 1:  # nothing was fused
            ((name, result),) = results.items()
            if fused is result.candidates:
                return [
                    Hit(chunks[position], score, {name: LegRank(rank, score)})
                    for rank, (position, score) in enumerate(fused, start=1)
                ]
        placed: dict[int, dict[str, LegRank]] = {position: {} for position, _ in fused}
        for name, result in results.items():
            for rank, (position, score) in enumerate(result.candidates, start=1):
                placed[position][name] = LegRank(rank, score)
        return [Hit(chunks[position], score, placed[position]) for position, score in fused]

    def beside(self, positions: Sequence[int]) -> list[list[int]] | None:
        """Return the neighbors of each position from the first leg whose store has links."""
        told = (leg.beside(positions) for name, leg in self._legs.items() if name not in self.down)
        return next((links for links in told if links is not None), None)

    def without_query_cache(self) -> "LegGroup":
        """Return the same legs, on the same indexes, with every per-query cache off."""
        other = copy.copy(self)
        other._legs = {name: leg.without_query_cache() for name, leg in self._legs.items()}
        return other

    @property
    def nondeterministic(self) -> bool:
        """True if any leg is nondeterministic."""
        return any(leg.nondeterministic for leg in self._legs.values())

    def metadata(self) -> dict[str, Mapping[str, Any]]:
        """Return the facts of each leg."""
        return {name: leg.metadata() for name, leg in self._legs.items()}

    def close(self) -> None:
        """Close every leg."""
        for leg in self._legs.values():
            leg.close()

    def _search_allowed(
        self,
        name: str,
        request: LegQuery,
        allowed: frozenset[int],
        depth: int,
        found: Mapping[str, Sequence[Scored]],
    ) -> LegResult:
        """Return the best `depth` of the chunks that may be found.

        A leg that cannot leave out the others is asked for more, in growing steps, until it has
        returned enough allowed chunks or has no more; its count `asked` is the number requested in
        all. Its note and other counts also cover the forbidden chunks and are therefore dropped.
        """
        leg, size = self._legs[name], len(self._corpus.chunks)
        restricted = leg.restrict(np.array(sorted(allowed), np.intp))
        if restricted is not None:
            return self._search(name, restricted, request, depth, found)
        results: list[LegResult] = []

        def search(step: int) -> Sequence[Scored]:
            results.append(self._search(name, leg, request, step, found))
            return results[-1].candidates

        kept, asked = over_fetch(search, allowed, depth, size)
        return replace(_add(results), candidates=kept, note="", counts={"asked": asked})

    def _search(
        self,
        name: str,
        leg: Leg,
        request: LegQuery,
        depth: int,
        found: Mapping[str, Sequence[Scored]],
    ) -> LegResult:
        """Return the result of a leg for the query and its variants, if there are any."""
        settings = self._settings[name]
        if request.passages and settings.by_vector:
            result = leg.search_near(request.ask(name), request.passages, depth)
        else:
            ask = leg.follow if depth <= settings.depth else leg.deepen
            result = ask(request.ask(name), depth, found)
        if not request.variants or settings.kind == "graph":  # which goes by what others found
            return result
        others = [leg.follow(variant, depth, found) for variant in request.variants]
        return _fuse([result, *others], request.damping, depth)

    def _trace(self, name: str, result: LegResult, named: bool) -> list[StageTrace]:
        *before, (last, taken) = result.milliseconds.items()
        chunks, listed = self._corpus.chunks, result.candidates if named else ()
        candidates = tuple((chunks[i].id, score) for i, score in listed)
        return [
            *(
                StageTrace(f"{name}.{step}", "query", taken, cpu_milliseconds=result.cpu.get(step))
                for step, taken in before
            ),
            StageTrace(
                name,
                "leg",
                taken,
                candidates,
                result.note,
                result.counts,
                result.waited,
                result.cpu.get(last),
            ),
        ]

    def _do_without(self, name: str, what: str, error: Exception) -> str:
        """Return in words that the pipeline leaves out a leg that cannot be built or searched.

        Raises the leg's error unless it is a keyword leg and there is a semantic one.
        """
        if self._settings[name].kind != "keyword":
            raise error
        reason = " ".join(str(error).split()) or type(error).__name__
        problem = f"the keyword leg {name} cannot be {what}: {reason}"
        if all(leg.kind != "semantic" for leg in self._settings.values()):
            raise AssayError(f"{problem}; there is no semantic leg to search with") from error
        return f"{problem}; searched without it"


def _fuse(results: Sequence[LegResult], damping: int, depth: int) -> LegResult:
    """Return a leg's lists for several wordings as one; times and counts are those of all."""
    lists = {str(i): result.candidates for i, result in enumerate(results)}
    listed = [{position for position, _ in result.candidates} for result in results]
    return replace(
        _add(results),
        candidates=RrfSettings(k=damping).fuse(lists)[:depth],
        note=results[0].note,
        # A position that one wording identifies with certainty is certain.
        unboosted=frozenset(
            position
            for result in results
            for position in result.unboosted
            if all(
                position in other.unboosted or position not in found
                for other, found in zip(results, listed, strict=True)
            )
        ),
    )


def over_fetch(
    search: Callable[[int], Sequence[Scored]], allowed: Set[int], depth: int, size: int
) -> tuple[list[Scored], int]:
    """Return the best `depth` that are `allowed`, and the number requested of all `size`.

    `search` is asked for more, in growing steps, until it has returned enough or has no more.
    """
    asked = 0
    step = min(size, math.ceil(MARGIN * depth * size / max(len(allowed), 1)))
    while True:
        listed = search(step)
        kept = [scored for scored in listed if scored[0] in allowed]
        asked += step
        if len(kept) >= depth or len(listed) < step or step >= size:
            return kept[:depth], asked
        step = min(size, GROWTH * step)


def _add(results: Sequence[LegResult]) -> LegResult:
    """Return the last of several results of a leg, with the times and counts of all."""
    times: Counter[str] = Counter()
    cpu: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for result in results:
        times.update(result.milliseconds)
        cpu.update(result.cpu)
        counts.update(result.counts)
    waited = sum(result.waited for result in results)
    return replace(results[-1], milliseconds=times, cpu=cpu, counts=counts, waited=waited)
