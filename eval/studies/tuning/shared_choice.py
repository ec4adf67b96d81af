"""The result of choosing one pipeline for several collections, and its conclusion in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.eval.configs.config import RunConfig, load_config
from assay.eval.report.formats import count, enumerate_words
from assay.eval.running.search_space import Point, as_overrides
from assay.eval.runs.json_form import in_json, shape
from assay.eval.studies.comparison.collections import CollectionEffect, Collections
from assay.eval.studies.comparison.collections_report import (
    tell_directions,
    tell_mean,
    tell_new,
)
from assay.eval.studies.tuning.choice import JUDGED, ON_COLLECTION, Choice
from assay.retrievers.store.digest import digest

BEST = "the best"  # name of the best candidate in tables


@dataclass(frozen=True)
class JudgedChoice:
    """A choice on a collection, and the difference of the best from "base" and "bm25" there."""

    choice: Choice
    effects: Mapping[str, CollectionEffect]


@in_json(
    "conclusion",
    "over",
    base="config.name",
    measure="choices.0.measure",
    ships="shipped_settings",
    best="choices.0.best",
    collections=shape("choices", *JUDGED, **ON_COLLECTION),
    trials="choices.0.trials",
)
@dataclass(frozen=True)
class SharedChoice:
    """The result of choosing one pipeline for several collections.

    Attributes:
        config: The config as given, on no collection in particular.
        chosen: The config of the best candidate, likewise.
        choices: The choice as judged on each collection; its trials are those of all together.
        over: The differences of the best from the config as given ("base") and from BM25 alone
            ("bm25") on the collections; without the best itself.

    """

    config: RunConfig
    chosen: RunConfig
    choices: tuple[Choice, ...]
    over: Mapping[str, Collections]

    @property
    def asked(self) -> str:
        """The digest of the request."""
        return self.choices[0].asked

    @property
    def environment(self) -> Mapping[str, Any]:
        """The environment of the choice."""
        return self.choices[0].environment

    @property
    def id(self) -> str:
        """The name of its files."""
        of = digest([choice.config.dataset for choice in self.choices])[:8]
        return f"{self.config.name}-collections-{of}"

    @property
    def ships(self) -> bool:
        """True if the best is shown to be better in the mean, or on each of the collections."""
        return "base" in self.over and self.over["base"].better

    @property
    def shipped(self) -> RunConfig:
        """The pipeline to ship."""
        return self.chosen if self.ships else self.config

    @property
    def conclusion(self) -> str:
        """The pipeline to ship and the evidence for it, in a few sentences."""
        first, base = self.choices[0], self.config.name
        among = count(len(self.choices), "collection")
        found = self.over.get("base")
        if found is None:
            over = self.over["bm25"]
            return (
                f"Keep {base}: no candidate was better in the mean of {among} on the questions of "
                f"the choice. Over BM25 alone its {over.measure} changes by {tell_mean(over)}. "
                f"{tell_new(over)}"
            )
        change = (
            f"{found.measure} by {tell_mean(found)}, in the mean of {among}, on questions that had "
            "no part in the choice"
        )
        if self.ships:
            told = f"Ship {first.name}: over {base} it changes {change}."
        else:
            told = f"Keep {base}: nothing is shown to be better for all. {first.name} changes "
            told += f"{change}."
        return f"{told} {self._tell_each(found)} {tell_new(found)}"

    def _tell_each(self, found: Collections) -> str:
        """Return sentences on where the best is shown to be better, or worse, if anywhere."""
        told = " ".join(tell_directions(found)).replace(BEST, BEST.capitalize(), 1)
        worse = found.parted[1]
        if worse and self.ships:
            told += f" Choose for {enumerate_words([effect.name for effect in worse])} apart."
        return f"{told}{self._warn_of_bm25()}"

    def _warn_of_bm25(self) -> str:
        """Return a warning if the pipeline to ship is not shown to be better than BM25 alone."""
        over = self.over.get("bm25")
        if over is None or over.better or not self.ships:
            return ""
        told = over.verdict or "not shown to be better"
        return f" In the mean it is {told} than BM25 alone, which costs least: {tell_mean(over)}."

    @property
    def shipped_settings(self) -> Point:
        """The settings of the pipeline to ship; {} if it is the config as given."""
        return self.choices[0].best.point if self.ships else {}


def join_choices(
    judged: Sequence[JudgedChoice], config: str, overrides: Sequence[str]
) -> SharedChoice:
    """Return the choice for all collections, from that as judged on each."""
    first = judged[0].choice
    base = load_config(config, overrides)
    changes = as_overrides(first.best.point, base.model_dump(mode="json"))
    names = {"base": base.name, "bm25": "BM25 alone"}
    best = BEST if first.best.point else base.name
    return SharedChoice(
        base,
        load_config(config, [*overrides, *changes]),
        tuple(item.choice for item in judged),
        {
            name: Collections((names[name], best), tuple(item.effects[name] for item in judged))
            for name in judged[0].effects
        },
    )
