"""OpenAI's models and those of any service that speaks its chat completions, by OpenAI's SDK."""

from typing import Any, Literal

from pydantic import Field

from assay.retrievers.language_models.base import (
    Answer,
    LanguageModel,
    Prompt,
    ProviderSettings,
    count,
)
from assay.retrievers.services.prices import Usage
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest


class OpenAiSettings(ProviderSettings):
    """OpenAI or a compatible service; needs the extra `openai` and OPENAI_API_KEY."""

    type: Literal["openai"] = "openai"
    model: str = Field("gpt-6-luna", min_length=1, description="the API's id of the model")

    def build(self, resources: Resources) -> LanguageModel:
        """Return the model, not yet open."""
        return OpenAiModel(self)


class OpenAiModel(LanguageModel):
    """The model that sends the document first, so that the service caches the prefix."""

    provider = "openai"
    address = "https://api.openai.com/v1"

    def _make_client(self, sdk: Any, options: dict[str, Any]) -> Any:
        return sdk.OpenAI(**options)

    def _call(self, prompt: Prompt) -> Any:
        body = self._body_of_others(prompt) if self.url else self._body(prompt)
        return self._client.chat.completions.create(model=self._settings.model, **body)

    def _body_of_others(self, prompt: Prompt) -> dict[str, Any]:
        """Return the request in the form that every compatible service knows."""
        message = {"role": "user", "content": prompt.text}
        return {"max_tokens": self.most_output, "messages": [message]}

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        """Return the request in the form of OpenAI's own models."""
        content: Any = prompt.text
        body: dict[str, Any] = {"max_completion_tokens": self.most_output}
        if self._known and not self._settings.thinking_tokens:
            body["reasoning_effort"] = "none"
        if prompt.shared:
            body["prompt_cache_key"] = digest(prompt.document)[:32]
        if self._known and self._known.breakpoints:
            # Writing to the cache is charged for: only what is read again is marked.
            document: dict[str, Any] = {"type": "text", "text": f"{prompt.document}\n"}
            if prompt.shared:
                document["prompt_cache_breakpoint"] = {"mode": "explicit"}
            content = [document, {"type": "text", "text": prompt.question}]
            body["prompt_cache_options"] = {"mode": "explicit"}
        return body | {"messages": [{"role": "user", "content": content}]}

    def _read(self, reply: Any) -> Answer:
        details = reply.usage.prompt_tokens_details
        read = count(details.cached_tokens) if details else 0
        written = count(details.cache_write_tokens) if details else 0
        usage = Usage(
            input=count(count(reply.usage.prompt_tokens) - read - written),
            cache_write=written,
            cache_read=read,
            output=count(reply.usage.completion_tokens),
        )
        choice = reply.choices[0]
        refusal = choice.message.refusal
        if refusal or choice.finish_reason == "content_filter":
            return Answer("", "refusal", usage, refusal or "stopped by the content filter")
        text = (choice.message.content or "").strip()
        return Answer(text, "length" if choice.finish_reason == "length" else "end", usage)
