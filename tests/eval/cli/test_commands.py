"""The help of the command line: its groups, and the examples of each command."""

import re
import shlex

import click
import pytest
from click.testing import CliRunner

from assay.eval.cli.commands import COMMANDS, GROUPS
from assay.eval.cli.main import assay

EXAMPLES = [(name, call) for name, entry in COMMANDS.items() for call in entry.examples]


def test_help_shows_every_group_within_a_terminal():
    lines = CliRunner().invoke(assay, ["--help"]).output.splitlines()
    assert [line[:-1] for line in lines if line[:-1] in GROUPS] == list(GROUPS)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(("name", "call"), EXAMPLES)
def test_an_example_is_a_call_of_its_command(name, call):
    first, *words = shlex.split(call)
    assert first == name
    context = click.Context(assay, info_name="assay")
    command = assay.get_command(context, name)
    while isinstance(command, click.Group):
        command = command.get_command(context, words.pop(0))
    command.make_context(name, words, context)


def list_helps(command, name, parent):
    context = click.Context(command, info_name=name, parent=parent)
    yield command.get_help(context)
    for inner in getattr(command, "commands", {}).values():
        yield from list_helps(inner, inner.name, context)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_two_examples_has_no_ranges_and_trust_only_where_it_is_explained(name):
    context = click.Context(assay, info_name="assay")
    first, *others = list_helps(assay.get_command(context, name), name, context)
    shown = [line.strip() for line in first.splitlines()[-2:]]
    assert shown == [f"assay {call}" for call in COMMANDS[name].examples]
    for text in (first, *others):
        assert not re.search(r"RANGE|[<>]=?x|x[<>]|--trust", text)
    assert "--trust" in assay.get_help(context)
    done = CliRunner().invoke(assay, ["tune", "hybrid", "--folds", "1"])
    assert (done.exit_code, "1 is not in the range 2<=x<=" in done.output) == (2, True)
