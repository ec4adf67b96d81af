"""Differences in the provenance of the compared runs: config, models, index and machine."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.eval.report.formats import amount, count, percent, shorten
from assay.eval.report.provenance import Pairs, describe_environment
from assay.eval.report.run_page.indexing import index_facts
from assay.eval.runs.config_keys import flatten
from assay.eval.runs.stored import StoredRun
from assay.eval.statistics.estimates import RESAMPLES as BOOTSTRAPS
from assay.eval.statistics.significance import ALPHA, POWER, RESAMPLES
from assay.eval.studies.comparison.comparison import Comparison

LONGEST = 300  # characters of a value
UNTOLD = {"name", "description"}  # shown elsewhere on the page
ABSENT = "–"
UNSET = {"null", "{}", "[]", ""}


@dataclass(frozen=True)
class Contrast:
    """A key with its value in each run."""

    key: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """True if the values differ between runs."""
        return len(set(self.values)) > 1


def describe_method(compared: Comparison) -> Pairs:
    """Return explanations of the methods behind the figures of a comparison."""
    return (
        (
            "Smallest detectable difference",
            "The smallest difference that a paired t-test of these queries finds with power "
            f"{POWER:g}, given the spread of the queries' differences, at the level of each test "
            f"at which any false finding of its family has a chance of {ALPHA:g}. Of scores of 0 "
            "and 1, and of scores none of which moved, it is not less than what moves enough "
            "queries for the randomisation test. A true difference smaller than that is often "
            "missed.",
        ),
        (
            "Intervals",
            "Of differences: 95 % for all of the family at once, from the same draws of signs as "
            "p. They exclude 0 where, and only where, p is at most "
            f"{ALPHA:g}; one that would disagree ends at 0. Student's over queries, with two "
            "queries added that moved up and down by half each (Agresti and Min 2005); "
            "those of differences without p are by themselves, as comparison.json has of all. Of "
            f"ratios of latencies: paired percentile bootstrap, {BOOTSTRAPS:,} resamples, a fixed "
            "seed.",
        ),
        (
            "p",
            f"Fisher's randomisation test of the sign of each query's difference, {RESAMPLES:,} "
            "draws: how often pipelines by which each query might as well have lost what it won "
            "differ as much. A warning names fragile findings, which a few opposite queries would "
            f"reverse. {_families(compared)}None for groups of queries too small to reach the "
            "level.",
        ),
        ("What the verdict is on", _describe_claim(compared)),
        (
            "Effect size",
            "Cohen's d_z: the mean difference over the standard deviation of the differences.",
        ),
        (
            "Verdict",
            f"Better or worse where p is at most {ALPHA:g}. Else no difference shown where one of "
            f"{compared.effect:g} would have been shown with power {POWER:g}; else not shown (too "
            "few queries), as where so few moved that the test could show nothing had all moved "
            "one way. Not tested where the headline measure of the run is not shown to differ.",
        ),
        (
            "Miss analysis",
            "Of correct passages, for the first 10 hits; one is found where it counts.",
        ),
        ("Gold items and chunks", compared.base.run.manifest.join_rule),
    )


def _describe_claim(compared: Comparison) -> str:
    """Return the claim of a verdict, and the test of questions that share documents."""
    claims = compared.claims
    largest = Counter(claims.groups.values()).most_common(1)[0][1]
    effects = [pair.design_effect for pair in compared.pairs]
    ends = dict.fromkeys(f"{effect:.1f}" for effect in (min(effects), max(effects)))
    told = (
        f"{claims.name(claims.leading).capitalize()}. {count(len(claims.groups), 'question')} on "
        f"{count(claims.count, claims.unit.removesuffix('s'))}, up to {largest} on one, as many as "
        f"{claims.effective:.1f} with equally many on each. The variance of the headline's "
        f"difference is {' to '.join(ends)} times that of questions that share none. "
    )
    if claims.leading == "questions":
        return (
            f"{told}Tests and intervals are by question: they say nothing of other {claims.unit}."
        )
    share = claims.sampling.share
    beyond = (
        f" They are on {percent(share)} of the collection's documents, and only the others are "
        "left to chance."
        if share
        else ""
    )
    return (
        f"{told}Signs are drawn by {claims.unit.removesuffix('s')}, and intervals are by CR2 with "
        f"Satterthwaite's degrees of freedom.{beyond} No p-value is below that by question."
    )


def contrast_configs(runs: Sequence[StoredRun]) -> tuple[Contrast, ...]:
    """Return the keys of the configs that differ."""
    configs = [
        {key: value for key, value in run.manifest.config.items() if key not in UNTOLD}
        for run in runs
    ]
    return _differing(configs)


def contrast_facts(runs: Sequence[StoredRun]) -> tuple[Contrast, ...]:
    """Return the differences in models, engines, code, machine and packages."""
    return (
        *_differing([run.manifest.facts for run in runs]),
        *_differing([dict(describe_environment(run.manifest.environment)) for run in runs]),
        *_differing([run.manifest.environment.get("packages", {}) for run in runs]),
    )


def contrast_indexes(runs: Sequence[StoredRun]) -> tuple[Contrast, ...]:
    """Return the figures of indexing in each run, and the seconds of each stage."""
    facts = [dict(index_facts(run.manifest.index)) for run in runs]
    seconds = [
        {
            f"Seconds of {stage}": amount(taken)
            + (" (cached)" if stage in run.manifest.index.cached else "")
            for stage, taken in run.manifest.index.seconds.items()
        }
        for run in runs
    ]
    return (*_contrast(facts), *_contrast(seconds))


def describe_runs(runs: Sequence[StoredRun]) -> tuple[Contrast, ...]:
    """Return the id, date and description of each run."""
    return _contrast(
        [
            {
                "Run": run.manifest.id,
                "Finished": run.manifest.created,
                "Description": str(run.manifest.config.get("description") or ABSENT),
            }
            for run in runs
        ]
    )


def _differing(values: Sequence[Mapping[str, Any]], prefix: str = "") -> tuple[Contrast, ...]:
    """Return the keys that differ; a mapping that a run lacks counts as one key."""
    found: list[Contrast] = []
    for key in dict.fromkeys(key for value in values for key in value):
        at_key = [value.get(key, ABSENT) for value in values]
        if all(isinstance(item, Mapping) for item in at_key):
            found += _differing(at_key, f"{prefix}{key}.")
        else:
            found.append(Contrast(f"{prefix}{key}", tuple(map(_text, at_key))))
    return tuple(contrast for contrast in found if contrast.differs)


def _text(value: Any) -> str:
    """Return a value on one line; for a mapping, the values that are set in it."""
    ((name, text), *others) = flatten({"": value})
    if not others and not name.strip("."):
        return shorten(text, LONGEST) or '""'
    told = [
        f"{key.strip('.')}: {leaf}" for key, leaf in [(name, text), *others] if leaf not in UNSET
    ]
    return shorten("; ".join(told), LONGEST) or "{}"


def _contrast(values: Sequence[Mapping[str, str]]) -> tuple[Contrast, ...]:
    keys = dict.fromkeys(key for value in values for key in value)
    return tuple(
        Contrast(key, tuple(shorten(value.get(key, ABSENT), LONGEST) for value in values))
        for key in keys
    )


def _families(compared: Comparison) -> str:
    """Return sentences on the families of tests; "" if nothing was tested."""
    if not compared.tests:
        return ""
    headline = compared.pairs[0].headline.measure
    what = "pairs" if compared.all_pairs else "runs"
    families = [
        (compared.tests_headline, f"{headline} of all {what}"),
        (compared.tests - compared.tests_headline, "the other measures"),
        (compared.tests_apart, compared.name_apart),
        (compared.tests_by_type, "types of query"),
    ]
    listed = "; ".join(
        f"{name} ({count(tests, 'difference')})" for tests, name in families if tests
    )
    return (
        f"Differences are tested in families: {listed}. Each is compared with the largest of its "
        "family under the same signs, step by step down (Westfall and Young), so that the chance "
        f"of any false finding in a family is {ALPHA:g}. Other measures are tested only of {what} "
        f"whose {headline} is shown to differ, types of query of those and of {what} whose types "
        "differ from one another (wild bootstrap by the same signs). With more runs on a page a "
        "difference has to be larger. "
    )
