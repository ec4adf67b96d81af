"""The options of choosing a pipeline."""

import json
import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from assay.eval.configs.locations import default_dataset, find_project
from assay.eval.running.study import Argument, Option, StudyOptions
from assay.eval.running.study_options import FORCE_HELP, Overrides, Reference
from assay.eval.scoring.measures import HEADLINE
from assay.retrievers.base import AssayError, Progress

UNITS = {"s": 1, "m": 60, "h": 3600}
MOST_SECONDS = 3_600_000


def read_duration(given: Any) -> Any:
    """Convert a text such as 90s to seconds; return other values unchanged. Raises ValueError."""
    if not isinstance(given, str):
        return given
    found = re.fullmatch(r"(\d{1,6}(?:\.\d+)?)([smh])", given)
    seconds = float(found[1]) * UNITS[found[2]] if found else 0.0
    if not 0 < seconds <= MOST_SECONDS:
        raise ValueError(f"{given!r} is no time; allowed: as 90s, 10m, 1h")
    return seconds


class ChoiceOptions(StudyOptions):
    """What to start from, on which collection, and what may be spent.

    `budget` is the time in seconds after which no candidate that embeds or reranks is begun;
    `max_latency` is in milliseconds per query.
    """

    collection: Annotated[str | None, Argument()] = None
    overrides: Overrides = ()
    config: Reference = Field("hybrid", description="What to start from and beat.")
    budget: Annotated[float, BeforeValidator(read_duration), Option(metavar="TIME", text=True)] = (
        Field(
            600,
            gt=0,
            le=MOST_SECONDS,
            description="Embed and rerank for no further candidate after so long: 90s, 10m, 1h.  "
            "[default: 10m]",
        )
    )
    max_latency: Annotated[float | None, Option(metavar="MS")] = Field(
        None,
        gt=0,
        le=1e6,
        description="Allow so many milliseconds a query, and try reranking.",
    )
    measure: str | None = Field(None, description=f"What is to rise.  [default: {HEADLINE}]")
    output: Path | None = Field(
        None,
        description="The config to write.  [default: chosen/CONFIG-COLLECTION.yaml below the "
        "reports]",
    )
    force: bool = Field(False, description=FORCE_HELP)

    def settle(self, progress: Progress) -> "ChoiceOptions":
        """Return the options, completed from the project file, with a message if there is one.

        A collection with "=" is an override instead. Raises AssayError if no collection is named.
        """
        if self.measure and self.collection and "=" not in self.collection:
            return self
        settled: dict[str, Any] = {"measure": self.measure or HEADLINE}
        project = find_project()
        if project:
            progress.say(f"settings from {project.source}")
            settled["measure"] = self.measure or (project.measures or [HEADLINE])[0]
            if self.collection is not None and "=" in self.collection:
                settled |= {"collection": None, "overrides": (self.collection, *self.overrides)}
        if settled.get("collection", self.collection) is None:
            if project is None or project.collection is None:
                raise AssayError(
                    "Missing argument 'COLLECTION'; or name `collection` in assay.toml, for every "
                    "call."
                )
            settled["collection"] = default_dataset()
        return self.model_copy(update=settled)

    @property
    def changes(self) -> tuple[str, ...]:
        """All overrides, with the collection as the first."""
        return (f"dataset={json.dumps(self.collection)}", *self.overrides)
