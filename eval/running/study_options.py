"""Options that several studies have."""

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from assay.eval.configs.named_configs import add_engines, name_in_engine, split_engine
from assay.eval.running.study import Argument, Option, StudyOptions
from assay.retrievers.base import AssayError
from assay.retrievers.settings import Settings

if TYPE_CHECKING:
    from assay.eval.configs.project import Project

LARGEST = int(Settings.largest)  # as numbers of a config


def split_names(given: Any) -> Any:
    """Return the names in a text, separated by commas; return any other value as it is."""
    return tuple(name.strip() for name in given.split(",")) if isinstance(given, str) else given


def name_dataset(dataset: str) -> str:
    """Return the override that runs a config on a collection."""
    return f"dataset={json.dumps(dataset)}"


Reference = Annotated[str, BeforeValidator(str)]  # a path or a name
Names = Annotated[tuple[str, ...], BeforeValidator(split_names)]
Overrides = Annotated[tuple[str, ...], Argument("[KEY.PATH=VALUE]...")]
Words = Annotated[tuple[str, ...], Argument("[COLLECTION] [KEY=VALUE]...")]
RERUN = Option(("--rerun", "--again"))
MEASURES = Option(("--measure", "--measures"), text=True)
MEASURES_HELP = "What to compare, separated by commas: Hit@5, nDCG@10; ir-measures' names too."
FORCE_HELP = "Replace another result, or file, that is there."
SERVED = "openai: also any service that speaks its chat completions, by --base-url."
LIMIT_HELP = "Ask only so many queries: a quick look."


class ChangeOptions(StudyOptions):
    """Changes to a config."""

    overrides: Overrides = ()
    dataset: Annotated[str | None, Option(metavar="NAME")] = Field(
        None, description="Collection, by name or folder."
    )

    @property
    def changes(self) -> tuple[str, ...]:
        """All overrides: the collection is one."""
        named = () if self.dataset is None else (name_dataset(self.dataset),)
        return (*self.overrides, *named)


class ConfigOptions(ChangeOptions):
    """A config, and what is changed in it."""

    config: Annotated[Reference, Argument("CONFIG")]


class RunOptions(ChangeOptions):
    """A stored run, or a config with what is changed in it."""

    run: Annotated[Reference, Argument("CONFIG|RUN")]


Engine = Annotated[str | None, Option(metavar="NAME")]
ENGINE = Field(None, description="Search in this engine, as CONFIG@NAME.")


class PipelineOptions(ChangeOptions):
    """A pipeline, or else all that the project file names, and the engine that they search in."""

    config: Annotated[Reference | None, Argument("[CONFIG]")] = None
    engine: Engine = ENGINE

    def choose(self, project: "Project | None") -> tuple[list[str], tuple[str, ...]]:
        """Return the config that is named, or those of the project, and the overrides for them.

        With a project, an override given first is not taken for a config. Raises AssayError if
        there is no config, or one names another engine.
        """
        named, changes = [self.config] if self.config else [], self.changes
        if project and named and "=" in named[0]:
            named, changes = [], (*named, *changes)
        if not named and project is None:
            raise AssayError(
                "Missing argument 'CONFIG'; or name `pipelines` in assay.toml, for every call."
            )
        given = named or (project.list_pipelines() if project else [])
        return [place_in_engine(each, self.engine) for each in given], changes


class EngineOptions(ConfigOptions):
    """A config, and the engine that it searches in."""

    engine: Engine = ENGINE

    @property
    def reference(self) -> str:
        """The config in its engine. Raises AssayError where it names another."""
        return place_in_engine(self.config, self.engine)


def place_in_engine(config: str, engine: str | None) -> str:
    """Return a config in an engine, if one is named. Raises AssayError where it names another."""
    if engine is None:
        return config
    if split_engine(config)[1] is None:
        return name_in_engine(config, engine)
    return add_engines([config], [engine])[0]


class WorkerOptions(StudyOptions):
    """A cluster that does the work."""

    ray: Annotated[str | None, Option(metavar="ADDRESS|local")] = Field(
        None,
        description="Let workers of a Ray cluster do it: HOST:PORT, or local for some on this "
        "machine.",
    )
    ray_gpus: Annotated[float, Option(metavar="NUMBER")] = Field(
        0.0, ge=0, le=64, description="GPUs of each of its workers: 1, or a share as 0.25."
    )


class RunsOptions(StudyOptions):
    """Runs: configs and stored ones, and what is changed in the configs."""

    runs: Annotated[tuple[str, ...], Argument("RUN... [KEY.PATH=VALUE]...")] = Field(min_length=1)
    dataset: Annotated[str | None, Option(metavar="NAME")] = Field(
        None, description="Collection, by name or folder."
    )

    @property
    def references(self) -> tuple[str, ...]:
        """The runs, and all overrides: the collection is one."""
        named = () if self.dataset is None else (name_dataset(self.dataset),)
        return (*self.runs, *named)


class ModelOptions(StudyOptions):
    """A language model that may be asked, what that may cost, and how it is asked."""

    provider: Literal["anthropic", "openai"] | None = Field(
        None, description=f"Whom to ask. {SERVED}"
    )
    model: str | None = Field(None, description="Default: a small one of the provider's.")
    base_url: str | None = Field(
        None, description="Address of a compatible service; keys are not part of it."
    )
    max_cost_usd: float | None = Field(
        None, description="Budget of this work, over all calls of the command; never exceeded."
    )
    prices: Annotated[str | None, Option(metavar="IN,WRITE,READ,OUT")] = Field(
        None,
        description="US dollars per million tokens: prompt, written to and read from the cache, "
        "answer.",
    )
    concurrency: int | None = Field(None, description="Calls at a time.  [default: 10]")
    max_tokens: int | None = Field(
        None, description="Longest reply.  [default: what the replies need]"
    )
    thinking_tokens: int | None = Field(
        None, description="Token budget for reasoning; 0 is off.  [default: 0]"
    )
    timeout_seconds: float | None = Field(None, description="Timeout per call.  [default: 60]")

    @model_validator(mode="after")
    def _goes_with_a_provider(self) -> Self:
        given = [name for name, value in self.session.items() if value is not None]
        if given and self.provider is None:
            raise ValueError(f"--{given[0].replace('_', '-')}: only with --provider")
        return self

    @property
    def session(self) -> dict[str, Any]:
        """The options by name."""
        return {name: getattr(self, name) for name in ModelOptions.model_fields}


class AskedModelOptions(ModelOptions):
    """A language model that is asked."""

    provider: Literal["anthropic", "openai"] = Field(description=SERVED)
    dry_run: bool = Field(False, description="Estimate tokens and cost; make no call.")
