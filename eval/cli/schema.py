"""`assay schema`: the JSON Schema of what a command prints with --json.

The schema follows from a form, which `options.prints` or a study names: a type, or `"module:Class"`
for one that is imported when its schema is shown; `[form]` is a list, `{str: form}` a mapping, and
`{"key": form}` an object with these keys alone. A key that ends with `?` may be missing. Below
`"..."` stand types whose own keys are added, below `"-"` those of their keys that are not, and
below `"*"` the form of all other keys, if there may be some. In a tuple, any form may be printed.
"""

from importlib import import_module
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args

import click

from assay.eval.cli import options
from assay.eval.cli.output import print_json
from assay.retrievers.base import AssayError

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema

    from assay.eval.running.study import Study

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@click.command()
@click.argument("command", nargs=-1, required=True, metavar="COMMAND")
@options.prints({str: object})
def schema(command: tuple[str, ...], as_json: bool) -> None:  # noqa: ARG001
    """Print the JSON Schema of what COMMAND prints with --json.

    Its $id has the version of assay. Objects have no other keys than it names.
    """
    print_json(make_schema(command))


def make_schema(words: tuple[str, ...]) -> dict[str, Any]:
    """Return the JSON Schema of what a command prints. Raises AssayError if it prints none."""
    from assay.eval.cli.main import assay
    from assay.retrievers.base.installation import find_version

    name = " ".join(words)
    found: click.Command | None = assay
    for word in words:
        group = found if isinstance(found, click.Group) else click.Group()
        found = group.get_command(click.Context(group), word)
    if found is None:
        raise AssayError(f"{name}: no such command; `assay --help` lists them")
    if isinstance(found, click.Group):
        inner = ", ".join(f"{name} {word}" for word in found.commands)
        raise AssayError(f"{name}: a group; say one of {inner}")
    form = find_form(found)
    if form is None:
        raise AssayError(f"{name}: takes no --json")
    about = {"$schema": DIALECT, "$id": f"urn:assay:{find_version()}:{'-'.join(words)}"}
    return {**about, "title": f"assay {name} --json", **_Builder().build(form)}


def find_form(command: click.Command) -> Any:
    """Return the form of what a command prints as JSON; None if it prints none."""
    printed = getattr(command, "printed", None) or getattr(command.callback, "printed", None)
    return printed if isinstance(printed, tuple | None) else _describe_study(printed)


def _describe_study(study: "Study[Any, Any]") -> Any:
    from assay.eval.runs.json_form import find_returned

    place = str | list[str] | None
    places = {f"{name}?": place for name in study.places}
    logged = {f"{study.logged}?": place} if study.log else {}
    kinds = study.forms or _split(study.shown or find_returned(study.find))
    forms = [{"...": kind, **places, **logged} for kind in kinds]
    return (*forms, *([study.previewed] if study.previewed else []))


def _split(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the one type."""
    return get_args(kind) if isinstance(kind, UnionType) else (kind,)


class _Builder:
    """The schema of a form; the definitions that it refers to."""

    def __init__(self) -> None:
        self._definitions: dict[str, Any] = {}

    def build(self, form: Any) -> dict[str, Any]:
        """Return the schema of a form with its definitions."""
        found = self._make(form)
        return {**found, "$defs": self._definitions} if self._definitions else found

    def _make(self, form: Any) -> dict[str, Any]:
        if isinstance(form, tuple):
            return self._make(form[0]) if len(form) == 1 else {"anyOf": [*map(self._make, form)]}
        if isinstance(form, list):
            return {"type": "array", "items": self._make(form[0])}
        if not isinstance(form, dict):
            return {} if form is object else self._describe(form)
        if str in form:
            return {"type": "object", "additionalProperties": self._make(form[str])}
        properties: dict[str, Any] = {}
        required: dict[str, None] = {}
        added = form.get("...", ())
        for kind in added if isinstance(added, tuple) else (added,):
            whole = self._describe(kind)
            if "$ref" in whole:
                whole = self._definitions[whole["$ref"].rpartition("/")[2]]
            left_out = form.get("-", ())
            properties |= {i: told for i, told in whole["properties"].items() if i not in left_out}
            required |= dict.fromkeys(i for i in whole.get("required", ()) if i not in left_out)
        for key, inner in form.items():
            name = key.removesuffix("?")
            if key not in ("...", "-", "*"):
                properties[name] = self._make(inner)
                required |= {} if key.endswith("?") else {name: None}
        others = self._make(form["*"]) if "*" in form else False
        told = {"type": "object", "properties": properties, "required": list(required)}
        return {**told, "additionalProperties": others}

    def _describe(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type, by pydantic."""
        from assay.eval.runs.json_form import make_adapter

        if isinstance(kind, str):
            module, _, name = kind.partition(":")
            kind = getattr(import_module(f"assay.{module}"), name)
        found = make_adapter(kind).json_schema(
            mode="serialization", schema_generator=make_generator()
        )
        for name, told in found.pop("$defs", {}).items():
            assert self._definitions.setdefault(name, told) == told, name
        return found


def make_generator() -> "type[GenerateJsonSchema]":
    """Return pydantic's generator of schemas, for values that are written: all keys are there."""
    from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

    class Generator(GenerateJsonSchema):
        def field_is_required(self, field: Any, total: bool) -> bool:
            return field["type"] != "typed-dict-field" or bool(field.get("required", total))

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

        def generate(self, schema: Any, mode: Any = "serialization") -> JsonSchemaValue:
            found = super().generate(schema, mode)
            _close(found)
            return found

    return Generator


def _close(schema: Any) -> None:
    """Let objects have no other keys than those that are named."""
    if isinstance(schema, dict):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        schema = list(schema.values())
    for inner in schema if isinstance(schema, list) else ():
        _close(inner)
