"""Names of served models that people give where a local model is expected."""

from pathlib import Path

from assay.retrievers.models.served.prices import find_provider

# By the providers of routers and frameworks: `openai/text-embedding-3-small`, `tei:http://…`.
OWNERS = {
    "openai": "openai",
    "azure": "openai",
    "ollama": "openai",
    "vllm": "openai",
    "infinity": "openai",
    "lm_studio": "openai",
    "cohere": "cohere",
    "voyage": "voyage",
    "voyageai": "voyage",
    "jina_ai": "jina",
    "gemini": "openai",
    "tei": "tei",
}
SERVERS = frozenset({"azure", "gemini", "ollama", "vllm", "infinity", "lm_studio", "tei"})
# Organisations that the hub has too, with models that run on this machine.
ON_HUB = frozenset({"openai", "voyageai"})


def explain_served(name: str, key: str) -> str:
    """Say how to name a served model at `key`; empty if `name` is none that is known here."""
    if Path(name).is_dir():
        return ""
    separator = "/" if "/" in name.partition(":")[0] else ":"
    owner, _, model = name.partition(separator)
    provider = OWNERS.get(owner.casefold()) if model else None
    listed = find_provider(model or name)
    if provider is None or (owner.casefold() in ON_HUB and listed is None):
        provider, model = listed, model or name
    if provider is None:
        return ""
    if provider == "tei" and key == "encoder":
        provider = "openai"  # whose form its server speaks too
    given = f"model: {model}"
    if owner.casefold() in SERVERS:
        given = "url: …" if provider == "tei" else f"model: {model}, url: …"
    return f"{name!r} is served, not run here; name it as {key}: {{type: {provider}, {given}}}"
