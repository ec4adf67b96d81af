"""The providers of embeddings: six in OpenAI's form, but for what each says differently."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.models.served.encoder import Kind, Rows, ServedEncoderSettings
from assay.retrievers.models.served.messages import check_number, find_billed
from assay.retrievers.models.served.output import NAMES, OutputEncoderSettings
from assay.retrievers.settings.trust import ADDRESS

ID = "the service's id of the model"
CONTEXTUAL = "voyage-context"  # how the names of Voyage's models begin that read chunks together
TEI = "http://localhost:8080"


class OpenAiEncoderSettings(ServedEncoderSettings):
    """OpenAI's embeddings, or with `url` those of Azure, Ollama, vLLM, TEI, Infinity, LM Studio."""

    provider: ClassVar[str] = "openai"
    address: ClassVar[str] = "https://api.openai.com/v1"
    most_texts: ClassVar[int] = 256
    type: Literal["openai"]
    model: str = Field("text-embedding-3-small", min_length=1, description=ID)

    @model_validator(mode="after")
    def _names_a_model(self) -> "OpenAiEncoderSettings":
        if self.url and "model" not in self.model_fields_set:
            raise ValueError("model: missing; with a url it has no default")
        return self

    def say(self, kind: Kind) -> Mapping[str, Any]:
        """Ask for floats; it has one kind of text."""
        return {"encoding_format": "float"}


class CohereEncoderSettings(OutputEncoderSettings):
    """Cohere's embeddings."""

    provider: ClassVar[str] = "cohere"
    address: ClassVar[str] = "https://api.cohere.com"
    route: ClassVar[str] = "v2/embed"
    texts_key: ClassVar[str] = "texts"
    dimensions_key: ClassVar[str] = "output_dimension"
    most_texts: ClassVar[int] = 96
    type: Literal["cohere"]
    model: str = Field("embed-v4.0", min_length=1, description=ID)

    def say(self, kind: Kind) -> Mapping[str, Any]:
        """Say which kind the texts are, and what becomes of long ones."""
        return {
            "input_type": f"search_{kind}",
            "embedding_types": [NAMES[self.output]],
            "truncate": "END" if self.truncate else "NONE",
        }

    def read(self, reply: Any, wanted: int) -> tuple[Rows, int | None]:
        """Read rows, which come in the order of the texts."""
        rows = check_number(reply["embeddings"][NAMES[self.output]], wanted, "vectors")
        return rows, find_billed(reply, self.billed)


class VoyageEncoderSettings(OutputEncoderSettings):
    """Voyage's embeddings; those of `contextualised` chunks by the address made for these."""

    provider: ClassVar[str] = "voyage"
    address: ClassVar[str] = "https://api.voyageai.com/v1"
    dimensions_key: ClassVar[str] = "output_dimension"
    most_texts: ClassVar[int] = 128
    most_tokens_together: ClassVar[int] = 32_000
    type: Literal["voyage"]
    model: str = Field("voyage-4", min_length=1, description=ID)
    contextualised: bool = Field(
        False, description="a document's chunks are read together, by a model made for it"
    )

    @model_validator(mode="after")
    def _asks_the_right_model(self) -> "VoyageEncoderSettings":
        if not self.url and self.contextualised != self.model.startswith(CONTEXTUAL):
            raise ValueError(
                f"contextualised: {str(self.contextualised).lower()}; with model {self.model}"
                f" allowed: {str(not self.contextualised).lower()}"
            )
        return self

    @property
    def contextual(self) -> bool:
        """Whether chunks are contextualised."""
        return self.contextualised

    @property
    def variety(self) -> Sequence[Any]:
        """The output, and whether a document is read as a whole."""
        return (*super().variety, *(("contextualised",) if self.contextualised else ()))

    @property
    def path(self) -> str:
        """Below the address."""
        return "contextualizedembeddings" if self.contextualised else self.route

    def write(self, texts: Sequence[str], kind: Kind) -> Any:
        """Wrap the texts of a document that is read as a whole."""
        if not self.contextualised:
            return super().write(texts, kind)
        body = super().write([], kind) | {"inputs": [texts]}
        del body[self.texts_key]
        return body

    def say(self, kind: Kind) -> Mapping[str, Any]:
        """Say which kind the texts are, and what becomes of long ones: not of a document's."""
        cut = {} if self.contextualised else {"truncation": self.truncate}
        output = {} if self.output == "float" else {"output_dtype": NAMES[self.output]}
        return {"input_type": kind, **cut, **output}

    def read(self, reply: Any, wanted: int) -> tuple[Rows, int | None]:
        """Read rows in any order, those of a document in its only row."""
        if not self.contextualised:
            return super().read(reply, wanted)
        (document,) = check_number(reply["data"], 1, "documents")
        return super().read({**reply, "data": document["data"]}, wanted)


class JinaEncoderSettings(OutputEncoderSettings):
    """Jina's embeddings."""

    provider: ClassVar[str] = "jina"
    address: ClassVar[str] = "https://api.jina.ai/v1"
    most_texts: ClassVar[int] = 128
    most_tokens_together: ClassVar[int] = 8_192
    type: Literal["jina"]
    model: str = Field("jina-embeddings-v3", min_length=1, description=ID)
    output: Literal["float", "binary"] = Field(
        "float",
        description=(
            "what the service gives of each number, for passages and queries alike: a float, or one"
            " bit (binary), read as 1 or -1"
        ),
    )
    tasks: bool = Field(
        True, description="say whether a text is a passage or a query; false for models before v3"
    )
    late_chunking: bool = Field(
        False,
        description=(
            "a document's chunks are read as one text, and each has the mean of its own tokens'"
            " vectors"
        ),
    )

    @property
    def contextual(self) -> bool:
        """Whether chunks are cut late."""
        return self.late_chunking

    @property
    def variety(self) -> Sequence[Any]:
        """Whether passages are said to be such, the output, and late chunking."""
        late = ("late chunking",) if self.late_chunking else ()
        return (self.tasks, *super().variety, *late)

    def say(self, kind: Kind) -> Mapping[str, Any]:
        """Say which kind the texts are, and what becomes of long ones: not of a document's, whose
        last chunks would be lost.
        """
        together = self.late_chunking and kind == "document"
        said: dict[str, Any] = {"truncate": self.truncate and not together}
        if together:
            said["late_chunking"] = True
        if self.output != "float":
            said["embedding_type"] = NAMES[self.output]
        if self.tasks:
            said["task"] = "retrieval.query" if kind == "query" else "retrieval.passage"
        return said


class GeminiEncoderSettings(ServedEncoderSettings):
    """Google's embeddings by the Gemini API, which counts no tokens: they are estimated."""

    provider: ClassVar[str] = "gemini"
    address: ClassVar[str] = "https://generativelanguage.googleapis.com/v1beta"
    most_texts: ClassVar[int] = 100
    type: Literal["gemini"]
    model: str = Field("gemini-embedding-001", min_length=1, pattern=r"^[\w.-]+$", description=ID)

    @property
    def path(self) -> str:
        """Below the address, with the model in it."""
        return f"models/{self.model}:batchEmbedContents"

    def headers(self, key: str) -> dict[str, str]:
        """Google has a header of its own."""
        return {"x-goog-api-key": key}

    def write(self, texts: Sequence[str], kind: Kind) -> Any:
        """Make a request of each text."""
        common: dict[str, Any] = {
            "model": f"models/{self.model}",
            "taskType": f"RETRIEVAL_{kind.upper()}",
        }
        if self.dimensions:
            common["outputDimensionality"] = self.dimensions
        return {"requests": [common | {"content": {"parts": [{"text": i}]}} for i in texts]}

    def read(self, reply: Any, wanted: int) -> tuple[Rows, int | None]:
        """Read rows, which come in the order of the texts."""
        rows = check_number(reply["embeddings"], wanted, "vectors")
        return [row["values"] for row in rows], None


class TeiEncoderSettings(ServedEncoderSettings):
    """A text-embeddings-inference server, at port 8080 of this machine if no `url` is given."""

    provider: ClassVar[str] = "tei"
    address: ClassVar[str] = TEI
    route: ClassVar[str] = "embed"
    most_texts: ClassVar[int] = 32  # of a server as it is delivered
    type: Literal["tei"]
    model: str = Field("", description="for people: a server has one model")
    url: Annotated[str, ADDRESS] = Field(TEI, description="address of the server")
    query_prompt: str | None = Field(
        None, description="the prompt for queries, of those that the model's files name"
    )
    passage_prompt: str | None = Field(
        None, description="the prompt for passages, of those that the model's files name"
    )

    @property
    def variety(self) -> Sequence[Any]:
        """The prompt of passages."""
        return (self.passage_prompt,)

    def write(self, texts: Sequence[str], kind: Kind) -> Any:
        """Say what becomes of long texts, and which prompt is wanted."""
        body: dict[str, Any] = {"inputs": texts, "truncate": self.truncate, "normalize": True}
        prompt = self.query_prompt if kind == "query" else self.passage_prompt
        given = {"prompt_name": prompt, "dimensions": self.dimensions}
        return body | {key: value for key, value in given.items() if value is not None}

    def read(self, reply: Any, wanted: int) -> tuple[Rows, int | None]:
        """Read rows, which come in the order of the texts; tokens are not told."""
        return check_number(reply, wanted, "vectors"), None
