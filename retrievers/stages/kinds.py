"""Every stage that a config can name."""

from typing import Annotated

from pydantic import Field

from retrievers.stages.per_document import PerDocumentSettings
from retrievers.stages.rerank import RerankSettings

StageSettings = Annotated[
    PerDocumentSettings | RerankSettings,
    Field(discriminator="type"),
]
