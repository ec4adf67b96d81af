"""A model's input format, read from the files that sentence-transformers keeps with a model."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.model_files.packages import Pooling

LIMITS = ("config.json", "sentence_bert_config.json", "tokenizer_config.json")
KNOWN_MODULES = ("Transformer", "Pooling", "Normalize")
USUAL_TOKENS = 512
UNBOUNDED = 1_000_000  # tokenizers state no limit as a huge number


@dataclass(frozen=True, slots=True)
class Recipe:
    """Pooling, prefixes, the usual and (if known) the greatest number of tokens."""

    pooling: Pooling = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: int = USUAL_TOKENS
    positions: int | None = None


def read_recipe(folder: Path) -> Recipe:
    """Return the recipe of the ONNX model in `folder`; what no file states keeps its default.

    Raises AssayError when the model has a layer or a pooling that is not known here.
    """
    for module in _read(folder / "modules.json", []):
        if str(module.get("type", "")).rpartition(".")[2] not in KNOWN_MODULES:
            raise AssayError(
                f"{folder}: the ONNX backend lacks its layer {module.get('type')}; set backend: st"
            )
    usual, positions = read_limits(folder)
    prompts = _read(folder / "config_sentence_transformers.json", {})
    return Recipe(
        pooling=_read_pooling(folder),
        query_prefix=_prompt(prompts, "query"),
        passage_prefix=_prompt(prompts, "document", "passage", "corpus"),
        max_tokens=usual or positions or USUAL_TOKENS,
        positions=positions,
    )


def read_limits(folder: Path) -> tuple[int | None, int | None]:
    """Return the number of tokens of a text that the model in `folder` reads, and its maximum.

    None if no file states it.
    """
    limits = (
        _read(folder / "tokenizer_config.json", {}).get("model_max_length"),
        _read(folder / "config.json", {}).get("max_position_embeddings"),
    )
    # Some models state -1 for no limit.
    bounds = (int(limit) for limit in limits if limit and 0 < limit < UNBOUNDED)
    positions = min(bounds, default=None)
    usual = _read(folder / "sentence_bert_config.json", {}).get("max_seq_length")
    return usual or positions, positions


def _read_pooling(folder: Path) -> Pooling:
    config = _read(folder / "1_Pooling" / "config.json", {})
    older = [key.removeprefix("pooling_mode_") for key, on in config.items() if on is True]
    named = {"cls_token": "cls", "mean_tokens": "mean"}
    modes = [named.get(key, key) for key in older if key != "include_prompt"]
    match config.get("pooling_mode") or modes or "mean":
        case "cls" | ["cls"]:
            return "cls"
        case "mean" | ["mean"]:
            return "mean"
        case other:
            raise AssayError(f"{folder}: pooling {other} is not known; allowed: cls, mean")


def _prompt(config: dict[str, Any], *names: str) -> str:
    """Return the prompt sentence-transformers would take: the first of `names`, or the default."""
    prompts = config.get("prompts") or {}
    found = [name for name in (*names, config.get("default_prompt_name")) if name in prompts]
    return str(prompts[found[0]]) if found else ""


def _read(path: Path, otherwise: Any) -> Any:
    if not path.exists():
        return otherwise
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise AssayError(f"{path}: not valid JSON: {error}") from None
