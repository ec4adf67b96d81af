"""The page of all keys of configs, from their JSON Schema."""

import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from command_pages import escape

SCHEMA = Path(__file__).parents[2] / "configs/schema.json"
PAGE = "docs/configs.md"
LARGEST = 1_000_000  # no number of a config may be larger; it is not repeated at every key
INTRODUCTION = """\
---
title: Configs
---
# Keys of configs

This page is made from [configs/schema.json](../configs/schema.json), which is what editors check
YAML against: `# yaml-language-server: $schema=…` in its first line names it. `assay config show`
prints a config with all that it does not say, `assay components` the parts that are installed,
yours too. Keys that stand nowhere here are refused. No number may exceed 1,000,000.
"""


def render_configs() -> dict[str, str]:
    """Return the page by its path."""
    schema = json.loads(SCHEMA.read_text())
    definitions = schema["$defs"]
    lines = [INTRODUCTION, "## The config", *_tabulate(schema, definitions)]
    heading = ""
    for place, name in find_places(schema):
        if place != heading:
            lines.append(f"\n## {place}\n")
            heading = place
        found = definitions[name]
        lines.append(f"### {find_title(name, found)} {{ #{name.lower()} }}\n")
        lines += [f"{escape(text)}\n" for text in found.get("description", "").split("\n\n")]
        lines += _tabulate(found, definitions)
    return {PAGE: "\n".join(lines)}


def find_places(schema: dict[str, Any]) -> list[tuple[str, str]]:
    """Return every definition once, below the first place of a config in which it may stand."""
    found: dict[str, str] = {}
    ahead = deque((name, value) for name, value in schema["properties"].items())
    while ahead:
        place, value = ahead.popleft()
        many = value.get("type") == "object" and "additionalProperties" in value
        inside = f"{place}.NAME" if many else place
        for name in list_references(value):
            if name not in found:
                found[name] = inside
                properties = schema["$defs"][name].get("properties", {})
                ahead.extend((f"{inside}.{key}", item) for key, item in properties.items())
    order = list(dict.fromkeys(found.values()))
    return sorted(
        ((place, name) for name, place in found.items()), key=lambda item: order.index(item[0])
    )


def list_references(value: Any) -> Iterator[str]:
    """Yield the definitions that a schema refers to."""
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"].rpartition("/")[2]
        for key, inner in value.items():
            if key != "properties":
                yield from list_references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from list_references(inner)


def find_title(name: str, definition: dict[str, Any]) -> str:
    """Return the `type` by which a config chooses it, or else its name."""
    kind = definition.get("properties", {}).get("type", {}).get("const")
    return kind or name.rpartition("__")[2].removesuffix("Settings")


def _tabulate(definition: dict[str, Any], definitions: dict[str, Any]) -> list[str]:
    required = definition.get("required", ())
    rows = []
    for key, value in definition.get("properties", {}).items():
        default = "required" if key in required else _show_default(value)
        kind = describe(value, definitions)
        rows.append(f"| `{key}` | {kind} | {default} | {escape(value.get('description', ''))} |")
    return ["| key | value | by default | |\n|---|---|---|---|", *rows, ""] if rows else [""]


def _show_default(value: dict[str, Any]) -> str:
    if "default" not in value:
        return ""
    if isinstance(value["default"], list):
        return ", ".join(map(_quote, value["default"])) or "none"
    return _quote(value["default"])


def _quote(value: Any) -> str:
    """Return a value as YAML has it, as code."""
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return f"`{text}`".replace("|", "\\|")


def describe(value: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Say in a few words, as Markdown, what a value may be."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{find_title(name, definitions[name])}](#{name.lower()})"
    for choice in ("anyOf", "oneOf"):
        if choice in value:
            return " or ".join(dict.fromkeys(describe(item, definitions) for item in value[choice]))
    if "const" in value:
        return _quote(value["const"])
    if "enum" in value:
        return ", ".join(map(_quote, value["enum"]))
    if value.get("properties", {}).get("type", {}).get("const") == "python":
        return "[a class of yours](retrievers.md)"
    kind = value.get("type", "anything")
    if kind == "array":
        return f"a list of {describe(value.get('items', {}), definitions)}"
    if kind == "object" and isinstance(value.get("additionalProperties"), dict):
        return f"by name: {describe(value['additionalProperties'], definitions)}"
    return f"{KINDS.get(kind, kind)}{_bound(value)}"


KINDS = {
    "boolean": "true or false", "integer": "whole number", "number": "number", "null": "null",
    "object": "a mapping", "string": "text",
}  # fmt: skip


def _bound(value: dict[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": "&gt;", "maximum": "≤", "exclusiveMaximum": "&lt;"}
    bounds = [
        f"{sign} {value[key]:g}"
        for key, sign in signs.items()
        if value.get(key, LARGEST) != LARGEST
    ]
    return f" {', '.join(bounds)}" if bounds else ""
