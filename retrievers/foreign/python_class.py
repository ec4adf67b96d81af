"""A retriever that is a user's own Python class, by its dotted path."""

from math import inf
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core.core_schema import CoreSchema

from assay.retrievers.base import AssayError, Retriever
from assay.retrievers.base.adapted import AdaptedRetriever
from assay.retrievers.documents.preparation import DocumentSettings
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.settings.plugins import ObjectPath, load_class
from assay.retrievers.settings.trust import CODE


class PythonSettings(Settings):
    """A class of yours that keeps the contract `assay.retrievers.base.Retriever`.

    In place of a Ranking, its `search` may return what a function may: (id, score), best first.
    """

    largest: ClassVar[float] = inf  # the arguments are the class's own affair

    type: Annotated[Literal["python"], CODE]
    path: Annotated[ObjectPath, CODE] = Field(
        description="module:Class, importable from the working directory or the environment; "
        "`class` is the same key",
    )
    arguments: dict[str, Any] = Field(
        default_factory=dict, description="keyword arguments of the class"
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_class(cls, value: Any) -> Any:
        if isinstance(value, dict) and "class" in value and "path" not in value:
            return {"path" if key == "class" else key: item for key, item in value.items()}
        return value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        bounded = super().__get_pydantic_json_schema__(core_schema, handler)
        schema = handler.resolve_ref_schema(bounded)
        schema["properties"]["class"] = schema["properties"]["path"]
        schema["required"].remove("path")
        return {**schema, "oneOf": [{"required": ["path"]}, {"required": ["class"]}]}

    def build(self, documents: DocumentSettings, resources: Resources) -> Retriever:
        """Import the class and make an instance; it cuts its documents itself."""
        made = load_class(self.path, Retriever, "retriever.path")
        try:
            return AdaptedRetriever(made(**self.arguments))
        except TypeError as error:
            raise AssayError(f"retriever.arguments: {self.path}: {error}") from error
