"""Language models that put passages in order: what those have in common, however they are asked."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.language_models.answers import KeptAnswer
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.language_models.search_model import SearchModel, SearchModelSettings
from assay.retrievers.models.base import CrossEncoder
from assay.retrievers.models.choice import CrossEncoderChoice
from assay.retrievers.services.errors import TooLongError


class OrderingSettings(SearchModelSettings, CrossEncoderChoice):
    """A language model that reads passages beside each other and puts them in order."""

    listwise: ClassVar[bool] = True
    scores: Literal["probability"] = Field(
        "probability", description="numbers between 0 and 1, which tell ranks and nothing else"
    )
    words: int = Field(300, ge=10, description="what is read of a passage, in words")

    @abstractmethod
    def count_calls(self, passages: int) -> int:
        """Return how many times the model is asked about so many passages, at most."""


class OrderingReranker(CrossEncoder):
    """Asks a language model; `name` says how, for people."""

    listwise = True
    name: ClassVar[str]

    def __init__(self, settings: OrderingSettings, model: SearchModel) -> None:
        self._words = settings.words
        self._model = model
        self.prices = model.prices

    def metadata(self) -> Mapping[str, Any]:
        """The model, how it is asked, and the prices."""
        return {**self._model.metadata(), "backend": self.name, "words": self._words}

    def _show(self, text: str) -> str:
        """Return what is read of a passage, in one line."""
        return " ".join(text.split()[: self._words])

    def _ask(self, prompt: Prompt, passages: int) -> KeptAnswer:
        """Return the answer. It is not kept: the stage keeps what comes of all answers."""
        try:
            return self._model.ask(prompt, rerun=True)
        except TooLongError as error:
            raise AssayError(
                f"{self._model.model.name}: cannot read {passages} passages at once; allowed: a"
                f" smaller window, fewer words; {error}"
            ) from None


def score_ranks(order: Sequence[int]) -> list[float]:
    """Return a score a text that tells its rank alone: from near 1 for the first to near 0.

    `order` holds the positions of the texts, the best first.
    """
    ranks = {i: rank for rank, i in enumerate(order, start=1)}
    return [1 - ranks[i] / (len(order) + 1) for i in range(len(order))]
