"""The providers of language models."""

from assay.retrievers.language_models.anthropic import AnthropicSettings
from assay.retrievers.language_models.openai import OpenAiSettings

LanguageModelSettings = AnthropicSettings | OpenAiSettings
PROVIDERS: dict[str, type[LanguageModelSettings]] = {
    "anthropic": AnthropicSettings,
    "openai": OpenAiSettings,
}
