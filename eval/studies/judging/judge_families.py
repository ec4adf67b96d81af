"""Whether a model judges what one of its own family encoded or reranked."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.eval.configs.config import load_config
from assay.eval.configs.locations import reports_folder
from assay.eval.configs.named_configs import is_config
from assay.eval.llm.model_families import find_vendor, warn_of_families
from assay.eval.running.run_references import find_stored, split_overrides
from assay.eval.runs.stored import load


def warn_of_judge(judge: str, references: Sequence[str]) -> list[str]:
    """Return a line where an encoder or a reranker of the runs meant is of the judge's family.

    `judge` is the name of its model. Raises AssayError for what means no run; none is made.
    """
    named, overrides = split_overrides(references)
    parts = {"judge": judge}
    for reference in named:
        for part, model in _find_models(_read_config(reference, overrides)):
            if find_vendor(model) == find_vendor(judge):
                parts[f"{part} {model}"] = model
    return warn_of_families(parts)


def _read_config(reference: str, overrides: Sequence[str]) -> dict[str, Any]:
    if is_config(reference):
        return load_config(reference, overrides).model_dump(mode="json")
    return load(find_stored(reports_folder(), reference)).manifest.config


def _find_models(value: Any) -> Iterator[tuple[str, str]]:
    """Yield what the models of a pipeline do, and their names, wherever they stand in it."""
    if isinstance(value, Mapping):
        reads = value.get("model") if value.get("type") == "rerank" else None
        for part, chosen in (("encoder", value.get("encoder")), ("reranker", reads)):
            while isinstance(chosen, Mapping):  # a reranker may ask a model, which has a name
                chosen = chosen.get("model")
            if isinstance(chosen, str):
                yield part, chosen
        for below in value.values():
            yield from _find_models(below)
    elif isinstance(value, list):
        for below in value:
            yield from _find_models(below)
