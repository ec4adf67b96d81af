"""Query steps by a language model: it writes texts about the query, which legs search by."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from assay.retrievers.base import AssayError, cut
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.language_models.search_model import SearchModel, SearchModelSettings
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.query.base import LegKinds, QueryStep, QueryStepSettings, StepResult
from assay.retrievers.services import cost_meter as charges
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.settings import Resources

SHOWN = 60  # characters of each text in a note
PURPOSE = "query step"  # whose budget it is


class WritingSettings(SearchModelSettings, QueryStepSettings, ABC):
    """The settings that all steps by a language model share."""

    on_failure: Literal["stop", "query"] = Field(
        "stop",
        description=(
            "where no usable answer comes: stop ends the run with one line; query searches with"
            " the query alone, and marks what is found as degraded"
        ),
    )

    @property
    @abstractmethod
    def wanted(self) -> int:
        """The number of texts requested."""

    @property
    @abstractmethod
    def tokens(self) -> int:
        """Tokens that an answer may have."""

    @abstractmethod
    def write_prompt(self, query: str) -> Prompt:
        """Return the prompt for the model."""

    @abstractmethod
    def read(self, answer: str, *, cut_off: bool) -> list[str]:
        """Return the texts in an answer, none of them blank; none where it holds none."""

    @abstractmethod
    def extend(self, request: LegQuery, texts: Sequence[str]) -> LegQuery:
        """Return `request` with the `texts`."""

    def open(self, resources: Resources) -> SearchModel:
        """Return the model. It is not asked before a query needs it."""
        return self.open_model(PURPOSE, self.tokens, resources)

    def build(self, resources: Resources, legs: LegKinds) -> QueryStep:
        """Return the step."""
        return WritingStep(self, self.open(resources))


class WritingStep(QueryStep):
    """Asks for texts, and hands the request on with them. Answers are kept unless `rerun`."""

    def __init__(
        self, settings: WritingSettings, model: SearchModel, *, rerun: bool = False
    ) -> None:
        self._settings = settings
        self._model = model
        self._rerun = rerun

    def apply(self, request: LegQuery) -> StepResult:
        """Return `request` with the texts; as it is where it is blank."""
        if not request.text.strip():
            return StepResult(request, "a blank query")
        try:
            texts = self._write(request.text)
        except AssayError as error:
            if self._settings.on_failure == "stop":
                raise
            line = f"{self._settings.type}: {error}; searched with the query alone"
            return StepResult(request, line, {"added": 0}, degraded=line)
        note = "; ".join(f"+ {cut(' '.join(text.split()), SHOWN)}" for text in texts)
        return StepResult(self._settings.extend(request, texts), note, {"added": len(texts)})

    def without_query_cache(self) -> QueryStep:
        """Return the same step, asking the model each time."""
        return WritingStep(self._settings, self._model, rerun=True)

    def metadata(self) -> Mapping[str, Any]:
        """Return the model and its prices."""
        return self._model.metadata()

    def _write(self, query: str) -> list[str]:
        """Return the texts. Raises AssayError if there are none."""
        settings, name = self._settings, self._model.model.name
        sendable = query.encode("utf-8", "replace").decode()
        try:
            answer = self._model.ask(settings.write_prompt(sendable), rerun=self._rerun)
        except TooLongError as error:
            raise AssayError(f"{name}: a query is longer than the model reads: {error}") from None
        if answer.ending == "refusal":
            raise AssayError(f"{name}: refused: {cut(answer.note, SHOWN)}")
        texts = settings.read(answer.text, cut_off=answer.ending == "length")
        if not texts:
            raise AssayError(f"{name}: an answer without text")
        if answer.ending == "length":
            charges.note("cut_off")
        if len(texts) < settings.wanted:
            charges.note("incomplete")
        return texts[: settings.wanted]
