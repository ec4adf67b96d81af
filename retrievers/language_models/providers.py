"""The providers of language models."""

from retrievers.language_models.anthropic import AnthropicSettings
from retrievers.language_models.local import LocalSettings
from retrievers.language_models.openai import OpenAiSettings

LanguageModelSettings = AnthropicSettings | OpenAiSettings | LocalSettings
PROVIDERS: dict[str, type[LanguageModelSettings]] = {
    "anthropic": AnthropicSettings,
    "openai": OpenAiSettings,
    "local": LocalSettings,
}
