"""The order in which configs are run, so that shared parts are made once and released early."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from assay.eval.configs.config import RunConfig
from assay.eval.runs import environment
from assay.retrievers.pipeline.pipeline import REVISION, PipelineSettings
from assay.retrievers.pipeline.variants import Variants, name_leg
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest


def name_shared(config: RunConfig) -> tuple[str, str]:
    """Return a key of a config's chunks: its dataset and its settings of documents."""
    documents: Mapping[str, Any] = config.documents.model_dump(mode="json")
    return config.dataset, json.dumps(documents, sort_keys=True)


def arrange(configs: Sequence[RunConfig]) -> list[list[int]]:
    """Return the places of configs in groups that share chunks, those with the same legs together.

    The leg that differs most among the configs of a group changes slowest: one index of it is
    needed at a time, while all of the others may be needed to the end.
    """
    names = list(map(name_shared, configs))
    order = sorted(range(len(configs)), key=names.__getitem__)
    groups = [list(found) for _, found in groupby(order, key=names.__getitem__)]
    return [_put_legs_together(configs, places) for places in groups]


def take_in_order(
    configs: Sequence[RunConfig], resources: Resources
) -> Iterator[tuple[int, Variants]]:
    """Yield the position of each config, ordered by `arrange`, with its retriever's builder."""
    code = digest(REVISION, environment.packages())
    for places in arrange(configs):
        with Variants(resources, [configs[i] for i in places], code=code) as variants:
            for i in places:
                yield i, variants


def _put_legs_together(configs: Sequence[RunConfig], places: Sequence[int]) -> list[int]:
    legs = {i: _name_legs(configs[i]) for i in places}
    kinds = {
        leg: list(dict.fromkeys(found.get(leg, "") for found in legs.values()))
        for leg in sorted({leg for found in legs.values() for leg in found})
    }
    varied = sorted(kinds, key=lambda leg: -len(kinds[leg]))
    return sorted(places, key=lambda i: [kinds[leg].index(legs[i].get(leg, "")) for leg in varied])


def _name_legs(config: RunConfig) -> dict[str, str]:
    """Return a key of each leg's index, by the leg's name."""
    retriever = config.retriever
    if not isinstance(retriever, PipelineSettings):
        return {}
    return {name: name_leg(leg) for name, leg in retriever.active.items()}
