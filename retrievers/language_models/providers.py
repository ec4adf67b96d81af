"""The providers of language models."""

from typing import Any, Literal

from pydantic import Field

from assay.retrievers.language_models.base import (
    Answer,
    LanguageModel,
    Prompt,
    ProviderSettings,
    count,
)
from assay.retrievers.language_models.openai import OpenAiSettings
from assay.retrievers.services.prices import Usage
from assay.retrievers.settings import Resources


class AnthropicSettings(ProviderSettings):
    """Claude; needs the extra `anthropic` and ANTHROPIC_API_KEY."""

    type: Literal["anthropic"] = "anthropic"
    model: str = Field("claude-haiku-5-5", min_length=1, description="the API's id of the model")

    def build(self, resources: Resources) -> LanguageModel:
        """Return the model, not yet open."""
        return AnthropicModel(self)


class AnthropicModel(LanguageModel):
    """The model that sends the document as a separate block, marked for caching if shared."""

    provider = "anthropic"
    address = "https://api.anthropic.com"

    def _make_client(self, sdk: Any, options: dict[str, Any]) -> Any:
        return sdk.Anthropic(**options, open_telemetry=False)

    def _call(self, prompt: Prompt) -> Any:
        document: dict[str, Any] = {"type": "text", "text": prompt.document}
        if prompt.shared:
            document["cache_control"] = {"type": "ephemeral"}
        content = [document, {"type": "text", "text": prompt.question}]
        thinking = {} if self._settings.thinking_tokens else {"thinking": {"type": "disabled"}}
        return self._client.messages.create(
            model=self._settings.model,
            max_tokens=self.most_output,
            messages=[{"role": "user", "content": content}],
            **thinking,
        )

    def _read(self, reply: Any) -> Answer:
        usage = Usage(
            input=count(reply.usage.input_tokens),
            cache_write=count(reply.usage.cache_creation_input_tokens),
            cache_read=count(reply.usage.cache_read_input_tokens),
            output=count(reply.usage.output_tokens),
        )
        if reply.stop_reason == "refusal":
            details = reply.stop_details
            note = (details.explanation or details.category) if details else None
            return Answer("", "refusal", usage, note or "refused")
        text = "".join(block.text for block in reply.content if block.type == "text")
        return Answer(text.strip(), "length" if reply.stop_reason == "max_tokens" else "end", usage)


LanguageModelSettings = AnthropicSettings | OpenAiSettings
PROVIDERS: dict[str, type[LanguageModelSettings]] = {
    "anthropic": AnthropicSettings,
    "openai": OpenAiSettings,
}
