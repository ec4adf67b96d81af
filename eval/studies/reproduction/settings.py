"""The settings of `configs/published.yaml`: published figures, and the systems to measure."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field, model_validator

from assay.eval.configs.config import load_config
from assay.eval.configs.overrides import read_override
from assay.eval.scoring.measures import check_ranking
from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.settings import Settings, validate
from assay.retrievers.settings.errors import naming_place
from assay.retrievers.settings.files import read_mapping
from assay.retrievers.settings.trust import check_values


class Tolerance(Settings):
    """The largest allowed distance of a figure measured here from the published one, either way."""

    ok: float = Field(gt=0, le=1, description="the most for OK")
    close: float = Field(gt=0, le=1, description="the most for close; beyond it, differs")

    @model_validator(mode="after")
    def _rises(self) -> "Tolerance":
        if self.close < self.ok:
            raise ValueError(f"close: must be at least ok ({self.ok}), not {self.close}")
        return self


class Source(Settings):
    """Where figures were published."""

    title: str = Field(min_length=1, description="what it is, in words")
    link: str = Field(pattern=r"^https?://\S+$", description="its address")


class System(Settings):
    """A config, and what is changed in it."""

    title: str = Field(min_length=1, description="what it is, in words")
    config: str = Field(min_length=1, description="a config by its name or path")
    overrides: list[str] = Field(default_factory=list, description="as in retriever.fusion.k=10")


class PublishedFigure(Settings):
    """A published mean of one measure, and the system that is measured here."""

    system: str = Field(description="one of `systems`")
    measure: str = Field("nDCG@10", description="a measure of rankings")
    value: float = Field(ge=0, le=1, description="the published mean")
    source: str = Field(description="one of `sources`")
    reasons: list[str] = Field(
        default_factory=list, description="why it may differ: names of `reasons`"
    )
    other: str = Field(
        "",
        description="how the published system is another one; the figure then gets no verdict",
    )


class PublishedSet(Settings):
    """A judged set, and what was published on it."""

    title: str = Field(min_length=1, description="the name people use")
    collections: list[str] = Field(
        min_length=1, description="where it may be found, in order: names, folders, irds:ID"
    )
    drop_self_matches: bool = Field(
        False, description="leave a document with the query's own id out of every ranking"
    )
    figures: list[PublishedFigure] = Field(min_length=1, description="the published figures")


class PublishedSettings(Settings):
    """All published figures, by set."""

    tolerance: Tolerance
    reasons: dict[str, str] = Field(
        default_factory=dict, description="known causes of a difference, in words, by name"
    )
    sources: dict[str, Source] = Field(min_length=1, description="publications, by name")
    systems: dict[str, System] = Field(min_length=1, description="what is measured, by name")
    sets: dict[str, PublishedSet] = Field(min_length=1, description="judged sets, by name")


def load_settings(path: Path) -> PublishedSettings:
    """Read published figures. Raises AssayError naming the file, the key and what is allowed."""
    settings = validate(PublishedSettings, read_mapping(path), str(path))
    for name, system in settings.systems.items():
        changes = dict(map(read_override, system.overrides))
        check_values(path, {"systems": {name: {"overrides": changes}}})
        with naming_place(f"{path}: systems.{name}"):
            load_config(system.config, system.overrides)
    for name, published in settings.sets.items():
        for i, figure in enumerate(published.figures):
            with naming_place(f"{path}: sets.{name}.figures.{i}"):
                check_ranking([figure.measure])
                check_known("system", settings.systems, [figure.system])
                check_known("source", settings.sources, [figure.source])
                check_known("reason", settings.reasons, figure.reasons)
    return settings


def check_known(kind: str, known: Iterable[str], names: Iterable[str]) -> None:
    """Raise AssayError, listing the `known` names, unless all `names` are among them."""
    there = list(known)
    for name in names:
        if name not in there:
            listed, near = ", ".join(there) or "none", suggest(name, there)
            raise AssayError(f"there is no {kind} {name}; there are: {listed}{near}")
