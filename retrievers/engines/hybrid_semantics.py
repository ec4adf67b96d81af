"""The meaning of "hybrid" in an engine, in words, from its capabilities, settings and formula."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from assay.retrievers.engines.base import Engine, StoreSettings

# The key and the field names that mark a field of an engine's settings as of the keyword index.
KEYWORD_INDEX = "the engine's keyword index"
KEYWORD_FIELDS = frozenset(
    {"analyzer", "tokenizer", "remove_diacritics", "language", "stemming", "stemmer", "stop_words"}
)
PLACES = {
    "engine": "inside the engine",
    "statement": "in one statement of its query language, which the adapter writes",
    "client": "in its client library, in this process",
}
TIES = {
    "engine": "in a list as the engine leaves them, in what is fused by position",
    "statement": "by position, in the statement",
    "client": "in a list as the engine leaves them, in what is fused by position",
}


def describe_hybrid(settings: StoreSettings, engine: Engine) -> dict[str, Any]:
    """Return the meaning of hybrid with these settings, as JSON values; known after `index`.

    The engine fuses its lists itself.
    """
    formula, can, facts = engine.formula, settings.capabilities, engine.metadata()
    return {
        "version": str(facts.get("version", "")),
        "fuses": can.fuses,
        "place": PLACES[can.fuses],
        "formula": formula.statement,
        "ranks_from": getattr(formula, "first", None),
        "ties": TIES[can.fuses],
        "depth": settings.depth.model_dump(),
        "keyword": [{"says": says, "values": values} for says, values in _keyword(settings)],
        "exact": bool(facts.get("exact")),
        "approximate": list(can.approximate),
        "server": can.server,
        "extra": can.extra,
    }


def _keyword(settings: StoreSettings) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield in words how terms are scored and texts analysed, with the values of the settings."""
    for name, field in type(settings).model_fields.items():
        value, says = getattr(settings, name), field.description or ""
        if isinstance(value, BaseModel) and says.startswith(KEYWORD_INDEX):
            summary = (type(value).__doc__ or "").strip().partition("\n\n")[0]
            yield " ".join(summary.split()), value.model_dump(mode="json")
        elif name in KEYWORD_FIELDS:
            yield f"{name}: {says}", {name: value}
