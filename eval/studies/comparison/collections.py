"""Two pipelines on several collections, and a prediction for a new one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

from assay.eval.collections.collection import Collection
from assay.eval.collections.traits import NAMES, measure_traits
from assay.eval.running.experiment import Experiment
from assay.eval.runs.environment import describe as describe_environment
from assay.eval.runs.json_form import in_json, shape
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.means import find_largest
from assay.eval.scoring.measures import find
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.groups import find_design_effect
from assay.eval.statistics.meta_analysis import (
    FEWEST,
    RandomEffects,
    combine_effects,
    foresee_effect,
)
from assay.eval.statistics.paired import center
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.differences import Contrast, Difference
from assay.retrievers.base import AssayError
from assay.retrievers.store.digest import digest


@dataclass(frozen=True)
class CollectionEffect:
    """The difference between the two pipelines on one collection.

    Attributes:
        name: The name of the collection.
        headline: The difference of the headline measure, by the leading claim.
        claims: The claims that its questions support.
        traits: Its features by their key in `traits.NAMES`.
        variance: The variance of the difference, by the leading claim.
        compared: The comparison of the two pipelines on it, if there is one.

    """

    name: str
    headline: Difference
    claims: Claims
    traits: Mapping[str, float]
    variance: float
    compared: Comparison | None = None

    @classmethod
    def of(
        cls,
        collection: Collection,
        claims: Claims,
        headline: Difference,
        contrast: Contrast,
        compared: Comparison | None = None,
    ) -> "CollectionEffect":
        """Return the difference on a collection; `contrast` has the scores that it is of."""
        traits, variance = measure_traits(collection), _find_variance(contrast, claims)
        return cls(collection.name, headline, claims, traits, variance, compared)

    @property
    def runs(self) -> list[str]:
        """The ids of the runs of the two pipelines, if they are stored."""
        return [run.manifest.id for run in self.compared.runs] if self.compared else []


@dataclass(frozen=True)
class Separation:
    """A feature that separates the collections where a pipeline is better from the others.

    Attributes:
        trait: The key of the feature.
        better: Its least and greatest value where the pipeline is shown to be better.
        worse: The same where it is shown to be worse.

    """

    trait: str
    better: tuple[float, float]
    worse: tuple[float, float]


@in_json(
    "measure",
    "held",
    "separated_by_chance",
    "environment",
    pipelines="names",
    mean="combined.mean",
    tau="combined.tau",
    excess="combined.excess",
    p_equal="combined.p",
    new_collection="new",
    collections=shape(
        "foreseen",
        collection="0.name",
        claim="0.claims.leading",
        difference="0.headline",
        variance="0.variance",
        traits="0.traits",
        foreseen_by_others="1",
        runs="0.runs",
    ),
    separated_by="separations",
)
@dataclass(frozen=True)
class Collections:
    """Two pipelines on several collections. `names` are the names of the two, in order."""

    names: tuple[str, str]
    effects: tuple[CollectionEffect, ...]

    @property
    def id(self) -> str:
        """The name of its folder."""
        of = digest([effect.compared and effect.compared.id for effect in self.effects])[:8]
        return f"compare-{'-'.join(self.names)[:100]}-collections-{of}"

    @property
    def measure(self) -> str:
        """The headline measure."""
        return self.effects[0].headline.measure

    @cached_property
    def combined(self) -> RandomEffects:
        """The mean effect over collections, and the spread of effects."""
        return combine_effects(*self._read())

    @property
    def verdict(self) -> str:
        """The verdict on the second in the mean: "better", "worse" or, if none is shown, ""."""
        mean = self.combined.mean
        if mean.low <= 0 <= mean.high:
            return ""
        return "better" if find(self.measure).sign * mean.value > 0 else "worse"

    @property
    def better(self) -> bool:
        """True if the second is shown to be better in the mean, or on each collection."""
        return self.verdict == "better" or len(self.parted[0]) == len(self.effects)

    @cached_property
    def new(self) -> Estimate | None:
        """The 95 % prediction interval of the effect on a new collection; None if fewer than 3.

        It holds the interval of the mean, which is wider where few effects are alike.
        """
        found, mean = foresee_effect(*self._read()), self.combined.mean
        if found is None:
            return None
        low, high = min(found.low, mean.low), max(found.high, mean.high)
        return self._cut(Estimate(found.value, low, high, found.n))

    @cached_property
    def left_out(self) -> tuple[Estimate | None, ...]:
        """For each collection, the prediction interval of its difference from the others."""
        values, variances = self._read()
        return tuple(
            self._cut(foresee_effect(_drop(values, i), _drop(variances, i), variances[i]))
            if len(values) > FEWEST
            else None
            for i in range(len(values))
        )

    @property
    def held(self) -> tuple[int, int]:
        """The number of intervals in `left_out` that hold the difference, and the number in all."""
        foreseen = [
            item.low <= effect.headline.difference.value <= item.high
            for effect, item in zip(self.effects, self.left_out, strict=True)
            if item
        ]
        return sum(foreseen), len(foreseen)

    @property
    def parted(self) -> tuple[list[CollectionEffect], list[CollectionEffect]]:
        """The collections where the second is shown to be better, and those where it is worse."""
        better = [effect for effect in self.effects if effect.headline.verdict == "better"]
        return better, [effect for effect in self.effects if effect.headline.verdict == "worse"]

    @cached_property
    def separations(self) -> tuple[Separation, ...]:
        """The features that separate the collections where it is better from the others."""
        better, worse = self.parted
        if not better or not worse:
            return ()
        found = []
        for trait in self.traits:
            ends = [_find_ends(effect.traits[trait] for effect in part) for part in (better, worse)]
            if ends[0][1] < ends[1][0] or ends[1][1] < ends[0][0]:
                found.append(Separation(trait, *ends))
        return tuple(found)

    @property
    def traits(self) -> tuple[str, ...]:
        """The features that are known for all collections."""
        return tuple(key for key in NAMES if all(key in effect.traits for effect in self.effects))

    @property
    def chance(self) -> float:
        """An upper bound of the probability that some feature separates them by chance."""
        better, worse = map(len, self.parted)
        return min(1.0, len(self.traits) * 2 / comb(better + worse, better))

    @property
    def separated_by_chance(self) -> float | None:
        """The `chance`; None if no feature separates them."""
        return self.chance if self.separations else None

    @property
    def environment(self) -> Mapping[str, Any]:
        """The code and the machine."""
        return describe_environment()

    @property
    def foreseen(self) -> list[tuple[CollectionEffect, Estimate | None]]:
        """The effects on the collections, each with its prediction by the others."""
        return list(zip(self.effects, self.left_out, strict=True))

    def _read(self) -> tuple[list[float], list[float]]:
        return (
            [effect.headline.difference.value for effect in self.effects],
            [effect.variance for effect in self.effects],
        )

    def _cut(self, foreseen: Estimate | None) -> Estimate | None:
        """Return an interval, cut to the values that a difference of the measure can have."""
        if foreseen is None:
            return None
        low, high = find(self.measure).change
        return Estimate(
            foreseen.value, max(foreseen.low, low), min(foreseen.high, high), foreseen.n
        )


def compare_on_collections(
    pipelines: Sequence[Any],
    collections: Sequence[Any],
    make: Callable[[Any, Any], Experiment],
    compare: Callable[[Sequence[Experiment]], Comparison],
) -> Collections:
    """Compare two pipelines on each of several collections.

    Args:
        pipelines: The two pipelines; the second is compared with the first.
        collections: The collections.
        make: Returns the experiment that runs a pipeline on a collection.
        compare: Compares the experiments of one collection.

    Raises:
        AssayError: There are not two pipelines, or fewer than two collections, or one is given
            twice; also as raised by `make` and `compare`.

    """
    if len(pipelines) != 2:
        raise AssayError(
            f"compare: on several collections two pipelines are compared, not {len(pipelines)}"
        )
    if any(isinstance(item, StoredRun) for item in pipelines):
        raise AssayError("compare: a stored run is of one collection; give its config instead")
    found: list[CollectionEffect] = []
    for collection in collections:
        systems = [make(pipeline, collection) for pipeline in pipelines]
        compared = compare(systems)
        name = systems[0].collection.name
        if name in [effect.name for effect in found]:
            raise AssayError(f"compare: the collection {name} is given twice")
        (pair,) = compared.pairs
        scores = [side.scores[pair.headline.measure] for side in (pair.base, pair.other)]
        contrast = Contrast(pair.headline.measure, "", scores[0], scores[1])
        found.append(
            CollectionEffect.of(
                systems[0].collection, compared.claims, pair.headline, contrast, compared
            )
        )
        base, other = compared.labels
    if len(found) < 2:
        raise AssayError("compare: two collections or more are needed to look beyond one")
    return Collections((base, other), tuple(found))


def _find_variance(contrast: Contrast, claims: Claims) -> float:
    """Return the variance of a mean difference by the leading claim; never 0."""
    differences = contrast.differences
    _, error = center(differences, find_largest(contrast.measure, differences.tolist()) or 1.0)
    clusters = claims.cluster(contrast.before)
    if clusters is None:
        return error**2
    effect = max(find_design_effect(differences, clusters.numbers), 1.0)
    return error**2 * (clusters.share + (1 - clusters.share) * effect)


def _drop(values: Sequence[float], place: int) -> list[float]:
    return [*values[:place], *values[place + 1 :]]


def _find_ends(values: Iterable[float]) -> tuple[float, float]:
    known = list(values)
    return min(known), max(known)
