"""Check of an engine against every rule for engines."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.eval.configs.engine_settings import ConfiguredEngine
from assay.retrievers.base import AssayError
from assay.retrievers.conformance import ConformanceError, check_rules
from assay.retrievers.engines.conformance import RULES


@dataclass(frozen=True, slots=True)
class EngineConformance:
    """The result of checking an engine; `broken` has the errors by the name of the rule."""

    engine: str
    rules: int
    broken: Mapping[str, str]


def check_engine(configured: ConfiguredEngine) -> EngineConformance:
    """Check an engine against every rule."""
    broken: dict[str, str] = {}
    for rule in RULES:
        try:
            check_rules([rule], configured.build, None)
        except (ConformanceError, AssayError) as error:
            broken[rule.name] = " ".join(str(error).split())
    return EngineConformance(configured.label, len(RULES), broken)
