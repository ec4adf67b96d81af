"""Every leg that a config can name."""

from retrievers.legs.dense import DenseLegSettings
from retrievers.legs.keyword import KeywordLegSettings
from retrievers.legs.native import NativeHybridSettings

LegSettings = DenseLegSettings | KeywordLegSettings | NativeHybridSettings
