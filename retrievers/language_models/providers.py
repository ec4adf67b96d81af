"""The providers of language models."""

from assay.retrievers.language_models.anthropic import AnthropicSettings
from assay.retrievers.language_models.local import LocalSettings
from assay.retrievers.language_models.openai import OpenAiSettings

LanguageModelSettings = AnthropicSettings | OpenAiSettings | LocalSettings
PROVIDERS: dict[str, type[LanguageModelSettings]] = {
    "anthropic": AnthropicSettings,
    "openai": OpenAiSettings,
    "local": LocalSettings,
}
