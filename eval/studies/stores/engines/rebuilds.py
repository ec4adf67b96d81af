"""An index that is built again: whether its rankings are the same, and what the engine says."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args

from assay.eval.configs.engine_settings import ConfiguredEngine
from assay.eval.studies.stores.engines.engine_bench import Bench
from assay.eval.studies.stores.engines.inventory import open_server
from assay.retrievers.base import AssayError
from assay.retrievers.conformance import ConformanceError, check_rules
from assay.retrievers.engines.capabilities import Search
from assay.retrievers.engines.conformance import RULES
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

DEPTH = 100  # hits a query asks for
HEAD = 10  # of them, those that most measures look at
EQUAL = 1e-5  # relative difference of scores that are equal but for rounding

Verdict = Literal["exact", "same but for ties", "moves"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)  # from the best to the worst
Answers = Mapping[Search, Mapping[str, Sequence[Scored]]]  # by search and query id


@dataclass(frozen=True, slots=True)
class SearchRebuild:
    """One search on every build: queries whose ranking differs, and in its first ten."""

    search: Search
    verdict: Verdict
    moved: int
    moved_in_head: int


@dataclass(frozen=True, slots=True)
class EngineConformance:
    """An engine by every rule, and its index built again.

    `broken` has what is wrong by the name of the rule, `reproducible` is what the engine says of
    itself with these settings.
    """

    engine: str
    rules: int
    broken: Mapping[str, str]
    reproducible: bool
    queries: int
    builds: int
    searches: tuple[SearchRebuild, ...]

    @property
    def untrue(self) -> bool:
        """Whether it says that it is reproducible, and is not."""
        return self.reproducible and any(each.verdict != "exact" for each in self.searches)

    @property
    def failed(self) -> bool:
        """Whether a rule is broken, or what it says is untrue."""
        return bool(self.broken) or self.untrue

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {**asdict(self), "failed": self.failed}


def examine_conformance(
    bench: Bench, configured: ConfiguredEngine, builds: int, resources: Resources
) -> EngineConformance:
    """Check an engine by every rule, and compare `builds` indexes of the bench, each made cold.

    Raises AssayError where the engine cannot be used.
    """
    reproducible, answers = _build_again(bench, configured, builds, resources)
    return EngineConformance(
        engine=configured.label,
        rules=len(RULES),
        broken=_check_rules(configured),
        reproducible=reproducible,
        queries=len(bench.asked),
        builds=builds,
        searches=tuple(
            compare_builds(search, [each[search] for each in answers]) for search in answers[0]
        ),
    )


def compare_builds(
    search: Search, builds: Sequence[Mapping[str, Sequence[Scored]]]
) -> SearchRebuild:
    """Compare the rankings of each build after the first with those of the first."""
    first, *others = builds
    verdicts = [judge(first[query], other[query]) for other in others for query in first]

    def count(depth: int | None) -> int:
        return sum(
            any(_texts(other[query][:depth]) != _texts(first[query][:depth]) for other in others)
            for query in first
        )

    worst = max(verdicts, key=VERDICTS.index, default=VERDICTS[0])
    return SearchRebuild(search, worst, count(None), count(HEAD))


def judge(one: Sequence[Scored], other: Sequence[Scored]) -> Verdict:
    """Return how two rankings of one query differ.

    They are the same but for ties where the scores at each rank are equal but for rounding, and so
    are those of a text wherever it stands; what only one has must tie with the last of the other.
    """
    if list(one) == list(other):
        return "exact"
    if len(one) != len(other) or not all(
        _is_equal(a, b) for (_, a), (_, b) in zip(one, other, strict=True)
    ):
        return "moves"
    for listed, compared in ((one, other), (other, one)):
        scores, last = dict(compared), compared[-1][1]
        if not all(_is_equal(score, scores.get(text, last)) for text, score in listed):
            return "moves"
    return "same but for ties"


def _build_again(
    bench: Bench, configured: ConfiguredEngine, builds: int, resources: Resources
) -> tuple[bool, list[Answers]]:
    """Return whether the engine says that it is reproducible, and the answers of each build."""
    answers: list[Answers] = []
    reproducible = True
    for build in range(builds):
        resources.progress.say(f"{configured.label}: build {build + 1} of {builds}")
        with _make_cold(configured, resources) as cold:
            with closing(configured.build(cold)) as engine:
                # A server finds an index by its content, of which the encoder's identity is part.
                engine.index(bench.texts, bench.vectors, f"{bench.identity} build {build}")
                reproducible = engine.reproducible
                answers.append(
                    {
                        kind: {
                            query.id: bench.search(engine, kind, query, DEPTH)
                            for query in bench.asked
                        }
                        for kind in engine.searches
                    }
                )
                index = engine.metadata().get("index")
            if configured.settings.capabilities.server and index:
                with open_server(configured) as server:
                    server.drop(index)
    return reproducible, answers


@contextmanager
def _make_cold(configured: ConfiguredEngine, resources: Resources) -> Iterator[Resources]:
    """Give resources in which no index of an engine of this process is found."""
    if configured.settings.capabilities.server:
        yield resources
        return
    with TemporaryDirectory(prefix="assay-rebuild-") as folder:
        yield replace(resources, cache=Cache(Path(folder)))


def _check_rules(configured: ConfiguredEngine) -> dict[str, str]:
    """Return what is wrong by the name of the rule, in one cache for all of them."""
    broken: dict[str, str] = {}
    for rule in RULES:
        try:
            check_rules([rule], configured.build, None)
        except (ConformanceError, AssayError) as error:
            broken[rule.name] = " ".join(str(error).split())
    return broken


def _texts(ranking: Sequence[Scored]) -> list[int]:
    return [text for text, _ in ranking]


def _is_equal(one: float, other: float) -> bool:
    return abs(one - other) <= EQUAL * max(abs(one), abs(other))
