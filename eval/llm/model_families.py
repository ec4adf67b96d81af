"""Models of one family, which may favour texts that another of them wrote."""

import re
from collections.abc import Mapping

# The beginnings of model names by vendor, after the name of a provider or an owner.
VENDORS = {
    "Anthropic": r"claude",
    "OpenAI": r"gpt|chatgpt|o\d|text-embedding-(?:3|ada)|davinci",
    "Google": r"gemini|gemma|text-embedding-00|embeddinggemma|t5|flan|palm",
    "Meta": r"llama|meta-llama",
    "Mistral": r"mi[sx]tral|ministral|codestral|magistral",
    "Alibaba": r"qwen|qwq|gte",
    "Cohere": r"command|rerank-(?:v\d|english|multi)|embed-(?:v\d|english|multi)|aya",
    "BAAI": r"bge",
    "Jina": r"jina",
    "Voyage": r"voyage|rerank-(?:2|lite)",
    "Microsoft": r"phi|e5|multilingual-e5|(?:all-|ms-marco-)?minilm",
    "DeepSeek": r"deepseek",
    "Nomic": r"nomic",
    "Hugging Face": r"smollm|zephyr",
}


def find_vendor(model: str) -> str:
    """Return the vendor of `model` by its name, "" if that is not known.

    >>> find_vendor("openai gpt-6-luna"), find_vendor("anthropic.claude-haiku"), find_vendor("x")
    ('OpenAI', 'Anthropic', '')
    """
    parts = re.split(r"[\s/:.]+", model.strip().lower())
    for part in reversed(parts):
        for vendor, names in VENDORS.items():
            if re.match(names, part):
                return vendor
    return ""


def warn_of_families(models: Mapping[str, str]) -> list[str]:
    """Return a line for each vendor whose models have several parts in one experiment.

    `models` are names of models by their part: generator, judge, reranker, encoder.

    >>> warn_of_families({"generator": "gpt-6-luna", "judge": "openai/gpt-5", "encoder": "bge-m3"})
    ['generator and judge are models of OpenAI: one may favour what the other writes']
    """
    parts: dict[str, list[str]] = {}
    for part, model in models.items():
        if vendor := find_vendor(model):
            parts.setdefault(vendor, []).append(part)
    return [
        f"{', '.join(names[:-1])} and {names[-1]} are models of {vendor}: one may favour what the "
        "other writes"
        for vendor, names in parts.items()
        if len(names) > 1
    ]
