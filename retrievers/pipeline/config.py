"""Configs: one strict model for all that a pipeline's YAML can say about retrieval."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from assay.retrievers.base import Retriever
from assay.retrievers.documents.preparation import DocumentSettings
from assay.retrievers.foreign.frameworks import FrameworkSettings
from assay.retrievers.foreign.http import HttpSettings
from assay.retrievers.foreign.python_class import PythonSettings
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Resources, Settings


def _default_to_pipeline(value: Any) -> Any:
    return {"type": "pipeline", **value} if isinstance(value, dict) else value


RetrieverSettings = Annotated[
    Annotated[
        PipelineSettings | PythonSettings | HttpSettings | FrameworkSettings,
        Field(discriminator="type"),
    ],
    BeforeValidator(_default_to_pipeline),
]


class PipelineConfig(Settings):
    """A retrieval pipeline: how documents are cut and how passages are found."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][\w.-]*$", description="names the pipeline in runs and reports"
    )
    description: str = Field("", description="what it is for, in a sentence")
    documents: DocumentSettings = Field(
        default_factory=DocumentSettings, description="how documents become chunks"
    )
    retriever: RetrieverSettings = Field(
        description="how chunks are found; a pipeline unless `type` says otherwise"
    )

    def build(self, resources: Resources) -> Retriever:
        """Return the configured retriever, not yet indexed."""
        return self.retriever.build(self.documents, resources)
