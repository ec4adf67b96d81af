"""The JSON of every command, held against the schema that `assay schema` shows for it."""

import json
import shlex
from pathlib import Path

import click
import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from assay.eval.cli.main import assay
from assay.eval.cli.schema import make_schema
from assay.retrievers.base import AssayError

HERE = Path(__file__).parent
COMMANDS = yaml.safe_load((HERE / "commands.yaml").read_text())
CHANGES = "<changes>"  # stands in approved outputs for any value


def list_commands(command=assay, words=()):
    """Yield the words of every command, and the command."""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from list_commands(
                command.get_command(click.Context(command), name), (*words, name)
            )
    else:
        yield words, command


PRINTING = {
    words: command
    for words, command in list_commands()
    if any(item.name == "as_json" for item in command.params)
}


def find_words(call):
    """Return the words that name the command of a call."""
    given = tuple(shlex.split(call))
    return next(given[:i] for i in (1, 2) if given[:i] in PRINTING)


def tolerate(check):
    def tolerant(validator, value, instance, schema):
        return () if instance == CHANGES else check(validator, value, instance, schema) or ()

    return tolerant


Draft = jsonschema.Draft202012Validator
Masked = jsonschema.validators.extend(
    Draft, {name: tolerate(check) for name, check in Draft.VALIDATORS.items()}
)


@pytest.mark.parametrize(
    "name", [name for name, asked in COMMANDS.items() if asked.get("json", True)]
)
def test_an_approved_output_follows_the_schema_of_its_command(name):
    found = json.loads((HERE / "approved" / f"{name}.json").read_text(encoding="utf-8"))["json"]
    schema = make_schema(find_words(COMMANDS[name]["command"]))
    faults = [fault.message[:300] for fault in Masked(schema).iter_errors(found)]
    assert not faults
    closed = schema.get("additionalProperties", False) is False
    assert closed == bool(list(Masked(schema).iter_errors({**found, "more": 1})))


@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_each_command_with_json_has_a_schema(words):
    schema = make_schema(words)
    Draft.check_schema(schema)
    assert schema["$schema"].endswith("2020-12/schema")
    assert schema["$id"].startswith("urn:assay:")
    assert schema["$id"].endswith("-".join(words))
    text = json.dumps(schema)
    for inner in list_objects(schema):
        assert "additionalProperties" in inner, text[:300]


def list_objects(value):
    """Yield every schema within a schema that names keys of an object."""
    if isinstance(value, dict):
        if "properties" in value and value.get("type") == "object":
            yield value
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from list_objects(inner)


def test_a_key_of_another_type_or_name_is_found():
    schema = make_schema(("ui",))
    assert not list(Masked(schema).iter_errors({"page": "p.html", "runs": 2}))
    for wrong in ({"page": "p.html"}, {"page": 1, "runs": 2}, {"page": "p", "runs": 2, "a": 1}):
        assert list(Masked(schema).iter_errors(wrong))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compar",), "compar: no such command; `assay --help` lists them"),
        (("runs",), "runs: a group; say one of runs list, runs show, runs delete"),
        (("mcp",), "mcp: takes no --json"),
    ],
)
def test_a_command_without_a_schema_is_refused(words, message):
    with pytest.raises(AssayError) as raised:
        make_schema(words)
    assert str(raised.value) == message


def test_the_command_prints_the_schema():
    done = CliRunner().invoke(assay, ["schema", "runs", "list"])
    assert json.loads(done.output) == make_schema(("runs", "list"))
