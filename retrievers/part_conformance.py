"""The rules of every kind of part, put to one.

from assay.retrievers.part_conformance import check_part
def test_mine(): check_part(MySettings())
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from assay.retrievers.base import AssayError
from assay.retrievers.conformance import Rule
from assay.retrievers.documents import conformance as chunker_rules
from assay.retrievers.documents.chunkers import Chunker
from assay.retrievers.engines import conformance as engine_rules
from assay.retrievers.engines.base import StoreSettings
from assay.retrievers.legs import conformance as leg_rules
from assay.retrievers.legs.base import LegSettings
from assay.retrievers.models.choice import CrossEncoderChoice, EncoderChoice
from assay.retrievers.models.conformance import CROSS_ENCODER_RULES, ENCODER_RULES
from assay.retrievers.query import conformance as step_rules
from assay.retrievers.query.base import QueryStepSettings
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.stages import conformance as stage_rules
from assay.retrievers.stages.base import StageSettings
from assay.retrievers.store.cache import Cache


class PartKind(NamedTuple):
    """A kind of part: the base of its settings, its rules, and what these are put to."""

    name: str
    base: type[Settings]
    rules: Sequence[Rule[Any]]
    give: Callable[[Any, Resources], Any]


def _give(settings: Any, resources: Resources) -> Callable[[], Any]:
    return partial(settings.build, resources)


KINDS = (
    PartKind("leg", LegSettings, leg_rules.RULES, _give),
    PartKind("stage", StageSettings, stage_rules.RULES, _give),
    PartKind(
        "query step",
        QueryStepSettings,
        step_rules.RULES,
        lambda settings, resources: partial(settings.build, resources, step_rules.LEGS),
    ),
    PartKind(
        "encoder",
        EncoderChoice,
        ENCODER_RULES,
        lambda settings, resources: partial(settings.open, resources),
    ),
    PartKind("cross-encoder", CrossEncoderChoice, CROSS_ENCODER_RULES, _give),
    PartKind("engine", StoreSettings, engine_rules.RULES, _give),
    PartKind(
        "chunker",
        Chunker,
        chunker_rules.RULES,
        lambda settings, _: chunker_rules.Cutting(settings),
    ),
)


def find_kind(settings: type) -> PartKind | None:
    """Return the kind of part that a class of settings is of; None if it is of none."""
    return next((kind for kind in KINDS if issubclass(settings, kind.base)), None)


def check_part(settings: Settings, resources: Resources | None = None) -> None:
    """Put a part to every rule of its kind.

    Args:
        settings: The settings of a leg, stage, query step, encoder, cross-encoder, engine or
            chunker, as a config has them.
        resources: What is used to build it; by default a cache that is removed afterwards.

    Raises:
        ConformanceError: At the first rule that is broken; its message says how.
        AssayError: If the settings are of no part.
    """
    kind = find_kind(type(settings))
    if kind is None:
        allowed = ", ".join(kind.name for kind in KINDS)
        raise AssayError(f"{type(settings).__name__}: no settings of a part; allowed: {allowed}")
    with TemporaryDirectory(prefix="assay-conformance-") as folder:
        given = resources or Resources(Cache(Path(folder)))
        for rule in kind.rules:
            rule.check(kind.give(settings, given))
